"""Every block of Python in the documentation runs and gives what its comments say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from blocks import blocks, run

ROOT = Path(__file__).parents[2]
PAGES = sorted(ROOT.glob("docs/python/*.md"))
#: Pages say their results; one that stops doing so says less than it did.
SILENT = {"README", "migration"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(
    page: Path, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page.stem in ("results", "cookbook"):
        for module in ("pandas", "pyarrow", "polars"):
            pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    compared = 0
    for block in blocks(page):
        for address in ("http://localhost:7878", "http://localhost:8000"):
            block = block.replace(address, url)
        compared += run(block, names)
    assert compared > 0 or page.stem in SILENT


def test_there_are_pages_and_links_lead_somewhere() -> None:
    assert len(PAGES) >= 10
    for page in PAGES:
        for target in _links(page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def _links(text: str) -> list[str]:
    import re

    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text)
    return [target for target in targets if "://" not in target]


def test_the_readme_runs(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = blocks(ROOT / "README.md")
    assert found
    for block in found:
        run(block.replace("http://localhost:7878", url), {})
