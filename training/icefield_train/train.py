"""The ``train`` command: one rank of a run."""

from __future__ import annotations

import importlib
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from icefield_train.arguments import Parser
from icefield_train.config import RECIPES, TrainConfig, load_config
from icefield_train.journal import Journal
from icefield_train.launch_env import LAUNCHED, Place, adopt
from icefield_train.processes import die_with_parent
from icefield_train.rules import refusal
from icefield_train.showing import escaped

# What a rank does: by the settings of the run, its place, its journal and the time when the ranks were launched.
Work = Callable[[TrainConfig, Place, Journal, float], None]


def main(argv: Sequence[str]) -> int:
    """Train, as one rank; see ``be_rank``."""
    parser = Parser(prog="train", description="Train, as one rank of a run.")
    parser.add_argument("--config", type=Path, required=True, help="config.json of the run")

    def work(config: TrainConfig, place: Place, journal: Journal, begun: float) -> None:
        # Imported here, where a failure is recorded and the log is in place: it brings torch, which takes seconds.
        importlib.import_module(RECIPES[config.recipe]).run(config, place, journal, begun)

    return be_rank(parser.parse_args(argv).config, work)


def be_rank(config_file: Path, work: Work) -> int:
    """Be one rank to the end of its process; a failure is written to ``errors/``, and the exit code is 1.

    Returns:
        2 where there is no place for this rank, or where the settings are not accepted.
    """
    begun = float(os.environ.get(LAUNCHED) or time.time())
    try:
        config = load_config(config_file)
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
        work(config, place, journal, begun)
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
