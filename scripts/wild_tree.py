"""Writes a tree of task files in the many styles of real ones.

    python3 scripts/wild_tree.py FOLDER [--families 40] [--subjects 30]

Each family is a folder with templates without `.yaml` (some declare with null what the tasks
fill in), a Python file, a file for each subject, and a group. Families differ in style
(`wild_families.py`); together they use everything that `docs/reference/tasks.md` lists.
`context-bench validate --include-path FOLDER '*'` must report no problem. No package is needed to
write or load the tree.
"""

import argparse
import pathlib

from wild_families import FAMILIES

GROUP = """group: {family}
group_alias: {family} (日本語)
task:
{members}
aggregate_metric_list:
  - metric: acc
    aggregation: mean
    weight_by_size: {weight}
metadata:
  version: 1.0
"""


def write(root, families, subjects):
    """Writes the tree; returns the number of families."""
    for number in range(families):
        make = FAMILIES[number % len(FAMILIES)]
        family = f"{make.__name__}_{number}"
        files, subject_file, group_file = make(family)
        # As in real trees, some families are one folder deeper.
        area = f"area_{number % 7}" if number % 3 else ""
        folder = root / area / family
        folder.mkdir(parents=True)
        dotted = area + "." if area else ""
        names = [f"{family}_subject_{n}" for n in range(subjects)]
        for n, name in enumerate(names):
            files[f"{name}.yaml"] = subject_file.format(
                task=name, subject=f"subject_{n}", family=family, area=dotted)
        # Every fifth group has a typo in a boolean.
        files[f"_{family}.yaml"] = (group_file or GROUP).format(
            family=family, members="\n".join(f"  - {name}" for name in names),
            weight="truez" if number % 5 == 0 else "true")
        if make.__name__ == "across":
            files["utils.py"] = files["utils.py"].format(dotted, dotted)
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--families", type=int, default=42)
    parser.add_argument("--subjects", type=int, default=30)
    args = parser.parse_args()
    write(args.folder, args.families, args.subjects)
    n_files = sum(1 for _ in args.folder.rglob("*.yaml"))
    print(f"{n_files} files of {args.families} families in {args.folder}")


if __name__ == "__main__":
    main()
