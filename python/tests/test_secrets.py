"""Keys that are given to the package leave it in requests, and in no other way."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kit import EXAMPLES, Counting

from context_bench import OpenAIProxy, evaluate
from context_bench.cache import Cache
from context_bench.evaluators import AnswerQuality
from context_bench.metrics import MeanScore

NEEDLE = "Zq7Kp93mW5tBx1"
KEY = f"sk-proj-{NEEDLE}"
STEERS = "a\x1b]0;PWNED\x07\x9b2J\u202eb\u2066c\u200fd"


def _planted(url: str) -> str:
    return url.replace("http://", f"http://me:{NEEDLE}@") + f"/v1?api_key={NEEDLE}"


def _shown(result: Any) -> str:
    texts = [repr(result), result._repr_html_(), result.to_markdown(), result.to_json()]
    texts += [str(result.config), str(result.summary), repr(result.rows)]
    return "\n".join(texts)


# Every keyword of the proxy that takes text, with a key in it.
PLANTED: dict[str, Any] = {
    "model": KEY,
    "name": KEY,
    "api_key": NEEDLE,
    "system_prompt": f"see http://me:{NEEDLE}@h and {KEY}",
    "extra_body": {"password": NEEDLE, "user": KEY, "deep": {"token": NEEDLE}},
    "stop": [KEY],
}
# Those that cannot hold one, and the URL, which always does here.
OTHERS = {
    "self", "base_url", "build_messages", "timeout", "max_retries", "retry_base_delay",
    "temperature", "top_p", "max_tokens", "seed", "layout", "api",
}  # fmt: skip


def test_every_keyword_is_tried() -> None:
    keywords = set(inspect.signature(OpenAIProxy.__init__).parameters)
    missing = keywords - OTHERS - set(PLANTED)
    assert not missing, f"plant a key in {missing}, or say that they cannot hold one"


@pytest.mark.parametrize("keyword", PLANTED)
def test_keywords_of_the_proxy(
    keyword: str, counting: Counting, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    proxy = OpenAIProxy(_planted(counting.url), **{"model": "m", keyword: PLANTED[keyword]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = evaluate(
            [proxy], [dict(one) for one in EXAMPLES], [AnswerQuality()], [MeanScore("f1")],
            cache_dir=str(tmp_path), progress=False,
        )  # fmt: skip
    assert len(result.rows) == len(EXAMPLES) and not result.failures
    texts = [_shown(result), repr(proxy), *(str(one.message) for one in caught)]
    texts += list(capfd.readouterr())
    for text in texts:
        assert NEEDLE not in text
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert NEEDLE.encode() not in file.read_bytes(), file
    cache = Cache(str(tmp_path))
    assert cache.runs()
    assert NEEDLE not in str(cache.runs()) and NEEDLE not in str(cache.record())


@pytest.mark.parametrize(
    "call",
    [
        lambda url: OpenAIProxy(f"ftp://me:{NEEDLE}@h"),
        lambda url: OpenAIProxy(f"http://me:{NEEDLE}/x@h:port"),
        lambda url: OpenAIProxy(url, api_key=f"{NEEDLE}\nx"),
        lambda url: evaluate([OpenAIProxy(url)], f"/nowhere/{KEY}.jsonl", progress=False),
        lambda url: evaluate([OpenAIProxy(url)], f"http://me:{NEEDLE}@127.0.0.1:9/x.jsonl"),
    ],
)
def test_exceptions_hold_no_key(call: Callable[[str], Any], counting: Counting) -> None:
    with pytest.raises(Exception) as raised:  # noqa: PT011
        call(counting.url)
    assert NEEDLE not in str(raised.value)


def test_nothing_from_outside_steers_a_terminal() -> None:
    class Broken:
        name = STEERS

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            if example["id"] == 1:
                raise ValueError(STEERS)
            return {**example, "response": STEERS}

    examples = [{**dict(one), "id": i} for i, one in enumerate(EXAMPLES)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = evaluate(
            [Broken()], [*examples, examples[0]], [AnswerQuality()], [MeanScore("f1")],
            progress=False,
        )  # fmt: skip
    texts = [repr(result), result._repr_html_(), result.to_markdown()]
    texts += [str(one.message) for one in caught]
    for text in texts:
        for steering in "\x1b\x07\x9b\u202e\u2066\u200f":
            assert steering not in text, repr(text)
    assert "PWNED" in texts[0]
    with pytest.raises(Exception) as raised:  # noqa: PT011
        evaluate([Broken()], f"/nowhere/{STEERS}.jsonl", progress=False)
    assert "\x1b" not in str(raised.value) and "\u202e" not in str(raised.value)
