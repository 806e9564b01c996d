"""The processes of a run on this node: found by their environment, ended without exception."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Collection
from pathlib import Path

RUN_VARIABLE = "ICEFIELD_RUN_ID"
_PR_SET_PDEATHSIG = 1
_PROC = Path("/proc")
# For what a rank writes down when it is asked to end.
_LAST_WORDS_SECONDS = 0.4


def die_with_parent() -> None:
    """Have the kernel kill this process when the one that started it ends, by whatever cause."""
    # None = this process's own symbols; there is no binding of prctl in the standard library.
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")


def run_processes(run_id: str) -> list[int]:
    """List the process ids whose environment names the run, this process excepted."""
    mark = f"{RUN_VARIABLE}={run_id}".encode()
    found = []
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid() and state(int(entry.name)) not in ("", "Z"):
            # Another user's process, or one that has just ended, is none of ours.
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


def state(pid: int) -> str:
    """Return the state letter of a process (R, S, D, T, Z ...), or "" where there is none of that id."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[0]


def session_seconds(session: int) -> float:
    """Return the CPU time of all processes of a session, in seconds, that of those which have ended included."""
    ticks = 0
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # Behind the name, which may hold anything: state, parent, group, session ... user and system time of
                # the process and of its children that have ended (proc_pid_stat(5)).
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session:
                    ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def end_run(run_id: str, patience: float = 0.5, first: Collection[int] = ()) -> list[int]:
    """End all processes of the run: a request first, after ``patience`` seconds by force; return those that remain.

    Those of ``first`` are asked before the others: they die with their parent, and have something to write down.
    """
    asked = set(first) & set(run_processes(run_id))
    for pid in asked:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + _LAST_WORDS_SECONDS
    while any(state(pid) not in ("", "Z") for pid in asked) and time.monotonic() < until:
        time.sleep(0.02)
    for sign, wait in ((signal.SIGTERM, patience), (signal.SIGKILL, 3.0)):
        # Signalled again in every round: a launcher may have started one more meanwhile.
        until = time.monotonic() + wait
        sent: set[int] = set()
        while left := run_processes(run_id):
            for pid in left:
                if pid not in sent or sign == signal.SIGKILL:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, sign)
                    sent.add(pid)
            if time.monotonic() > until:
                break
            time.sleep(0.05)
        if not left:
            return []
    return left


def out_of_memory_kills(root: Path = Path("/sys/fs/cgroup")) -> int:
    """Return how many processes of this container the kernel has killed for want of memory (0 where it isn't told)."""
    for name in ("memory.events", "memory/memory.oom_control"):
        try:
            lines = (root / name).read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0
