"""The line that shows how far a run is."""

from __future__ import annotations

import io
from typing import Any

import pytest
from context_bench import _progress, evaluate
from context_bench._progress import Display, _line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("systems", "done", "failed", "planned", "words"),
    [
        (["a"], [5], [0], 10, ["a", "5/10", "10 s left"]),
        (["a", "b"], [5, 6], [1, 0], 10, ["2 systems", "11/20", "1 failed"]),
        (["a"], [5], [0], None, ["5 rows", "10 s"]),
        (["a"], [0], [0], 10, ["0/10"]),
        (["a"], [12], [0], 10, ["12/10"]),
    ],
)
def test_what_a_line_says(
    systems: list[str], done: list[int], failed: list[int], planned: int | None, words: list[str]
) -> None:
    line = _line(systems, done, failed, planned, 10.0)
    assert all(word in line for word in words), line
    assert "\n" not in line


def test_after_a_resume_the_time_left_counts_what_is_asked_now() -> None:
    assert "left" not in _line(["a"], [90], [0], 100, 10.0, 0, 90)
    line = _line(["a"], [95], [0], 100, 10.0, 0, 90)
    assert "95/100" in line and "10 s  10 s left" in line, line


def test_a_terminal_line_is_written_over_and_taken_away() -> None:
    stream = Terminal()
    display = Display(stream)
    display.update(["a"], [1], [0], 10)
    display.update(["a"], [2], [0], 10)
    display.close()
    text = stream.getvalue()
    assert text.count("\r") == 4 and "\n" not in text
    assert text.endswith("\r")


def test_elsewhere_a_short_run_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_progress, "_EVERY", 3600.0)  # However slow the machine is.
    stream = io.StringIO()
    display = Display(stream)
    display.update(["a"], [1], [0], 10)
    display.close()
    assert stream.getvalue() == ""
    monkeypatch.setattr(_progress, "_EVERY", 0.0)
    display.update(["a"], [1], [0], 10)
    assert "1/10" in stream.getvalue()


def test_a_closed_stream_does_not_end_the_run() -> None:
    stream = Terminal()
    display = Display(stream)
    stream.close()
    display.update(["a"], [1], [0], 10)
    display.close()


def test_a_run_shows_and_hides(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_progress, "_EVERY", 3600.0)

    class Echo:
        name = "echo"

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            return example

    evaluate([Echo()], [{}] * 3, [], progress=False)
    evaluate([Echo()], [{}] * 3, [], progress=True)
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err == ""


def test_time_outs_are_counted() -> None:
    assert "2 timeouts" in _line(["a"], [0], [0], 3, 10.0, 2)
    assert "timeout" not in _line(["a"], [0], [0], 3, 10.0)
    stream = Terminal()
    Display(stream).update(["a"], [0], [0], 3, [1])
    assert "1 timeout" in stream.getvalue()
