"""Ansible action: what is to be run, checked on the controller before any node is touched."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from icefield_train.rules import refusal
from plugins.module_utils import run_job
from plugins.module_utils.controller_action import ControllerAction


class ActionModule(ControllerAction):
    """Checks data and model, names the run, and lists the folders to stage."""

    ARGUMENTS: ClassVar[dict[str, Any]] = {
        "settings": {"type": "dict", "required": True},
        "root": {"type": "path", "required": True},
        "cache_dir": {"type": "path", "required": True},
        "runs_dir": {"type": "path", "required": True},
        "wheelhouse_dir": {"type": "path", "required": True},
        "node_count": {"type": "int", "required": True},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Return ``job``, or fail with the one line that refuses it."""
        settings, root = args["settings"], Path(args["root"])
        run_id = settings["run_id"] or run_job.new_run_id(settings["task"], settings["model"], datetime.now(UTC))
        if (Path(args["runs_dir"]) / run_id).exists():
            there = f"{args['runs_dir']}/{run_id} is there already, and a run is not run again"
            raise ValueError(refusal("run_id", run_id, f"a new one, for {there}"))
        package = root / "training"
        called_from = Path(os.environ.get("PWD", "."))
        found = run_job.run_check(
            settings,
            called_from=called_from,
            cache=Path(args["cache_dir"]),
            wheelhouse=Path(args["wheelhouse_dir"]),
            world_size=args["node_count"] * int(settings["nproc_per_node"]),
        )
        for note in found["doctor"]:
            self._display.display(f"data: {note}")
        for warning in found["warnings"]:
            self._display.warning(warning)
        job = {
            "run_id": run_id,
            "trees": run_job.trees_of(found, package),
            "git_commit": run_job.git_commit(root),
            "data": found["data"],
            "model": found["model"],
            "steps": found["steps"],
            "sources": run_job.absolute_sources(settings, called_from),
        }
        return {"job": job}
