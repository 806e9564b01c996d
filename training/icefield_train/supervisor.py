"""The supervisor of a run on one node: starts its launcher, watches its ranks, ends them when any rank anywhere fails.

    python -m icefield_train supervise --run-dir DIR

One runs on each node. Those of the workers keep a connection to the head's, which decides: it starts the run when all
have come, picks the first cause when one reports a failure or is not heard any more, and has all nodes end their
processes. A node that loses the head ends its own. The last thing that each does is to write ``result.json``.
"""

from __future__ import annotations

import argparse
import fcntl
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

from icefield_train.cause import Cause, cause_data
from icefield_train.failures import one_line
from icefield_train.follower import follow
from icefield_train.head import lead
from icefield_train.plan import load_plan
from icefield_train.station import Station
from icefield_train.status import write_json


def main(argv: list[str]) -> int:
    """Supervise one node's part of a run to its end."""
    parser = argparse.ArgumentParser(prog="icefield_train supervise")
    parser.add_argument("--run-dir", type=Path, required=True)
    run_dir: Path = parser.parse_args(argv).run_dir
    plan = load_plan(run_dir)
    node = plan.node((run_dir / "node").read_text().strip())
    token = (run_dir / "token").read_text().strip()
    if (run_dir / "result.json").exists():
        print(f"run '{plan.run_id}' is over; a finished run is not run again", file=sys.stderr)
        return 2
    # The lock ends with the process, by whatever cause.
    with (run_dir.parent / ".lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another run is going on on this node", file=sys.stderr)
            return 2
        (run_dir.parent / ".active").write_text(plan.run_id)
        signal.signal(signal.SIGTERM, _interrupt)
        station = Station(plan, node, token)
        result = write_result(run_dir, supervise(station))
        (run_dir.parent / ".active").unlink(missing_ok=True)
    if plan.probe is not None:
        leave_nothing(run_dir)
    return 0 if result["state"] == "done" else 1


def supervise(station: Station) -> Cause | None:
    """Take the node's side of the run; whatever happens, none of its processes outlives this call."""
    try:
        station.prepare()
        return lead(station) if station.node == station.plan.head else follow(station)
    except KeyboardInterrupt:
        station.end()
        message = "its supervisor was asked to end"
        return Cause(host=station.node.name, message=message, state="stopped", time=time.time())
    except Exception as error:
        # A fault of ours must not leave ranks behind. The traceback goes to the supervisor's log.
        traceback.print_exc()
        station.end()
        first = station.plan.ranks_of(station.node)[0]
        return Cause(
            host=station.node.name, rank=first, message=f"its supervisor failed: {one_line(error)}", time=time.time()
        )


def leave_nothing(run_dir: Path, patience: float = 60) -> None:
    """Wait until a probe's folder has been removed; do it after ``patience`` seconds, when nobody follows any more."""
    until = time.monotonic() + patience
    try:
        while run_dir.exists() and time.monotonic() < until:
            time.sleep(0.5)
    except KeyboardInterrupt:
        pass
    finally:
        shutil.rmtree(run_dir, ignore_errors=True)


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def write_result(run_dir: Path, cause: Cause | None) -> dict[str, Any]:
    """Write how the run ended, whole or not at all, and return it."""
    result: dict[str, Any] = {"state": "done", "line": ""}
    if cause is not None:
        result = {**cause_data(cause), "line": cause.line()}
    result["ended"] = time.time()
    write_json(run_dir / "result.json", result)
    return result
