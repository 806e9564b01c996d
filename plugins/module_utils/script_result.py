"""How a run of a user's script ended, for people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from icefield_train.events import read_events
from icefield_train.output import plain
from icefield_train.script_report import output_files
from plugins.module_utils.run_folder import read_json
from plugins.module_utils.run_progress import counted, duration

# Lines of a traceback that are shown: its end says where and what.
_MOST_LINES = 12


def is_script(run_dir: Path) -> bool:
    """Tell whether a collected run was one of a script."""
    return "script" in read_json(run_dir / "config.json")


def table(run_dir: Path) -> list[str]:
    """Return the lines of the table of a finished run."""
    config = read_json(run_dir / "config.json")
    events = {event.get("event"): event for event in read_events(run_dir / "events.jsonl")}
    begun, ended = events.get("script", {}), events.get("end", {})
    files = output_files(run_dir)
    size = sum(size for _, size in files)
    rows = [
        ("run", config.get("run_id", run_dir.name)),
        ("script", f"{config['script']} {config.get('script_args', '')}".rstrip()),
        (
            "nodes",
            f"{len(begun.get('hosts', []))}, {counted(begun.get('world_size'), 'rank')}, {begun.get('launcher')}",
        ),
        ("time", duration(ended.get("wall_seconds", 0))),
        ("output", f"{counted(len(files), 'file')}, {size:,} bytes in {run_dir / 'output'}" if files else "none"),
    ]
    result = read_json(run_dir / "result.json")
    if "usd" in result:
        rows.append(("cost", f"${result['usd']:.4f}, ${result['usd_hour']:.4f} per hour on demand"))
    return [f"{name.ljust(6)}  {value}" for name, value in rows]


def traceback(run_dir: Path, ended: Mapping[str, Any]) -> list[str]:
    """Return the last lines of the traceback of the rank that failed, or nothing where it left none."""
    error = read_json(run_dir / "errors" / f"rank-{ended.get('rank')}.json")
    lines = [plain(line) for line in str(error.get("traceback", "")).splitlines()]
    return (
        [f"the end of what rank {ended['rank']} printed:", *(f"  {line}" for line in lines[-_MOST_LINES:])]
        if lines
        else []
    )
