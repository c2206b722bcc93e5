"""`TaskManager`: names, paths, formats, overrides."""

from __future__ import annotations

from pathlib import Path

import pytest
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
    tm = TaskManager(include_path=folder)
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
