#!/usr/bin/env python3
"""The public surface of the published crates, as rustdoc shows it, one item a line.

    cargo doc --workspace --no-deps
    scripts/public_api.py            # writes docs/reference/public-api/CRATE.txt
    scripts/public_api.py --check    # fails when a listing is not what the code has

The listings are checked in, so that a review sees what a change adds to the surface or takes
from it. They come from rustdoc's pages because its JSON output needs a nightly compiler.
"""

import html
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "target" / "doc"
LISTINGS = ROOT / "docs" / "reference" / "public-api"
CRATES = [
    "context_bench",
    "context_bench_error",
    "context_bench_http",
    "context_bench_hub",
    "context_bench_memory",
    "context_bench_reader",
    "context_bench_records",
    "context_bench_sandbox",
    "context_bench_scoring",
    "context_bench_tap",
    "context_bench_tasks",
    "context_bench_template",
]
# The pages of items are called `KIND.NAME.html`; of others, such as modules, `all.html` has none.
ITEM = re.compile(r'<a href="([^"#]+\.html)">([^<]+)</a>')
# Parts of an item that belong to its surface, by the ids of their headings.
PART = re.compile(r'id="(structfield|variant|method|tymethod|associatedconstant|associatedtype)\.([^"]+)"')
# Methods that come with the traits of other crates are no part of what we promise.
IMPLEMENTED = re.compile(r'<div id="(?:trait-implementations|synthetic-implementations|blanket-implementations)-list">')


def items(crate):
    """Every public item of a crate with its parts."""
    index = (PAGES / crate / "all.html").read_text(encoding="utf-8")
    lines = set()
    for target, name in ITEM.findall(index):
        kind = target.rsplit("/", 1)[-1].split(".", 1)[0]
        name = html.unescape(name)
        lines.add(f"{kind} {name}")
        page = (PAGES / crate / target).read_text(encoding="utf-8")
        own = IMPLEMENTED.split(page, maxsplit=1)[0]
        for part, part_name in PART.findall(own):
            part = {"structfield": "field", "tymethod": "method"}.get(part, part)
            lines.add(f"{kind} {name} {part} {part_name.replace('.fields', '')}")
    return sorted(lines)


def main():
    check = "--check" in sys.argv[1:]
    LISTINGS.mkdir(parents=True, exist_ok=True)
    changed = []
    for crate in CRATES:
        text = "".join(f"{line}\n" for line in items(crate))
        path = LISTINGS / f"{crate}.txt"
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if check:
            old = set(path.read_text(encoding="utf-8").splitlines()) if path.exists() else set()
            new = set(text.splitlines())
            changed += [f"{crate}: + {line}" for line in sorted(new - old)]
            changed += [f"{crate}: - {line}" for line in sorted(old - new)]
        else:
            path.write_text(text, encoding="utf-8")
    if changed:
        print("The public surface is not what docs/reference/public-api says:")
        print("\n".join(changed[:40]))
        print("hint: read the change, then run `make public-api`")
        sys.exit(1)


if __name__ == "__main__":
    main()
