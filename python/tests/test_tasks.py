"""`TaskManager`: names, paths, formats, overrides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from context_bench import EvaluationWarning, OpenAIProxy
from context_bench.metrics import MeanScore
from kit import Counting
from context_bench.tasks import Group, Task, TaskManager

TASK = """
task: {name}
dataset_path: none
output_type: {kind}
test_split: test
doc_to_text: question
doc_to_target: answer
doc_to_choice: choices
tag: {tag}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("red", "blue"):
        text = TASK.format(name=name, kind="multiple_choice", tag="colours")
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "paint.yaml").write_text(
        "group: paint\ngroup_alias: Paint\ntask:\n  - red\n  - task: blue\n    num_fewshot: 3\n"
        "aggregate_metric_list:\n  - metric: acc\n    weight_by_size: true\n"
    )
    (tmp_path / "art.yaml").write_text("group: art\ntask: [paint]\n")
    return tmp_path


def test_names_paths_tags_and_formats(folder: Path) -> None:
    tm = TaskManager(include_path=folder, include_defaults=False)
    assert tm.all_subtasks == ["blue", "red"]
    assert tm.all_groups == ["art", "paint"]
    assert tm.all_tags == ["colours"]
    assert tm.path("red") == folder / "red.yaml"
    (art,) = tm.load("art").nodes
    assert isinstance(art, Group)
    (paint,) = art.children
    assert isinstance(paint, Group)
    assert paint.alias == "Paint" and paint.aggregate_metrics == ("acc",)
    assert [task.path for task in art.tasks()] == ["paint::red", "paint::blue"]
    assert [task.name for task in tm.load(["colours"]).tasks] == ["blue", "red"]
    assert [task.name for task in tm.load(["art::paint::red", "b*"]).tasks] == ["red", "blue"]
    generated = tm.load("red@generate")["red@generate"]
    assert isinstance(generated, Task)
    assert (generated.format, generated.output_type) == ("generate", "generate_until")


def test_overrides_of_groups_and_of_the_caller(folder: Path) -> None:
    tm = TaskManager([folder])
    shots = {task.name: task.config.get("num_fewshot") for task in tm.load("paint").tasks}
    assert shots == {"red": None, "blue": 3}
    over = tm.load(["paint"], overrides={"num_fewshot": 1}).tasks
    assert [task.config["num_fewshot"] for task in over] == [1, 1]
    inline = tm.load([{"group": "mine", "task": ["red", {"task": "blue", "num_fewshot": 2}]}])
    assert [task.config.get("num_fewshot") for task in inline.tasks] == [None, 2]


@pytest.fixture
def functions(tmp_path: Path) -> Path:
    (tmp_path / "sums.yaml").write_text(
        "task: sums\ndataset_path: none\noutput_type: generate_until\ntest_split: test\n"
        "training_split: train\n"
        "doc_to_text: !function utils.ask\ndoc_to_target: '{{answer}}'\n"
        "generation_kwargs: {until: [END]}\nprocess_results: !function utils.judge\n"
        "metric_list:\n  - metric: right\n    aggregation: mean\n    higher_is_better: true\n"
    )
    (tmp_path / "utils.py").write_text(
        "import os\nCALLS = []\n"
        "def ask(doc):\n    CALLS.append(os.getpid())\n    return '%d + 1 =' % doc['a']\n"
        "def judge(doc, results):\n"
        "    if doc['a'] == 6:\n        raise ValueError('six')\n"
        "    return {'right': float(results[0].strip() == str(doc['answer']))}\n"
    )
    return tmp_path


def test_functions_of_tasks_run_in_this_interpreter(functions: Path) -> None:
    task = TaskManager(functions).load("sums").tasks[0]
    rows = [{"a": i, "answer": str(i + 1)} for i in (0, 2, 4)]
    asked = task.requests({"test": rows, "train": [{"a": 8, "answer": "9"}]}, num_fewshot=1)
    assert [request["context"] for request in asked] == [
        f"8 + 1 = 9\n\n{i} + 1 =" for i in (0, 2, 4)
    ]
    assert asked.requests[0]["generation_kwargs"]["until"] == ["END"]
    scores = task.score(asked, [" 1", " 4", None])
    assert scores.summary["right,none"] == 0.5
    assert [one["scores"]["right"] for one in scores.documents] == [1.0, 0.0]
    import os
    import sys

    (calls,) = {
        module.CALLS[0]
        for name, module in sys.modules.items()
        if name.startswith("_task_") and hasattr(module, "CALLS")
    }
    assert calls == os.getpid()


def test_an_exception_in_a_function_has_its_traceback(functions: Path) -> None:
    task = TaskManager(functions).load("sums").tasks[0]
    asked = task.requests({"test": [{"a": 6, "answer": "7"}]})
    with pytest.raises(ValueError, match="(?s)ValueError: six.*utils.py") as caught:
        task.score(asked, ["7"])
    assert "raise ValueError('six')" in str(caught.value)
    with pytest.raises(ValueError, match="1 requests, but 2 responses"):
        task.score(asked, ["7", "8"])
    (functions / "utils.py").write_text("def other(doc): return ''\n")
    with pytest.raises(ValueError, match="there is no `ask` in"):
        task.requests({"test": [{"a": 6, "answer": "7"}]})


def test_choices_are_scored_by_likelihood(folder: Path) -> None:
    task = TaskManager(folder).load("red").tasks[0]
    rows = [{"question": "Sky?", "choices": ["red", "blue"], "answer": "blue"}] * 2
    asked = task.requests({"test": rows})
    assert asked.requests[0]["request_type"] == "loglikelihood"
    scores = task.score(asked, [[(-2.0, False), (-1.0, True)], [(-1.0, True), (-2.0, False)]])
    assert scores.summary["acc,none"] == 0.5


