"""Ansible action: write a run's report on the controller, and say how the run ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

from icefield_train.report import main as write_report
from plugins.module_utils.run_result import outcome, result_table


class ActionModule(ActionBase):
    """Succeeds with the table of the results, or fails with the line that says why the run ended."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return ``icefield_summary`` (lines for the end of the playbook's output), or fail."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            argument_spec={
                "run_dir": {"type": "path", "required": True},
                "results": {"type": "list", "elements": "dict", "required": True},
            }
        )
        run_dir = Path(args["run_dir"])
        run_dir.mkdir(parents=True, exist_ok=True)
        ended = outcome(args["results"])
        (run_dir / "result.json").write_text(json.dumps(ended, indent=1) + "\n")
        write_report([str(run_dir)])
        where = f"report: {run_dir / 'report.html'}"
        how = "was stopped" if ended["state"] == "stopped" else "failed"
        if ended["state"] == "done":
            return {**result, "icefield_summary": [*result_table(run_dir), where]}
        return {
            **result,
            "failed": True,
            "msg": f"run '{run_dir.name}' {how}: {ended['line']}",
            "icefield_summary": [f"logs: {run_dir / 'logs'}", where],
        }
