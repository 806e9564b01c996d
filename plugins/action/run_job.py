"""Ansible action: what is to be run, checked on the controller before any node is touched."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from icefield_train.rules import refusal
from plugins.module_utils import run_job, script_job
from plugins.module_utils.controller_action import ControllerAction
from plugins.module_utils.script_layer import read_stack


class ActionModule(ControllerAction):
    """Checks data and model, names the run, and lists the folders to stage."""

    ARGUMENTS: ClassVar[dict[str, Any]] = {
        "settings": {"type": "dict", "required": True},
        "root": {"type": "path", "required": True},
        "cache_dir": {"type": "path", "required": True},
        "runs_dir": {"type": "path", "required": True},
        "wheelhouse_dir": {"type": "path", "required": True},
        "node_count": {"type": "int", "required": True},
        "defaults": {"type": "dict", "required": True},
        "stack_lock": {"type": "path", "required": True},
        "torch_index_url": {"type": "str", "default": ""},
        "prefix": {"type": "str", "default": ""},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Return ``job``, or fail with the one line that refuses it."""
        settings, root = args["settings"], Path(args["root"])
        if fault := script_job.fault(settings):
            raise ValueError(fault)
        now = datetime.now(UTC)
        if settings["script"]:
            named = script_job.new_run_id(settings, run_job.stamp_of(now))
        else:
            named = run_job.new_run_id(settings["task"], settings["model"], now)
        run_id = settings["run_id"] or f"{args['prefix']}{named}"
        if (Path(args["runs_dir"]) / run_id).exists():
            there = f"{args['runs_dir']}/{run_id} is there already, and a run is not run again"
            raise ValueError(refusal("run_id", run_id, f"a new one, for {there}"))
        package = root / "training"
        called_from = Path(os.environ.get("PWD", "."))
        job: dict[str, Any] = {
            "run_id": run_id,
            "git_commit": run_job.git_commit(root),
            "stack_lock": args["stack_lock"],
        }
        if settings["script"]:
            return {"job": job | self._script(args, called_from, package)}
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
        job |= {
            "trees": run_job.trees_of(found, package),
            "data": found["data"],
            "model": found["model"],
            "steps": found["steps"],
            "sources": run_job.absolute_sources(settings, called_from),
        }
        return {"job": job}

    def _script(self, args: dict[str, Any], called_from: Path, package: Path) -> dict[str, Any]:
        """Return the job of a user's own script."""
        settings, wheelhouse = args["settings"], Path(args["wheelhouse_dir"])
        found = script_job.check(
            settings,
            args["defaults"],
            called_from=called_from,
            cache=Path(args["cache_dir"]),
            wheelhouse=wheelhouse,
            stack=read_stack(Path(args["stack_lock"]), wheelhouse, args["torch_index_url"]),
        )
        for warning in script_job.ignored(settings, args["defaults"]):
            self._display.warning(warning)
        return {
            "trees": [run_job.code_tree(package), *found["trees"]],
            "script": found["script"],
            "sources": run_job.absolute_paths(settings, called_from, script_job.SOURCES),
        }
