"""Ansible action: nodes and runs as a table."""

from __future__ import annotations

from typing import Any, ClassVar

from plugins.module_utils.controller_action import ControllerAction
from plugins.module_utils.run_result import status_table


class ActionModule(ControllerAction):
    """Hands the table to the end of the playbook's output."""

    ARGUMENTS: ClassVar[dict[str, Any]] = {
        "nodes": {"type": "list", "elements": "dict", "required": True},
        "answers": {"type": "list", "elements": "dict", "required": True},
        "stopped": {"type": "list", "elements": "dict", "default": []},
        "commands": {"type": "dict", "default": {}},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Return ``icefield_summary``."""
        return {"icefield_summary": status_table(args["nodes"], args["answers"], args["stopped"], args["commands"])}
