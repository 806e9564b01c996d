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
        "results": {"type": "path", "required": True},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Return ``settings``, and ``words`` that say where tuned ones come from ("" where there are none)."""
        settings, own, job = args["settings"], args["own"], args["job"]
        plain = {"settings": tunables.untuned(settings), "words": ""}
        # A script is told what it needs, and more ranks may make it another training; the article's recipe is untuned.
        if not args["use"] or "script" in job or settings["recipe"] != "icefield":
            return plain
        key = tuned.key_of(settings, job, node_types=args["node_types"], stack_lock=Path(args["stack_lock"]))
        try:
            record, why = tuned.find(tuned.load(Path(args["results"])), key, own)
        except ValueError as error:
            # The run would be the same, only slower: no reason not to begin it.
            record, why = {}, f"nothing tuned is used: {error}"
        if not record:
            if why:
                self._display.display(why)
            return plain
        found, words = tuned.applied(settings, own, record)
        self._display.display(words)
        return {"settings": found, "words": words}
