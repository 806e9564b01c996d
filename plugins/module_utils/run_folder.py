"""The folders of runs on a node: which runs there are, which goes on, which are over. Standard library only."""

from __future__ import annotations

import contextlib
import fcntl
import json
from pathlib import Path
from typing import Any


def active_run(runs_dir: Path) -> str:
    """Return the id of the run that goes on, or "".

    A supervisor holds the lock as long as it lives, so that a run whose supervisor was killed does not count.
    """
    try:
        with (runs_dir / ".lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        with contextlib.suppress(OSError):
            return (runs_dir / ".active").read_text().strip()
        return "unknown"
    except OSError:
        pass
    return ""


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, or {} where there is none (or not yet a whole one)."""
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def runs_of(runs_dir: Path) -> list[dict[str, Any]]:
    """List the runs on a node, the newest last.

    Each has ``run_id``, ``state`` and ``line`` (why it ended); one that goes on ``phase``, ``step`` and ``steps`` too.
    """
    active = active_run(runs_dir)
    found = []
    for folder in sorted(runs_dir.glob("*/plan.json"), key=lambda path: path.stat().st_mtime):
        run_dir = folder.parent
        result = read_json(run_dir / "result.json")
        run = {"run_id": run_dir.name, "state": str(result.get("state", "lost")), "line": str(result.get("line", ""))}
        if run_dir.name == active:
            run["state"] = "running"
            ranks = [read_json(path) for path in sorted((run_dir / "status").glob("rank-*.json"))]
            last = max(ranks, key=lambda rank: float(rank.get("time", 0)), default={})
            run.update({key: last.get(key, "") for key in ("phase", "step", "steps")})
        found.append(run)
    return found
