"""Ansible action: what is to be run, checked on the controller before any node is touched."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

from plugins.module_utils import run_job


class ActionModule(ActionBase):
    """Checks data and model, names the run, and lists the folders to stage."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return ``job``, or fail with the one line that refuses it."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            argument_spec={
                "settings": {"type": "dict", "required": True},
                "root": {"type": "path", "required": True},
                "cache_dir": {"type": "path", "required": True},
                "runs_dir": {"type": "path", "required": True},
                "wheelhouse_dir": {"type": "path", "required": True},
                "node_count": {"type": "int", "required": True},
            }
        )
        settings, root = args["settings"], Path(args["root"])
        run_id = settings["run_id"] or run_job.new_run_id(settings["task"], settings["model"], datetime.now(UTC))
        if (Path(args["runs_dir"]) / run_id).exists():
            return {
                **result,
                "failed": True,
                "msg": f"setting 'run_id': value '{run_id}' is not accepted; give a new one, for "
                f"{args['runs_dir']}/{run_id} is there already, and a run is not run again",
            }
        package = root / "training"
        try:
            found = run_job.run_check(
                settings,
                called_from=Path(os.environ.get("PWD", ".")),
                cache=Path(args["cache_dir"]),
                wheelhouse=Path(args["wheelhouse_dir"]),
                world_size=args["node_count"] * int(settings["nproc_per_node"]),
            )
        except ValueError as error:
            return {**result, "failed": True, "msg": str(error)}
        for warning in found["warnings"]:
            self._display.warning(warning)
        result["job"] = {
            "run_id": run_id,
            "trees": run_job.trees_of(found, package),
            "git_commit": run_job.git_commit(root),
            "data": found["data"],
            "model": found["model"],
            "steps": found["steps"],
        }
        return result
