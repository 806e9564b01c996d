"""One node's part in a run, whichever side it is on: its preparation, its launcher, its watch, its processes."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Protocol

from icefield_train import launchers, script_files
from icefield_train.cause import Cause
from icefield_train.launch_env import LAUNCHED
from icefield_train.plan import Node, Plan
from icefield_train.preparation import Preparation
from icefield_train.processes import RUN_VARIABLE, die_with_parent, end_run
from icefield_train.watch import Watch

# Seconds between two looks at the ranks.
TICK = 0.2


class Stage(Protocol):
    """What a node is doing, as its supervisor sees it: preparing, or training."""

    def complete(self) -> bool:
        """Tell whether the node has done it."""

    def causes(self) -> list[Cause]:
        """Return the reasons to end the run that the node sees now."""

    def place(self) -> tuple[str, int]:
        """Return the phase and the step that the node is at."""

    def sharpen(self, cause: Cause) -> Cause:
        """Return a cause with what this node knows better."""


class Station:
    """What a supervisor does on its own node."""

    def __init__(self, plan: Plan, node: Node, token: str) -> None:
        self.plan, self.node, self.token = plan, node, token
        self.preparation = Preparation(plan, node)
        self.watch = Watch(plan, node)
        self.stage: Stage = self.watch
        self._launched = time.monotonic()
        self.start_by = self._launched + plan.deadlines["start"]

    def prepare(self) -> None:
        """Put a user's script in its place: before the other nodes are told that this one is here.

        Raises:
            OSError: its files cannot be copied.
        """
        if self.plan.script is not None:
            script_files.prepare(self.plan, self.plan.script)

    def start_preparing(self) -> None:
        """Start what comes before the ranks."""
        self.stage = self.preparation
        self.preparation.begin()

    def start(self) -> None:
        """Start the launcher, where this node is to start one, and count the ranks' deadlines from now."""
        launcher = None
        if launchers.starts_here(self.plan, self.node):
            if self.plan.launcher == "mpirun":
                launchers.write_mpirun_files(self.plan)
            log = Path(self.plan.run_dir) / "logs" / f"launcher-{self.node.name}.log"
            with log.open("ab") as output:
                launcher = subprocess.Popen(
                    launchers.command(self.plan, self.node),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd=self.plan.run_dir,
                    env={**os.environ, RUN_VARIABLE: self.plan.run_id, LAUNCHED: str(time.time())},
                    preexec_fn=die_with_parent,
                )
        self.watch.begin(launcher)
        self.stage = self.watch

    def end(self) -> None:
        """End all processes of the run on this node; on the head, keep what a user's script has written.

        Raises:
            RuntimeError: some remain.
            OSError: the results cannot be moved.
        """
        left = end_run(self.plan.run_id, first=[] if self.plan.script else self.watch.pids())
        for process in (self.preparation.process, self.watch.launcher):
            if process is not None:
                # Reaped, so that no zombie counts as a process of the run.
                process.wait()
        if left:
            raise RuntimeError(f"{self.node.name}: processes {left} of run '{self.plan.run_id}' could not be ended")
        if self.plan.script is not None and self.node == self.plan.head:
            script_files.keep_output(self.plan, self.plan.script)

    def stop_asked(self) -> Cause | None:
        """Return why the run shall end though nothing failed: a user's wish, or the end of a probe's time.

        ``icefield_train stop`` leaves the wish as a file.
        """
        if (Path(self.plan.run_dir) / "stop").exists():
            return Cause(host=self.node.name, message="stopped on request", state="stopped", time=time.time())
        if self.plan.probe is not None and time.monotonic() - self._launched > self.plan.probe.limit:
            message = f"the {self.plan.probe.limit:.0f} s that were left for it are over (setting autotune_budget)"
            return Cause(host=self.node.name, message=message, time=time.time())
        return None
