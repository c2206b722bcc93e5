"""Dependencies and manifests: licences, bans, duplicates, the minimum Rust version.

    python3 scripts/check_dependencies.py   # says what is wrong; needs no network

The rules for dependencies are those of deny.toml, which `cargo deny` reads too. What is not
checked here is whether a crate has a known vulnerability: that database is not in the clone.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

try:
    import tomllib
except ModuleNotFoundError:
    sys.exit("error: scripts/check_dependencies.py needs Python 3.11 or later")

ROOT = pathlib.Path(__file__).resolve().parent.parent
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"

# What a crate's users rely on not to get with it.
WITHOUT = {
    "context-bench-scoring": ["tokio", "reqwest", "rusqlite", "parquet"],
    "context-bench-error": ["tokio", "reqwest", "rusqlite", "parquet"],
}


def cargo(*arguments):
    command = [os.environ.get("CARGO", "cargo"), *arguments, "--locked"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(command)} failed: {done.stderr.strip()}")
    return done.stdout


def metadata(rules):
    """Every package that is built for the targets of deny.toml, with all features."""
    arguments = ["metadata", "--format-version=1", "--all-features"]
    arguments += [f"--filter-platform={target}" for target in rules["graph"]["targets"]]
    data = json.loads(cargo(*arguments))
    used = {node["id"] for node in data["resolve"]["nodes"]}
    return [package for package in data["packages"] if package["id"] in used]


def version(text):
    """`1.88` and `1.88.0` are the same version."""
    numbers = [int(part) for part in re.split(r"[.+-]", text) if part.isdigit()]
    return tuple((numbers + [0, 0, 0])[:3])


def allowed(expression, allow):
    """Whether an SPDX expression can be met with the licences in `allow`."""
    tokens = re.findall(r"\(|\)|/|[^\s()/]+", expression)
    used = set()

    def alternatives():
        ok = conjunction()
        while tokens and tokens[0] in ("OR", "/"):
            tokens.pop(0)
            ok = conjunction() or ok
        return ok

    def conjunction():
        ok = licence()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            ok = licence() and ok
        return ok

    def licence():
        name = tokens.pop(0)
        if name == "(":
            ok = alternatives()
            tokens.pop(0)
            return ok
        if tokens and tokens[0] == "WITH":
            name += f" {tokens.pop(0)} {tokens.pop(0)}"
        if name in allow:
            used.add(name)
        return name in allow

    return alternatives(), used


def licences(packages, rules):
    allow = set(rules["licenses"]["allow"])
    clarified = {entry["crate"]: entry["expression"] for entry in rules["licenses"].get("clarify", [])}
    met = set()
    for package in packages:
        name = f"{package['name']} {package['version']}"
        expression = package["license"] or clarified.get(package["name"])
        if not expression:
            yield f"{name} names no licence; look at its text and add it to [[licenses.clarify]] of deny.toml"
            continue
        ok, used = allowed(expression, allow)
        met |= used
        if not ok:
            yield f"{name} has the licence {expression}, which deny.toml does not allow"
    for name in sorted(allow - met):
        yield f"deny.toml allows the licence {name}, which no crate has any more"


def bans(packages, rules):
    denied = {entry["crate"]: entry["reason"] for entry in rules["bans"]["deny"]}
    skipped = [entry["crate"] for entry in rules["bans"]["skip"]]
    versions = {}
    for package in packages:
        versions.setdefault(package["name"], []).append(package["version"])
    for name in sorted(set(denied) & set(versions)):
        yield f"{name} is in the tree: {denied[name]}"

    def matches(skip, name, number):
        wanted, _, prefix = skip.partition("@")
        return wanted == name and f"{number}.".startswith(f"{prefix}.")

    for name, numbers in sorted(versions.items()):
        rest = [number for number in numbers if not any(matches(skip, name, number) for skip in skipped)]
        if len(rest) > 1:
            yield f"{name} is compiled more than once: {', '.join(sorted(rest))} (`cargo tree --duplicates`)"
    for skip in skipped:
        name = skip.partition("@")[0]
        numbers = versions.get(name, [])
        if len(numbers) < 2 or not any(matches(skip, name, number) for number in numbers):
            yield f"deny.toml skips {skip}, which is not a duplicate any more"


def sources(packages):
    for package in packages:
        if package["source"] not in (None, CRATES_IO):
            yield f"{package['name']} comes from {package['source']} and not from crates.io"


def rust_version(packages, ours):
    """A dependency that asks for more than we promise makes the promise false."""
    for package in packages:
        needs = package["rust_version"]
        if package["source"] is None:
            if needs != ours:
                yield f"{package['name']} has no `rust-version.workspace = true`"
        elif needs and version(needs) > version(ours):
            yield f"{package['name']} {package['version']} needs Rust {needs}; `rust-version` says {ours}"


def published(packages):
    """What crates.io asks for, and what a reader of a crate's page looks for."""
    for package in packages:
        if package["source"] is not None or package["publish"] == []:
            continue
        for field in ["description", "license", "repository"]:
            if not package[field]:
                yield f"{package['name']} is published and has no `{field}`"
        folder = pathlib.Path(package["manifest_path"]).parent
        for name in ["LICENSE-APACHE", "LICENSE-MIT"]:
            if not (folder / name).is_file():
                yield f"{package['name']} is published without {name}: ln -s ../../{name} {folder.relative_to(ROOT)}/"


def trees():
    for crate, names in WITHOUT.items():
        lines = cargo("tree", "--package", crate, "--edges", "normal", "--prefix", "none", "--all-features")
        inside = {line.split()[0] for line in lines.splitlines() if line}
        for name in sorted(inside & set(names)):
            yield f"{crate} must do without {name} (`cargo tree --package {crate} --invert {name}`)"


def main():
    rules = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    ours = manifest["workspace"]["package"]["rust-version"]
    packages = metadata(rules)
    others = [package for package in packages if package["source"]]
    problems = [
        *licences(others, rules),
        *bans(packages, rules),
        *sources(packages),
        *rust_version(packages, ours),
        *published(packages),
        *trees(),
    ]
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    if problems:
        sys.exit(1)
    print(f"{len(others)} crates of others: licences, sources, versions and Rust {ours} are as deny.toml and Cargo.toml say")


if __name__ == "__main__":
    main()