def test_mutual_information_takes_likelihoods_without_context(folder: Path) -> None:
    text = (folder / "red.yaml").read_text()
    metrics = "metric_list: [{metric: acc_mutual_info, aggregation: mean}]\n"
    (folder / "mutual.yaml").write_text(text.replace("task: red\n", "task: mutual\n") + metrics)
    task = TaskManager(folder).load("mutual").tasks[0]
    rows = [{"question": "Sky?", "choices": ["red", "blue"], "answer": "blue"}]
    asked = task.requests({"test": rows})
    pairs = [(-1.0, True), (-2.0, False)]
    # "red" is likelier, but is so without the question too.
    scores = task.score(asked, [{"likelihoods": pairs, "unconditional": [-0.5, -4.0]}])
    assert scores.summary["acc_mutual_info,none"] == 1.0
    with pytest.raises(ValueError, match="without context"):
        task.score(asked, [pairs])
    with pytest.raises(ValueError, match="no `unconditional`"):
        task.score(asked, [{"likelihoods": pairs}])


@pytest.mark.filterwarnings("ignore:.*has no effect:UserWarning")
def test_groups_are_run_and_summed_up(functions: Path, counting: Counting, tmp_path: Path) -> None:
    capital = (
        "task: {0}\ndataset_path: none\noutput_type: generate_until\ntest_split: test\n"
        "doc_to_text: '{{{{q}}}}'\ndoc_to_target: '{{{{a}}}}'\ngeneration_kwargs: {{until: [END]}}\n"
        "metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]\n"
    )
    for name in ("france", "italy"):
        (functions / f"{name}.yaml").write_text(capital.format(name))
    (functions / "capitals.yaml").write_text(
        "group: capitals\ntask: [france, italy]\n"
        "aggregate_metric_list: [{metric: exact_match, weight_by_size: true}]\n"
    )
    data = {
        "france": {"test": [{"q": "Capital of France?", "a": "Paris"}]},
        "italy": {"test": [{"q": "Capital of Italy?", "a": "Rome"}] * 3},
        "sums": {"test": [{"a": 1, "answer": "2"}]},
    }

    class Adder:
        name = "adder"

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            return {**example, "response": "2" if "1 + 1" in example["context"] else "Rome"}

    result = TaskManager(functions).evaluate(
        [OpenAIProxy(counting.url, name="proxy"), Adder()], ["capitals", "sums"], [MeanScore()],
        data=data, max_workers=4, progress=False,
    )  # fmt: skip
    found = {
        system: {key: entry["exact_match,none"] for key, entry in tasks["results"].items()
                 if "exact_match,none" in entry}
        for system, tasks in result.tasks.items()
    }  # fmt: skip
    assert found["proxy"] == {"capitals": 0.25, "france": 1.0, "italy": 0.0}
    assert found["adder"] == {"capitals": 0.75, "france": 0.0, "italy": 1.0}
    assert result.tasks["adder"]["results"]["sums"]["right,none"] == 1.0
    assert "capitals" in result.tasks["proxy"]["table"]
    assert len(result.rows) == 10 and not result.failures
    assert counting.bodies[0]["stop"] == ["END"]
    assert json.loads(result.to_json())["tasks"]["proxy"]["results"]["capitals"]
    remarked = pytest.warns(EvaluationWarning, match="changes the output type")
    with remarked, pytest.raises(ValueError, match="asks for likelihoods"):
        TaskManager(functions).evaluate(
            [OpenAIProxy(f"{counting.url}/v1/chat/completions")], "france@mcqa",
            data={"france": {"test": [{"question": "q", "choices": ["a", "b"], "answer": 0}]}},
            overrides={"doc_to_choice": "choices", "doc_to_text": "question",
                       "doc_to_target": "answer"},
            progress=False,
        )  # fmt: skip


def test_a_class_in_python_is_a_task() -> None:
    asked = []

    class Knows:
        name = "knows"

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            asked.append(example["context"])
            return {**example, "response": " bird" if "swift" in example["context"] else " tree"}

    folder = Path(__file__).parents[2] / "examples" / "groups"
    result = TaskManager(folder).evaluate([Knows()], "own_code", progress=False)
    # Overrides of the group reach the class: its prompts are short.
    assert sorted(asked) == [f"What is a {word}?" for word in ("beech", "poodle", "swift")]
    results = result.tasks["knows"]["results"]
    (value,) = [v for k, v in results["own_code::my_task"].items() if k.endswith(",none") and "stderr" not in k]
    assert round(value, 4) == 0.6667
    assert result.tasks["knows"]["counts"]["own_code::my_task"]["scored"] == 3


def test_documents_are_processed_by_a_function_of_the_task(functions: Path) -> None:
    with (functions / "sums.yaml").open("a") as file:
        file.write("process_docs: !function utils.even\n")
    with (functions / "utils.py").open("a") as file:
        file.write("def even(table):\n    return table.filter(lambda row: row['a'] % 2 == 0)\n")
    task = TaskManager(functions).load("sums").tasks[0]
    asked = task.requests({"test": [{"a": i, "answer": ""} for i in range(5)]})
    assert [request["context"] for request in asked] == ["0 + 1 =", "2 + 1 =", "4 + 1 ="]


def test_mistakes_are_named(folder: Path) -> None:
    tm = TaskManager(folder)
    with pytest.raises(ValueError, match="unknown task, group or tag `rde`\nhint: did you mean `red`"):
        tm.load("rde")
    with pytest.raises(ValueError, match="num_fewshto"):
        tm.load("red", overrides={"num_fewshto": 1})
    with pytest.raises(ValueError):
        TaskManager(folder / "nowhere")
    with pytest.raises(KeyError):
        tm.path("nothing")
