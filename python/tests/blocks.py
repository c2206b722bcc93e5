"""Runs blocks of code and compares the results with the comments after them."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from pathlib import Path
from typing import Any

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
    """Whether a value is what its comment says; `False` if there is no comment."""
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
    """Runs a block; returns the number of results that were compared."""
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
