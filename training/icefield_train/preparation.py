"""What a node does of a run before its ranks start: one process that tokenises, watched as the ranks are."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

from icefield_train.cause import Cause, cause_from
from icefield_train.events import Events
from icefield_train.plan import Node, Plan
from icefield_train.processes import die_with_parent, out_of_memory_kills
from icefield_train.rank import NICENESS, environment_of
from icefield_train.status import node_file
from icefield_train.watch import ending, telling_line

PHASE = "tokenise"


class Preparation:
    """The preparing process of one node; a plan without one is prepared at once."""

    def __init__(self, plan: Plan, node: Node) -> None:
        self._plan, self._node = plan, node
        self._dir = Path(plan.run_dir)
        self._kills = out_of_memory_kills()
        self._told = ""
        self._changed = time.monotonic()
        self.process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Start the process and count its deadline from now on."""
        self._changed = time.monotonic()
        if not self._plan.prepare:
            return
        # Where rank 0 will go on; the watcher of the run sees it there.
        events = Events(self._dir, enabled=self._node == self._plan.head)
        events.write("phase", phase=PHASE)
        events.close()
        # No rank needs the node's cores yet.
        env = {"TOKENIZERS_PARALLELISM": "true"}
        if count := self._node.threads * self._plan.nproc_per_node:
            env |= {"RAYON_NUM_THREADS": str(count), "OMP_NUM_THREADS": str(count)}
        with self._log.open("ab") as output:
            self.process = subprocess.Popen(
                [self._plan.python, "-m", "icefield_train", *self._plan.prepare],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._plan.run_dir,
                env={**os.environ, **environment_of(self._plan, self._node), **env},
                preexec_fn=_become,
            )

    def place(self) -> tuple[str, int]:
        """Return phase and step of this node."""
        return PHASE, 0

    def complete(self) -> bool:
        """Tell whether the process has done its work."""
        return self.process is None or self.process.poll() == 0

    def causes(self) -> list[Cause]:
        """Return the reasons to end the run that this node sees now."""
        if self.process is None or self.process.poll() == 0:
            return []
        if self.process.returncode is not None:
            return [self._failed(self.process.returncode)]
        told = _read(node_file(self._dir, "status", PHASE, self._node.name))
        if told != self._told:
            self._told, self._changed = told, time.monotonic()
        limit = self._plan.deadlines["start"]
        if time.monotonic() - self._changed <= limit:
            return []
        return [self._cause(f"no progress for {limit} s in phase '{PHASE}' (setting deadline_start)")]

    def sharpen(self, cause: Cause) -> Cause:
        """Return the cause as it is: nobody else knows more of it."""
        return cause

    def _failed(self, code: int) -> Cause:
        if report := _read(node_file(self._dir, "errors", PHASE, self._node.name)):
            return cause_from({**json.loads(report), "host": self._node.name})
        if out_of_memory_kills() > self._kills:
            return self._cause("the kernel killed it, the node being out of memory")
        said = telling_line(_read(self._log))
        return self._cause(f"{ending(code)}: {said}" if code > 0 else ending(code))

    def _cause(self, message: str) -> Cause:
        pid = self.process.pid if self.process is not None else 0
        return Cause(host=self._node.name, message=message, phase=PHASE, pid=pid, time=time.time())

    @property
    def _log(self) -> Path:
        return self._dir / "logs" / f"{PHASE}-{self._node.name}.log"


def _become() -> None:
    die_with_parent()
    os.nice(NICENESS)


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
