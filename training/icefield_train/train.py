"""The ``train`` command: one rank of a run."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from icefield_train.arguments import Parser
from icefield_train.config import load_config
from icefield_train.journal import Journal
from icefield_train.launch_env import adopt
from icefield_train.processes import die_with_parent
from icefield_train.rules import refusal
from icefield_train.showing import escaped


def main(argv: Sequence[str]) -> int:
    """Run this rank and end the process; a failure is written to ``errors/``, and its exit code is 1."""
    begun = time.time()
    parser = Parser(prog="train", description="Train, as one rank of a run.")
    parser.add_argument("--config", type=Path, required=True, help="config.json of the run")
    arguments = parser.parse_args(argv)
    try:
        config = load_config(arguments.config)
        if not config.run_dir:
            raise ValueError(refusal("run_dir", "", "the folder that the run writes into"))
        place = adopt()
    except ValueError as error:
        print(escaped(str(error)), file=sys.stderr)
        return 2
    if place.world_size > 1:
        die_with_parent()
    host = os.environ.get("ICEFIELD_NODE") or socket.gethostname()
    journal = Journal(Path(config.run_dir), rank=place.rank, host=host)
    try:
        # Imported here, where a failure is recorded and the log is in place: it brings torch, which takes seconds.
        from icefield_train.run import run

        run(config, place, journal, begun)
    except Exception as error:
        journal.failed(error)
        leave(1)
    journal.close()
    return leave(0)


def leave(code: int) -> NoReturn:
    """End this process at once.

    Not by way of the interpreter's end: after a failure that waits for threads which may wait for ranks that are gone,
    and after success torch's store on rank 0 was seen to abort there ("terminate called without an active exception"),
    which launchers take for a failure.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
