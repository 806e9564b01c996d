"""Ansible action: compare the runs of a benchmark that are done, and write what they show."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from plugins.module_utils import benchmark_folder, benchmark_table
from plugins.module_utils.benchmark_order import Place
from plugins.module_utils.controller_action import ControllerAction


class ActionModule(ControllerAction):
    """Writes the files of the runs that are done and shows the last one's figures; in the end returns the table.

    Fails with one line where runs are unlike. A check says what would be run.
    """

    ARGUMENTS: ClassVar[dict[str, Any]] = {
        "folder": {"type": "path", "required": True},
        "runs": {"type": "list", "elements": "dict", "required": True},
        "planned": {"type": "int", "required": True},
        "command": {"type": "str", "default": ""},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Return ``icefield_summary`` (lines for the end of the playbook's output) where all runs are done."""
        folder, planned = Path(args["folder"]), args["planned"]
        if self._task.check_mode:
            names = ", ".join(f"{run['recipe']} on {run['nodes']}" for run in args["runs"])
            return {"icefield_summary": [f"would make {planned} runs, by recipe and number of nodes: {names}"]}
        runs = [
            benchmark_folder.read_run(folder / run["run_id"], Place(run["recipe"], run["nodes"], run["repeat"]))
            for run in args["runs"]
        ]
        summary = benchmark_folder.write(folder, runs, planned, args["command"])
        self._display.display(f"run {len(runs)} of {planned}: {benchmark_table.run_line(runs[-1])}")
        if len(runs) < planned:
            return {}
        where = f"page: {folder / 'benchmark.html'}"
        return {"icefield_summary": [*benchmark_table.lines(summary), *benchmark_table.words(summary), where]}
