"""The distribution and its neighbour: `context-bench` of another project has our folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import context_bench
import pytest
from context_bench import _installation

PACKAGE = Path(context_bench.__file__).parent
ROOT = Path(__file__).parents[2]
HINT = "pip uninstall --yes context-bench context-bench-rs"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of packages that has ours, as pip puts it there."""
    site = tmp_path / "site"
    shutil.copytree(PACKAGE, site / "context_bench", ignore=shutil.ignore_patterns("__pycache__"))
    return site


def imported(site: Path, program: str = "import context_bench") -> str:
    """What the import says last; nothing when all is well."""
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(site)},
        capture_output=True, text=True, timeout=600, check=False, cwd=site.parent,
    )  # fmt: skip
    lines = done.stderr.splitlines()
    found = [n for n, line in enumerate(lines) if line.startswith("ImportError: ")]
    assert bool(found) == (done.returncode != 0), done.stderr
    return "\n".join(lines[found[-1] :]) if found else ""


def wheel(folder: Path, files: dict[str, str]) -> Path:
    """A wheel of the other project."""
    info = "context_bench-0.5.0.dist-info"
    about = {
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: context-bench\nVersion: 0.5.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in [*files, *about, f"{info}/RECORD"])
    path = folder / "context_bench-0.5.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, **about, f"{info}/RECORD": record}.items():
            archive.writestr(name, text)
    return path


def pip(*arguments: object) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    subprocess.run([str(part) for part in command], check=True, timeout=600, capture_output=True)


def test_one_name_everywhere() -> None:
    assert context_bench.__distribution__ == "context-bench-rs"
    assert metadata.version("context-bench-rs") == context_bench.__version__
    ours = {str(path) for path in metadata.files("context-bench-rs") or ()}
    assert "context_bench/__init__.py" in ours
    assert any(path.endswith("THIRD-PARTY-NOTICES.md") for path in ours)
    assert 'name = "context-bench-rs"' in (ROOT / "pyproject.toml").read_text()
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        # Neither name finds this package on PyPI: it is built from a clone.
        assert "pip install context-bench" not in page.read_text(), page


def test_the_list_of_modules_is_what_is_there() -> None:
    there, native = _installation._modules(str(PACKAGE))
    listed = {f"{part}/{name}" if part else name
              for part in _installation._MODULES for name in _installation._names(part)}  # fmt: skip
    assert native and there == listed
    modules = {path.relative_to(PACKAGE).with_suffix("").as_posix() for path in PACKAGE.rglob("*.py")}
    assert modules == listed
    assert all(text == " ".join(sorted(text.split())) for text in
               (" ".join(text.split()) for text in _installation._MODULES.values()))  # fmt: skip


def test_a_whole_folder_is_imported(site: Path) -> None:
    assert imported(site) == ""


def test_a_file_of_the_other_project_is_reported(site: Path) -> None:
    (site / "context_bench/cli.py").write_text("")
    said = imported(site)
    assert "`context_bench/cli.py` does not belong to it" in said and HINT in said
    (site / "context_bench/cli.py").unlink()
    (site / "context_bench/evaluators/memory_judge.py").write_text("")
    assert "`context_bench/evaluators/memory_judge.py` does not belong to it" in imported(site)


def test_a_missing_file_is_reported(site: Path) -> None:
    (site / "context_bench/results.py").unlink()
    assert "`context_bench/results.py` is missing" in imported(site)
    for native in (site / "context_bench").glob("_native.*so"):
        native.unlink()
    said = imported(site)
    assert "`context_bench/_native`, is missing" in said and HINT in said


def test_a_foreign_init_file_is_reported(site: Path) -> None:
    (site / "context_bench/__init__.py").write_text("__version__ = '0.5.0'\n")
    said = imported(site, "import context_bench.tasks")
    assert "`context_bench/__init__.py` does not belong to context-bench-rs" in said


def test_the_other_distribution_in_the_same_folder_is_reported(site: Path, tmp_path: Path) -> None:
    """With the real pip: theirs first and then ours, and the other way round."""
    ours = next((ROOT / "target/wheels").glob("context_bench_rs-*.whl"), None)
    if ours is None:
        pytest.skip("no wheel; run `make python`")
    theirs = wheel(tmp_path, {"context_bench/__init__.py": "", "context_bench/results.py": ""})
    both = tmp_path / "both"
    pip("install", "--target", both, "--no-deps", theirs)
    pip("install", "--target", both, "--no-deps", "--upgrade", ours)
    said = imported(both)
    assert "`context-bench`, another project, is installed" in said and HINT in said
    assert "context_bench-0.5.0.dist-info" in said
    # The other project was installed last and overwrote files; those that are left notice it.
    after = tmp_path / "after"
    pip("install", "--target", after, "--no-deps", ours)
    with zipfile.ZipFile(theirs) as archive:
        archive.extractall(after)
    said = imported(after, "from context_bench.tasks import TaskManager")
    assert "does not belong to context-bench-rs" in said


def test_metadata_without_our_files_does_not_matter(site: Path) -> None:
    info = site / "context_bench-0.5.0.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("__editable__.context_bench-0.5.0.pth,,\n")
    assert imported(site) == ""


def test_it_looks_at_names_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is part of every import: one listing for each folder, and nothing is read."""
    listed: list[str] = []
    listdir = os.listdir

    def counted(path: str) -> list[str]:
        listed.append(path)
        return listdir(path)

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a file was read")

    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", counted)
        patch.setattr("builtins.open", refused)
        _installation.check(str(PACKAGE))
    assert len(listed) == len(set(listed)) == len(_installation._MODULES) + 1
