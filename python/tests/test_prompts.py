"""How endpoints are asked about datasets by name, from Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from context_bench import OpenAIProxy, datasets, evaluate
from context_bench.evaluators import AnswerQuality
from fronts import FIXTURES, Model

COPY = FIXTURES / "gsm8k"
NAME = f"gsm8k={COPY}"


def answered(endpoint: Model, dataset: Any, **settings: Any) -> None:
    proxy = OpenAIProxy(endpoint.url, name="p")
    evaluate([proxy], dataset, [AnswerQuality()], progress=False, **settings)


def test_the_prompt_of_a_dataset_for_systems_of_ones_own() -> None:
    example = datasets.gsm8k(path=COPY)[0]
    prompt = datasets.prompt("gsm8k", path=COPY)
    [message] = prompt.messages(example)
    assert message["role"] == "user"
    assert message["content"].startswith(example["context"])
    assert "####" in message["content"]
    changed = prompt.messages({**example, "context": "Other."})[0]["content"]
    assert changed.startswith("Other.\n")
    assert prompt.generation(example) == {"max_tokens": 1024, "temperature": 0}
    with pytest.raises(ValueError, match="gsm9k"):
        datasets.prompt("gsm9k")


def test_missing_worked_examples_are_reported(tmp_path: Path) -> None:
    whole = FIXTURES / "mmlu-pro"
    example = datasets.mmlu_pro(path=whole)[0]
    asked = datasets.prompt("mmlu-pro", path=whole).messages(example)[0]["content"]
    assert asked.count("Question:") == 3
    alone = tmp_path / "mine.jsonl"
    alone.write_text((whole / "data/test.jsonl").read_text())
    with pytest.warns(UserWarning, match="without the 5 worked examples"):
        prompt = datasets.prompt("mmlu-pro", path=alone)
    assert prompt.messages(example)[0]["content"].count("Question:") == 1


def test_official_is_the_default_and_other_prompts_are_errors(endpoint: Model) -> None:
    for settings in ({}, {"prompt": "official"}, {"prompt": "plain"}):
        answered(endpoint, NAME, **settings)
    with pytest.raises(ValueError, match="official"):
        answered(endpoint, NAME, prompt="offical")
