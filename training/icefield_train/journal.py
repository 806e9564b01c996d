"""What a rank tells the world: its log, its status, the run's events, and the error that ended it."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from icefield_train import failures
from icefield_train.events import Events
from icefield_train.status import Status

# A step's line is left out where the last one is less than so many seconds old; events.jsonl has all steps.
_LOG_SECONDS = 1.0


class Journal:
    """Log, status and events of one rank, in the run's folder."""

    def __init__(self, run_dir: Path, *, rank: int, host: str) -> None:
        self.run_dir, self.rank = run_dir, rank
        _write_output_to(run_dir / "logs" / f"rank-{rank}.log")
        self.status = Status(run_dir, rank=rank, host=host)
        self._events = Events(run_dir, enabled=rank == 0)
        self._logged = 0.0
        self.enter("start")

    def enter(self, phase: str) -> None:
        """Begin a phase."""
        self.status.enter(phase)
        self.event("phase", phase=phase)
        self.log(f"phase {phase}")

    def event(self, event: str, **fields: Any) -> None:
        """Write an event; only rank 0's are kept."""
        self._events.write(event, **fields)

    def step(self, step: Mapping[str, Any]) -> None:
        """Tell of an optimizer step: the fields of ``loop.Step`` and ``steps``."""
        self.status.advance(step["step"], step["steps"])
        self.event("step", **step)
        now = time.monotonic()
        if now - self._logged >= _LOG_SECONDS or step["step"] == step["steps"]:
            self._logged = now
            self.log(
                f"step {step['step']}/{step['steps']} epoch {step['epoch']} loss {step['loss']:.4f} "
                f"lr {step['learning_rate']:.2e} {step['samples_per_second']:.1f} samples/s "
                f"eta {step['eta_seconds']:.0f} s"
            )

    def log(self, message: str) -> None:
        """Write a line into this rank's log."""
        print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} rank {self.rank} {message}", flush=True)

    def failed(self, error: BaseException) -> None:
        """Record the error that ends this rank."""
        failures.record(self.run_dir, self.status, error)
        traceback.print_exception(error)
        self.log(f"failed in phase {self.status.phase}: {failures.one_line(error)}")
        sys.stderr.flush()

    def close(self) -> None:
        """Tell that all is done."""
        self.enter("done")
        self._events.close()


def _write_output_to(path: Path) -> None:
    """Send standard output and error to a file: of this process, of libraries in C and of child processes as well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)
