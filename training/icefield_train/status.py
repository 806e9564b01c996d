"""Where a rank is: a small file that is replaced at each change of phase and at each step."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

# A user's script has one phase of its own, "run": what it does in it, it tells nobody.
PHASES = ("start", "tokenise", "run", "rendezvous", "load", "step", "evaluate", "save", "done")


class Status:
    """Phase and step of this rank, kept in ``status/rank-<r>.json``."""

    def __init__(self, run_dir: Path, *, rank: int, host: str) -> None:
        self.rank, self.host = rank, host
        self.phase, self.step, self.steps = PHASES[0], 0, 0
        self.program = os.getpid()
        self._path = run_dir / "status" / f"rank-{rank}.json"
        self.touch()

    def enter(self, phase: str) -> None:
        """Begin a phase."""
        assert phase in PHASES, phase
        self.phase = phase
        self.touch()

    def advance(self, step: int, steps: int) -> None:
        """Tell which step of how many has been done."""
        self.step, self.steps = step, steps
        self.touch()

    def touch(self) -> None:
        """Write the file; a new time in it shows that the rank goes on."""
        write_json(
            self._path,
            {
                "rank": self.rank,
                "host": self.host,
                "pid": os.getpid(),
                # The process that does the work: this one, or the one that it watches.
                "program": self.program,
                "phase": self.phase,
                "step": self.step,
                "steps": self.steps,
                "time": time.time(),
            },
        )


def node_file(run_dir: Path, folder: str, phase: str, host: str) -> Path:
    """Return the file of what a whole node does or did wrong, its ranks not having started."""
    return run_dir / folder / f"{phase}-{host}.json"


def write_json(path: Path, data: Any) -> None:
    """Write a JSON file so that readers see the old one or the new one, whole."""
    write_text(path, json.dumps(data, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file so that readers see the old one or the new one, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_text(text, encoding="utf-8")
    aside.replace(path)
