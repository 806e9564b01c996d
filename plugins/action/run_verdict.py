"""Ansible action: write a run's report on the controller, and say how the run ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

from icefield_train.report import main as write_report
from plugins.module_utils import script_result
from plugins.module_utils.controller_action import ControllerAction
from plugins.module_utils.run_result import cost, outcome, result_table


class ActionModule(ControllerAction):
    """Succeeds with the table of the results, or fails with the line that says why the run ended."""

    ARGUMENTS: ClassVar[dict[str, Any]] = {
        "run_dir": {"type": "path", "required": True},
        "results": {"type": "list", "elements": "dict", "required": True},
        "usd_hours": {"type": "list", "elements": "raw", "default": []},
        "would": {"type": "str", "default": ""},
        "part_of": {"type": "str", "default": ""},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Return ``icefield_summary`` (lines for the end of the playbook's output), or fail."""
        if self._task.check_mode:
            return {"icefield_summary": [args["would"]]}
        run_dir = Path(args["run_dir"])
        run_dir.mkdir(parents=True, exist_ok=True)
        ended = {**outcome(args["results"]), **cost(run_dir, args["usd_hours"])}
        (run_dir / "result.json").write_text(json.dumps(ended, indent=1) + "\n")
        write_report([str(run_dir)])
        where = f"report: {run_dir / 'report.html'}"
        found = run_dir / "predictions"
        predicted = [f"predictions: {found}"] if found.is_dir() else []
        how = "was stopped" if ended["state"] == "stopped" else "failed"
        is_script = script_result.is_script(run_dir)
        if ended["state"] == "done" and args["part_of"]:
            return {}
        if ended["state"] == "done":
            table = script_result.table(run_dir) if is_script else result_table(run_dir)
            return {"icefield_summary": [*table, *predicted, where]}
        return {
            "failed": True,
            "msg": f"run '{run_dir.name}' {how}: {ended['line']}",
            "icefield_summary": [
                *(script_result.traceback(run_dir, ended) if is_script else []),
                f"logs: {run_dir / 'logs'}",
                where,
                *([f"benchmark, as far as it went: {args['part_of']}"] if args["part_of"] else []),
            ],
        }
