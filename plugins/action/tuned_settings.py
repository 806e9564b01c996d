"""Ansible action: the settings of a run, with those that were tuned where the user has left them open."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from plugins.module_utils import tunables, tuned
from plugins.module_utils.controller_action import ControllerAction


class ActionModule(ControllerAction):
    """Looks for what autotune.yml has found, and says what becomes of it."""

    ARGUMENTS: ClassVar[dict[str, Any]] = {
        "settings": {"type": "dict", "required": True},
        "own": {"type": "dict", "required": True},
        "use": {"type": "bool", "default": True},
        "job": {"type": "dict", "required": True},
        "node_types": {"type": "list", "elements": "str", "required": True},
        "stack_lock": {"type": "path", "required": True},
        "folder": {"type": "path", "required": True},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Return ``settings``, and ``words`` that say where tuned ones come from ("" where there are none)."""
        settings, job = args["settings"], args["job"]
        plain = tunables.untuned(settings)
        # A script is told what it needs, and more ranks may make it another training.
        if not args["use"] or "script" in job:
            return {"settings": plain, "words": ""}
        key = tuned.key_of(
            settings, args["own"], job, node_types=args["node_types"], stack_lock=Path(args["stack_lock"])
        )
        record, why = tuned.find(Path(args["folder"]), key)
        if not record:
            if why:
                self._display.display(why)
            return {"settings": plain, "words": ""}
        words = tuned.words_of(record)
        self._display.display(words)
        return {"settings": {**plain, **record["winner"]}, "words": words}
