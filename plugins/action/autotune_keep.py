"""Ansible action: keep what a search found, and show it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from plugins.module_utils import autotune, tuned
from plugins.module_utils.controller_action import ControllerAction


class ActionModule(ControllerAction):
    """Writes the result for these nodes, this model and these versions; one that was there is replaced."""

    ARGUMENTS: ClassVar[dict[str, Any]] = {
        "search": {"type": "dict", "required": True},
        "used": {"type": "float", "required": True},
        "settings": {"type": "dict", "required": True},
        "own": {"type": "dict", "required": True},
        "job": {"type": "dict", "required": True},
        "node_types": {"type": "list", "elements": "str", "required": True},
        "stack_lock": {"type": "path", "required": True},
        "results": {"type": "path", "required": True},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Return ``icefield_summary``."""
        search = autotune.search_from(args["search"])
        verdict = search.verdict()
        settings, path = args["settings"], Path(args["results"])
        shown = [*autotune.table(verdict), *autotune.notes(search, verdict, args["used"])]
        # That the defaults won was not found out then; an earlier search may have found more.
        if search.candidates and verdict.unsettled == search.candidates:
            return {"icefield_summary": [*shown, "nothing was kept"]}
        record = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "key": tuned.key_of(
                settings, args["job"], node_types=args["node_types"], stack_lock=Path(args["stack_lock"])
            ),
            "own": args["own"],
            "winner": verdict.winner,
            "gain": round(verdict.gain, 4),
            "task": settings["task"],
            "budget": search.budget,
            "used": round(args["used"], 1),
            "measured": verdict.measured,
        }
        tuned.save(path, record)
        return {
            "icefield_summary": [*shown, f"{tuned.words_of(record)}; kept for train.yml in {path}"],
        }
