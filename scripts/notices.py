"""THIRD-PARTY-NOTICES.md: the licences of what is linked into the program and the wheel.

    python3 scripts/notices.py           # writes the file
    python3 scripts/notices.py --check   # reports what is missing; needs no network

Crates and versions come from `cargo metadata`, texts from the sources that cargo has
downloaded. Crates that are only used to build (procedural macros, build scripts) are part of
neither product and not listed.
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE = ROOT / "THIRD-PARTY-NOTICES.md"
PRODUCTS = ["context-bench-cli", "context-bench-python"]
TARGET = "x86_64-unknown-linux-gnu"
NAMES = re.compile(r"^(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)

# Parts of the products that are not crates: a description, the licence, and its files.
EMBEDDED = [
    (
        "data of sentence boundaries and languages (`crates/context-bench-scoring/data/ifeval`)",
        "Apache-2.0",
        ["crates/context-bench-scoring/data/ifeval/NOTICE", "LICENSE-APACHE"],
    ),
    (
        "SQLite, which libsqlite3-sys compiles",
        "public domain, see <https://sqlite.org/copyright.html>",
        [],
    ),
    (
        "vocabularies of OpenAI's models, which tiktoken embeds",
        "MIT, Copyright (c) 2022 OpenAI; see the texts of tiktoken",
        [],
    ),
    (
        "the demo set (`crates/context-bench/demo`)",
        "our own words, see its README",
        ["crates/context-bench/demo/README.md"],
    ),
]

HEAD = """# Notices of third parties

The program `context-bench` and the Python package contain the crates and the data below,
each under its own licence. Written by `scripts/notices.py`; `make lint` fails when
it lacks one.
"""


def metadata():
    cargo = os.environ.get("CARGO", "cargo")
    command = [cargo, "metadata", "--format-version=1", "--locked", "--offline"]
    command.append(f"--filter-platform={TARGET}")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"error: cargo metadata failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def linked(data):
    """Third-party packages that are linked into a product."""
    packages = {package["id"]: package for package in data["packages"]}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    todo = [id for id, package in packages.items() if package["name"] in PRODUCTS]
    seen = set(todo)
    while todo:
        for dep in nodes[todo.pop()]["deps"]:
            normal = any(kind["kind"] is None for kind in dep["dep_kinds"])
            kinds = {kind for target in packages[dep["pkg"]]["targets"] for kind in target["kind"]}
            if normal and "proc-macro" not in kinds and dep["pkg"] not in seen:
                seen.add(dep["pkg"])
                todo.append(dep["pkg"])
    others = [packages[id] for id in seen if packages[id]["source"]]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def texts(package):
    """The licence texts of a package: the MIT one if there is a choice, and all notices."""
    folder = pathlib.Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and NAMES.match(path.name))
    # The sources of a C library come with their own texts.
    below = ["*/*", "*/*/*", "*/*/*/*"] if package["name"].endswith("-sys") or not files else []
    for pattern in below:
        files += sorted(path for path in folder.glob(pattern) if path.is_file() and NAMES.match(path.name))
    mit = [path for path in files if "mit" in path.name.lower()]
    if mit and "OR" in (package["license"] or "").replace("/", " OR "):
        rest = [path for path in files if "apache" not in path.name.lower() and path not in mit]
        files = mit + rest
    return [(path.name, path.read_text(encoding="utf-8", errors="replace")) for path in files]


def heading(package):
    return f"### {package['name']} {package['version']}"


def block(text):
    """A text in a fenced block, which shows it unchanged."""
    body = "\n".join(line.rstrip() for line in text.strip().splitlines())
    return f"````text\n{body}\n````\n"


def notices(packages):
    parts = [HEAD, "\n## Crates\n"]
    numbers = {}
    bodies = []

    def number(text):
        key = hashlib.sha256(" ".join(text.split()).encode()).hexdigest()
        if key not in numbers:
            numbers[key] = len(numbers) + 1
            bodies.append(text)
        return numbers[key]

    for package in packages:
        found = texts(package)
        parts.append(f"\n{heading(package)}\n\n")
        parts.append(f"Licence: {package['license'] or 'see its text'}.")
        if package.get("repository"):
            parts.append(f" Source: <{package['repository']}>.")
        if found:
            named = ", ".join(f"text {number(text)} (`{name}`)" for name, text in found)
            parts.append(f" {named}.\n")
        else:
            authors = ", ".join(re.sub(r" *<.*?>", "", author) for author in package["authors"])
            parts.append(f" Copyright: {authors or 'its authors'}; the package has no licence file,")
            parts.append(" the licence is the published text of that name.\n")
    parts.append("\n## Data\n")
    for what, licence, files in EMBEDDED:
        named = ", ".join(f"text {number((ROOT / name).read_text(encoding='utf-8'))}" for name in files)
        named = f" {named}." if named else ""
        parts.append(f"\n### {what}\n\nLicence: {licence}.{named}\n")
    parts.append("\n## Texts\n")
    for at, text in enumerate(bodies, 1):
        parts.append(f"\n### Text {at}\n\n{block(text)}")
    return "".join(parts)


def check(packages):
    """Reports notices that are missing or no longer needed."""
    there = set(FILE.read_text(encoding="utf-8").splitlines()) if FILE.exists() else set()
    wanted = {heading(package) for package in packages} | {f"### {what}" for what, _, _ in EMBEDDED}
    crates = {line for line in there if re.match(r"^### [a-zA-Z0-9_-]+ \d+\.", line)}
    problems = [f"no notice for {line[4:]}" for line in sorted(wanted - there)]
    problems += [f"a notice for {line[4:]}, which is no longer linked" for line in sorted(crates - wanted)]
    if problems:
        print("\n".join(f"error: {FILE.name}: {problem}" for problem in problems), file=sys.stderr)
        print("hint: `python3 scripts/notices.py` writes the file again", file=sys.stderr)
        sys.exit(1)
    print(f"{len(packages)} crates have their notices")


def main():
    packages = linked(metadata())
    if "--check" in sys.argv[1:]:
        check(packages)
    else:
        FILE.write_text(notices(packages), encoding="utf-8")
        print(f"{FILE.name}: {len(packages)} crates")


if __name__ == "__main__":
    main()
