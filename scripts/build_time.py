"""How long `make demo` compiles from nothing, and which crates take most of it.

    python3 scripts/build_time.py        # minutes; builds into target/build-time, then removes it
    python3 scripts/build_time.py 40     # a longer table

Processor time (user and system) is what to compare: elapsed time depends on what else runs, and
so do the seconds of single crates, which share the cores with each other.
"""

import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "target" / "build-time"


def units(page):
    """What cargo measured of each crate; its page holds the figures as JSON."""
    found = re.search(r"const UNIT_DATA = (\[.*?\]);\n", page.read_text(encoding="utf-8"), re.DOTALL)
    return json.loads(found.group(1))


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    shutil.rmtree(FOLDER, ignore_errors=True)
    cargo = os.environ.get("CARGO", "cargo")
    command = [cargo, "build", "--locked", "--package", "context-bench-cli", "--package", "context-bench-testkit", "--bins", "--timings"]
    # The demo alone: what others put into the environment must not change the profile.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CARGO_PROFILE_")}
    # Downloads are not compiling.
    subprocess.run([cargo, "fetch", "--locked"], cwd=ROOT, check=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run(command, cwd=ROOT, env=environment | {"CARGO_TARGET_DIR": str(FOLDER)}, check=True)
    elapsed = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime

    found = units(next((FOLDER / "cargo-timings").glob("cargo-timing-*.html")))
    found.sort(key=lambda unit: -unit["duration"])
    print(f"\n{len(found)} units, {user + system:.0f} s of processor time ({user:.0f} user, {system:.0f} system), {elapsed:.0f} s elapsed\n")
    print("| crate | seconds | of these generating code |\n|---|---|---|")
    for unit in found[:rows]:
        sections = dict(unit.get("sections") or [])
        codegen = sections.get("codegen")
        part = f"{codegen['end'] - codegen['start']:.1f}" if codegen else ""
        print(f"| {unit['name']} {unit['version']}{unit['target']} | {unit['duration']:.1f} | {part} |")
    shutil.rmtree(FOLDER)


if __name__ == "__main__":
    main()
