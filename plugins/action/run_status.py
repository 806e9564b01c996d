"""Ansible action: nodes and runs as a table."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from plugins.module_utils.run_result import status_table


class ActionModule(ActionBase):
    """Hands the table to the end of the playbook's output."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return ``icefield_summary``."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            argument_spec={
                "nodes": {"type": "list", "elements": "dict", "required": True},
                "answers": {"type": "list", "elements": "dict", "required": True},
            }
        )
        result["icefield_summary"] = status_table(args["nodes"], args["answers"])
        return result
