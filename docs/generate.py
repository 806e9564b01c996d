"""Writes what the docs say about inputs from the argument specs: the settings' table in README.md, each role's README.

python docs/generate.py           # write
python docs/generate.py --check   # exit code 1, with the names of files that are not as they would be written
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- settings:begin -->", "<!-- settings:end -->"


def load_specs(role: Path) -> dict[str, Any]:
    """Return the entry points of a role's argument specs."""
    specs: dict[str, Any] = yaml.safe_load((role / "meta/argument_specs.yml").read_text())["argument_specs"]
    return specs


def text_of(value: Any) -> str:
    """Return a description as one line of Markdown."""
    text = " ".join(value) if isinstance(value, list) else str(value or "")
    return re.sub(r"C\(([^)]*)\)|O\(([^)]*)\)", lambda match: f"`{match[1] or match[2]}`", " ".join(text.split()))


def default_of(option: Mapping[str, Any]) -> str:
    """Return a default for a cell of a table."""
    if "default" not in option:
        return ""
    value = option["default"]
    shown = (
        str(value).lower()
        if isinstance(value, bool)
        else f"{value:f}".rstrip("0")
        if isinstance(value, float)
        else value
    )
    return "empty" if shown in ("", [], {}) else f"`{shown}`"


def table(options: Mapping[str, Any], head: str) -> list[str]:
    """Return a table of options."""
    lines = [f"| {head} | default | |", "| --- | --- | --- |"]
    for name, option in options.items():
        lines.append(
            f"| `{name}` | {default_of(option)} | {text_of(option['description']).replace('|', chr(92) + '|')} |"
        )
    return lines


def settings_table() -> str:
    """Return the tables of all settings, one for each topic."""
    lines: list[str] = []
    for topic, spec in load_specs(ROOT / "roles/settings").items():
        if topic != "main":
            lines += ["", f"**{spec['short_description']}** (`inventory/group_vars/all/{topic}.yml`)", ""]
            lines += table(spec["options"], "setting")
    return "\n".join(lines) + "\n"


def role_readme(role: Path) -> str:
    """Return the README of a role."""
    spec = load_specs(role)["main"]
    example = [f"        {name}: {option['default'] or chr(34) * 2}" for name, option in _simple(spec["options"])]
    lines = [
        f"# {role.name}",
        "",
        f"{text_of(spec['short_description'])}.",
        "",
        *([text_of(spec["description"]), ""] if spec.get("description") else []),
        *table(spec["options"], "input"),
        "",
        "    - hosts: all",
        "      roles:",
        f"        - role: {role.name}",
        *(["      vars:", *example] if example else []),
        "",
        "Generated from `meta/argument_specs.yml` by `make docs`.",
    ]
    return "\n".join(lines) + "\n"


def _simple(options: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the first inputs that fit into an example."""
    return [
        (name, option) for name, option in options.items() if option.get("type") == "str" and option.get("default")
    ][:2]


def wanted() -> dict[Path, str]:
    """Return each generated file with its text."""
    files = {
        role.parents[1] / "README.md": role_readme(role.parents[1])
        for role in ROOT.glob("roles/*/meta/argument_specs.yml")
    }
    readme = ROOT / "README.md"
    before, _, rest = readme.read_text().partition(BEGIN)
    files[readme] = f"{before}{BEGIN}\n{settings_table()}\n{END}{rest.partition(END)[2]}"
    return files


def main() -> int:
    """Write or check the files; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = [path for path, text in wanted().items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if check:
            print(f"{path.relative_to(ROOT)} is not up to date; run: make docs", file=sys.stderr)
        else:
            path.write_text(wanted()[path])
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
