"""The ``tokenise`` command: what a node does before its ranks start."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from icefield_train.arguments import Parser
from icefield_train.config import load_config
from icefield_train.failures import describe
from icefield_train.preparation import PHASE
from icefield_train.showing import escaped
from icefield_train.status import node_file, write_json


def main(argv: Sequence[str]) -> int:
    """Tokenise a run's rows; a failure is written to ``errors/``, and its exit code is 1."""
    parser = Parser(prog="tokenise", description="Tokenise the rows of a run, unless that has been done.")
    parser.add_argument("--config", type=Path, required=True, help="config.json of the run")
    arguments = parser.parse_args(argv)
    try:
        config = load_config(arguments.config)
    except ValueError as error:
        print(escaped(str(error)), file=sys.stderr)
        return 2
    run_dir = Path(config.run_dir)
    host = os.environ.get("ICEFIELD_NODE") or socket.gethostname()
    begun = time.monotonic()

    def on_chunk(split: str, done: int) -> None:
        # A new time in it shows that the work goes on.
        write_json(
            node_file(run_dir, "status", PHASE, host),
            {"host": host, "phase": PHASE, "split": split, "rows": done, "time": time.time()},
        )

    try:
        # Imported here, where a failure is recorded.
        from icefield_train import token_files

        files = token_files.prepare(config, on_chunk)
    except Exception as error:
        write_json(node_file(run_dir, "errors", PHASE, host), describe(error, host=host, phase=PHASE))
        raise
    size = sum(path.stat().st_size for path in files.values())
    print(f"{', '.join(files)}: {size / 1e6:.1f} MB of tokens in {time.monotonic() - begun:.1f} s", flush=True)
    return 0
