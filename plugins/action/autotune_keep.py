"""Ansible action: keep what a search found, and show it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from icefield_train.race import FEWEST_ROUNDS, MARGIN
from plugins.module_utils import autotune, tuned
from plugins.module_utils.controller_action import ControllerAction


class ActionModule(ControllerAction):
    """Writes the result for these nodes, this model and these versions; one that was there is replaced."""

    ARGUMENTS: ClassVar[dict[str, Any]] = {
        "search": {"type": "dict", "required": True},
        "settings": {"type": "dict", "required": True},
        "own": {"type": "dict", "required": True},
        "job": {"type": "dict", "required": True},
        "node_types": {"type": "list", "elements": "str", "required": True},
        "stack_lock": {"type": "path", "required": True},
        "folder": {"type": "path", "required": True},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Return ``path`` and ``icefield_summary``."""
        search = autotune.search_from(args["search"])
        verdict = search.verdict()
        settings = args["settings"]
        record = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "key": tuned.key_of(
                settings,
                args["own"],
                args["job"],
                node_types=args["node_types"],
                stack_lock=Path(args["stack_lock"]),
            ),
            "winner": verdict.winner,
            "gain": round(verdict.gain, 4),
            "rule": f"{MARGIN:.0%} faster than the defaults in each of at least {FEWEST_ROUNDS} rounds",
            "task": settings["task"],
            "max_length": settings["max_length"],
            "minutes": round(sum(probe.took for probe in search.probes) / 60, 2),
            "measured": verdict.measured,
        }
        path = tuned.save(Path(args["folder"]), record)
        return {
            "path": str(path),
            "icefield_summary": [*autotune.table(verdict), tuned.words_of(record), f"kept for train.yml: {path}"],
        }
