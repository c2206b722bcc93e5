"""The snippets of the specification, run as written and compared with their comments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from blocks import blocks, run

@pytest.fixture
def names(url: str) -> Iterator[dict[str, Any]]:
    yield {"URL": url}


def test_the_snippets_of_the_specification_run_as_written(
    names: dict[str, Any],
    shared: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("pandas")
    preamble, *snippets = blocks(shared("spec", "snippets.md"))
    monkeypatch.chdir(tmp_path)
    write_tasks(tmp_path / "my_tasks")
    compared = [run(preamble, names)]
    compared += [run(snippet, names) for snippet in snippets]
    # The least that each snippet says about its results.
    least = [0, 5, 6, 7, 2, 4, 2, 0, 0]
    assert all(n >= m for n, m in zip(compared, least)), compared
    assert [task.name for task in names["loaded"].tasks] == ["cb"]
    assert [r.scores for r in names["a"].rows] == [r.scores for r in names["b"].rows]
    assert all(row.cached for row in names["b"].rows)


def write_tasks(folder: Path) -> None:
    folder.mkdir()
    task = "task: {}\ndataset_path: none\noutput_type: generate_until\ntest_split: test\n" \
           "doc_to_text: '{{{{q}}}}'\ndoc_to_target: '{{{{a}}}}'\n"  # fmt: skip
    for name in ("cb", "rte"):
        (folder / f"{name}.yaml").write_text(task.format(name))
    (folder / "_nli.yaml").write_text("group: nli_tasks\ntask: [cb, rte]\n")
    (folder / "_all.yaml").write_text("group: my_benchmark\ntask: [nli_tasks]\n")


def test_comparing_notices_a_wrong_result() -> None:
    names: dict[str, Any] = {}
    assert run("1 + 1  # 2\n{'a': 0.66666}  # {'a': 0.6667}\n", names) == 2
    for wrong in ("1 + 1  # 3", "{'a': 0.5}  # all 1.0", "[1, 2]  # (1, 2)"):
        with pytest.raises(AssertionError):
            run(wrong + "\n", names)
