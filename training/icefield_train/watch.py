"""What one node sees of its own ranks: progress, errors, processes that vanish, a launcher that ends."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from icefield_train.cause import Cause, cause_from
from icefield_train.output import last_line
from icefield_train.plan import Node, Plan
from icefield_train.processes import RUN_VARIABLE, out_of_memory_kills, run_processes, state

# How long a launcher may take to notice that a rank has ended, before its silence is taken for the whole story.
LAUNCHER_PATIENCE = 1.0
# Phases that have no deadline of their own share that of the start: files are read in them, and little more.
_DEADLINE_OF = {"tokenise": "start", "load": "start", "done": "save"}
_EXIT_CODES = (
    re.compile(r"exitcode\s*:\s*(-?\d+)"),
    re.compile(r"EXIT CODE\s*:\s*(\d+)"),
    re.compile(r"KILLED BY SIGNAL\s*:\s*(\d+)"),
)
# How mpiexec names the process that it saw end first.
_CULPRIT = re.compile(r"PID (?P<pid>\d+) RUNNING AT (?P<address>\S+)")


@dataclass
class _Progress:
    """What a rank last said of itself."""

    phase: str
    step: int
    pid: int
    program: int
    raw: str
    changed: float

    @property
    def suspended(self) -> bool:
        """Whether the process that does the work was stopped by a signal."""
        return bool(self.program) and state(self.program) == "T"


class Watch:
    """Watches the ranks of one node, and the launcher where one runs here."""

    def __init__(self, plan: Plan, node: Node) -> None:
        self._plan, self._node = plan, node
        self._dir = Path(plan.run_dir)
        self._kills = out_of_memory_kills()
        now = time.monotonic()
        self._progress = {rank: _Progress("start", 0, 0, 0, "", now) for rank in plan.ranks_of(node)}
        self._vanished: dict[int, float] = {}
        self._ended: float | None = None
        self.launcher: subprocess.Popen[bytes] | None = None

    def begin(self, launcher: subprocess.Popen[bytes] | None) -> None:
        """Count deadlines from now on; ``launcher`` is the process that starts the ranks, where it is started here."""
        self.launcher = launcher
        for progress in self._progress.values():
            progress.changed = time.monotonic()

    def place(self) -> tuple[str, int]:
        """Return phase and step of this node's first rank, as last read: all ranks go through them together."""
        progress = self._progress[min(self._progress)]
        return progress.phase, progress.step

    def pids(self) -> list[int]:
        """Return the ids of this node's ranks that have told theirs."""
        return [progress.pid for progress in self._progress.values() if progress.pid]

    def complete(self) -> bool:
        """Tell whether all ranks of this node have finished, and the launcher with them."""
        self._read()
        done = all(progress.phase == "done" for progress in self._progress.values())
        if self.launcher is not None:
            return done and self.launcher.poll() == 0
        return done and not run_processes(self._plan.run_id)

    def causes(self) -> list[Cause]:
        """Return the reasons to end the run that this node sees now."""
        self._read()
        reported = list(self._reported())
        if reported:
            return reported
        return [*self._gone(), *self._launcher_ended(), *self._late()]

    def _read(self) -> None:
        for rank, progress in self._progress.items():
            text = ""
            with contextlib.suppress(OSError):
                text = (self._dir / "status" / f"rank-{rank}.json").read_text()
            if text and text != progress.raw:
                status = json.loads(text)
                progress.raw, progress.changed = text, time.monotonic()
                progress.phase, progress.step, progress.pid = status["phase"], status["step"], status["pid"]
                progress.program = status.get("program", progress.pid)

    def _reported(self) -> Iterator[Cause]:
        for rank in self._progress:
            path = self._dir / "errors" / f"rank-{rank}.json"
            with contextlib.suppress(OSError, ValueError):
                yield cause_from({**json.loads(path.read_text()), "host": self._node.name})

    def _gone(self) -> Iterator[Cause]:
        """Ranks whose process is no more though they had not finished and left no report."""
        for rank, progress in self._progress.items():
            if not progress.pid or progress.phase == "done" or self._alive(progress.pid):
                continue
            since = self._vanished.setdefault(rank, time.monotonic())
            code = self._exit_code()
            if self.launcher is not None and code is None and time.monotonic() - since < LAUNCHER_PATIENCE:
                continue
            # mpirun ends all ranks when one fails: only its log, on the head, tells which was the first.
            noise = self._plan.launcher == "mpirun"
            yield self._cause(rank, self._ending(None if noise else code), peer=noise)

    def _alive(self, pid: int) -> bool:
        # The id alone may have been given to another process by now.
        if state(pid) in ("", "Z"):
            return False
        mark = f"{RUN_VARIABLE}={self._plan.run_id}".encode()
        with contextlib.suppress(OSError):
            return mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        return False

    def _ending(self, code: int | None) -> str:
        if out_of_memory_kills() > self._kills:
            return "the kernel killed it, the node being out of memory (lower global_batch_size or max_length)"
        return ending(code)

    def sharpen(self, cause: Cause) -> Cause:
        """Return the cause as what it is where this node's launcher says that it was that process which ended first."""
        culprit = _CULPRIT.search(self._log()) if self._plan.launcher == "mpirun" else None
        if culprit is None or not cause.pid or int(culprit["pid"]) != cause.pid:
            return cause
        if self._plan.node(cause.host).address != culprit["address"]:
            return cause
        return replace(cause, peer=False, message=ending(self._exit_code()))

    def _exit_code(self) -> int | None:
        """Return what the launcher's log says of the end of a rank: an exit code, a negative signal, or nothing."""
        text = self._log()
        for pattern in _EXIT_CODES:
            if match := pattern.search(text):
                code = int(match[1])
                # MPICH gives the signal's number as the exit code of a process that was killed.
                return -code if pattern is not _EXIT_CODES[0] and code in (6, 7, 9, 11, 15) else code
        return None

    def _launcher_ended(self) -> Iterator[Cause]:
        if self.launcher is None or self.launcher.poll() is None:
            return
        # A rank's own report, written at the same moment, says more than its launcher.
        self._ended = self._ended or time.monotonic()
        finished = all(progress.phase == "done" for progress in self._progress.values())
        if time.monotonic() - self._ended < LAUNCHER_PATIENCE or (finished and self.launcher.returncode == 0):
            return
        code = self.launcher.returncode
        said = telling_line(self._log())
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        rank = min(self._progress)
        yield Cause(
            host=self._node.name,
            message=f"{self._plan.launcher} {how}: {said}",
            phase=self._progress[rank].phase,
            step=self._progress[rank].step,
            time=time.time(),
            # A launcher that fails because another node's did says so a moment later than the first.
            peer=any(progress.pid for progress in self._progress.values()),
        )

    def _late(self) -> Iterator[Cause]:
        for rank, progress in self._progress.items():
            key = _DEADLINE_OF.get(progress.phase, progress.phase)
            limit = self._plan.deadlines.get(key)
            if limit is None or time.monotonic() - progress.changed <= limit:
                continue
            stopped = progress.suspended
            why = "its process is suspended (SIGSTOP)" if stopped else f"no progress for {limit} s"
            # A rank that waits for a suspended one is late too; it is not to blame.
            yield self._cause(rank, f"{why} in phase '{progress.phase}' (setting deadline_{key})", peer=not stopped)

    def silence(self) -> Cause | None:
        """Return why the run would end if all other nodes were as silent as this one; None where this one is not.

        A rank of a user's script may wait for hours for another one's work. Only when no rank anywhere prints or
        computes, the run is stuck. Which rank is to blame cannot be told unless one is suspended.
        """
        limit = self._plan.deadlines.get("silence")
        ranks = {rank: progress for rank, progress in self._progress.items() if progress.phase in ("run", "done")}
        if limit is None or len(ranks) < len(self._progress):
            return None
        # One that has finished is silent, but it is not what the others wait for.
        running = {rank: progress for rank, progress in ranks.items() if progress.phase == "run"}
        idle = {rank: time.monotonic() - progress.changed for rank, progress in (running or ranks).items()}
        if min(idle.values()) <= limit:
            return None
        suspended = [rank for rank, progress in running.items() if progress.suspended]
        first = suspended[0] if suspended else max(idle, key=lambda rank: idle[rank])
        why = "its process is suspended (SIGSTOP)" if suspended else "no rank has printed or computed anything"
        message = f"{why} for {limit} s (setting deadline_silence)"
        when = time.time() - (idle[first] if running else 0)
        return replace(self._cause(first, message, peer=not suspended), time=when)

    def last_words(self) -> list[str]:
        """Return what each rank of a user's script on this node printed last."""
        logs = {rank: self._dir / "logs" / f"rank-{rank}.log" for rank in self._progress}
        return [f"rank {rank}: {last_line(log)}" for rank, log in logs.items()]

    def _cause(self, rank: int, message: str, *, peer: bool = False) -> Cause:
        progress = self._progress[rank]
        return Cause(
            host=self._node.name,
            rank=rank,
            phase=progress.phase,
            step=progress.step,
            message=message,
            pid=progress.pid,
            time=time.time(),
            peer=peer,
        )

    def _log(self) -> str:
        with contextlib.suppress(OSError):
            return (self._dir / "logs" / f"launcher-{self._node.name}.log").read_text(errors="replace")
        return ""


def ending(code: int | None) -> str:
    """Return in words how a process ended, by its exit code or negative signal."""
    if code is None:
        return "the process was killed or ended without a report"
    return f"the process was killed by signal {-code}" if code < 0 else f"the process ended with exit code {code}"


def telling_line(log: str) -> str:
    """Return the line of a launcher's log that says best why it ended: an error, else what sounds like one."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    # torchrun closes with a summary of its own, which says no more than that a process failed.
    summary = next((index for index, line in enumerate(lines) if "ChildFailedError" in line), len(lines))
    own = lines[:summary] or lines
    for pattern in (r"[\w.]*(Error|Exception): ", r".*(No module named|started rank|refused|denied|[Ee]rror)"):
        if fitting := [line for line in own if re.match(pattern, line)]:
            return fitting[-1][:300]
    return (own or ["it printed nothing"])[-1][:300]
