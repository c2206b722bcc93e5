"""The snippets of the specification, run as written and compared with their comments."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

BLOCK = re.compile(r"```python\n(.*?)```", re.S)


def blocks(path: Path) -> list[str]:
    return BLOCK.findall(path.read_text())


def comments(source: str) -> dict[int, str]:
    """Comments by line."""
    found = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            found[token.start[0]] = token.string.lstrip("# ").strip()
    return found


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(rounded(item) for item in value)
    return value


def check(value: Any, said: str) -> bool:
    """Whether a value is what its comment says; `False` when it says nothing."""
    if said == "all 1.0" or said == "all 0.0":
        assert set(value.values()) == {float(said[4:])}
    elif said == "two rows":
        assert len(value) == 2
    elif said == "valid JSON":
        json.loads(value)
    else:
        try:
            expected = ast.literal_eval(said)
        except (SyntaxError, ValueError):
            return False
        assert rounded(value) == rounded(expected)
    return True


def run(source: str, names: dict[str, Any]) -> int:
    """Runs a block; gives the number of results that were compared."""
    said = comments(source)
    lines = source.splitlines()
    # A comment on a line of its own is about the statement before it.
    alone = {line for line in said if lines[line - 1].lstrip().startswith("#")}
    compared = 0
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Expr):
            exec(compile(ast.Module([node], []), "snippet", "exec"), names)
            continue
        value = eval(compile(ast.Expression(node.value), "snippet", "eval"), names)
        last = node.end_lineno or node.lineno
        comment = said.get(last) or (said[last + 1] if last + 1 in alone else None)
        if comment is not None:
            compared += check(value, comment)
    return compared


@pytest.fixture
def names(url: str) -> Iterator[dict[str, Any]]:
    yield {"URL": url}


def test_the_snippets_of_the_specification_run_as_written(
    names: dict[str, Any],
    shared: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
