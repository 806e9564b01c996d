"""What a report says of a run of a user's script: what was run, what it left, what it printed last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from icefield_train.output import plain, tail

_MOST_FILES = 50
_MOST_LINES = 40


def rows(config: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> Iterable[tuple[str, Any]]:
    """Yield names and values for the table of the run."""
    if "script" not in config:
        return
    yield "script", config["script"]
    yield "arguments", config.get("script_args")
    yield "packages beside the stack's", ", ".join(config.get("packages", []))
    yield "launcher", config.get("launcher")
    yield "script digest", config.get("script_digest")
    yield from (("time", f"{event['wall_seconds']:.1f} s") for event in events if event.get("event") == "end")


def output_files(run_dir: Path) -> list[tuple[str, int]]:
    """Return the files that a script left, by their paths in its output, and their sizes in bytes.

    A symbolic link counts for itself; where it leads is beside its path.
    """
    folder = run_dir / "output"
    found = [path for path in folder.rglob("*") if path.is_symlink() or path.is_file()]
    return sorted((_name(path, folder), path.lstat().st_size) for path in found)


def _name(path: Path, folder: Path) -> str:
    name = str(path.relative_to(folder))
    return f"{name} -> {path.readlink()}" if path.is_symlink() else name


def output_section(run_dir: Path) -> str:
    """Return the list of the files that a script left."""
    files = output_files(run_dir)
    shown = [f"{name}  {size:,} bytes" for name, size in files[:_MOST_FILES]]
    if len(files) > _MOST_FILES:
        shown.append(f"and {len(files) - _MOST_FILES} more")
    return _pre(shown)


def log_section(run_dir: Path, rank: int) -> str:
    """Return the last lines that the script printed as this rank."""
    text = tail(run_dir / "logs" / f"rank-{rank}.log").rstrip("\n")
    lines = [plain(line.rstrip("\r").rpartition("\r")[2]) for line in text.split("\n")]
    return _pre(lines[-_MOST_LINES:]) if text else ""


def _pre(lines: Sequence[str]) -> str:
    return f"<pre>{escape(chr(10).join(lines), quote=True)}</pre>" if lines else ""
