"""What a rank waited for when its node's supervisor asked it to end.

Gloo tells those that wait when another rank's connection breaks; with oneCCL they wait on. So they say what they
waited in when they are ended, and the report has it.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from icefield_train.journal import Journal
from icefield_train.status import write_json


def path_of(run_dir: Path, rank: int) -> Path:
    """Return the file of a rank's last words."""
    return run_dir / "status" / f"waiting-{rank}.json"


def on_request_to_end(waiting_for: Callable[[], str], journal: Journal) -> None:
    """On SIGTERM, write what this rank waits in, if in anything, and end the process; the main thread calls this.

    Args:
        waiting_for: tells the operation, or "".
        journal: of this rank.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    # The main thread may be in a call that does not return: Python would not run a handler, but it does write here.
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    threading.Thread(target=_serve, args=(reading, waiting_for, journal), name="last words", daemon=True).start()


def _serve(reading: int, waiting_for: Callable[[], str], journal: Journal) -> None:
    while signal.SIGTERM not in os.read(reading, 64):
        pass
    try:
        operation = waiting_for()
        if operation:
            words = f"waited for others in {operation} when it was ended"
            write_json(path_of(journal.run_dir, journal.rank), _facts(journal, words))
            journal.log(words)
    finally:
        os._exit(128 + signal.SIGTERM)


def _facts(journal: Journal, words: str) -> dict[str, Any]:
    status = journal.status
    return {
        "rank": journal.rank,
        "host": status.host,
        "phase": status.phase,
        "step": status.step,
        "message": words,
        "time": time.time(),
    }
