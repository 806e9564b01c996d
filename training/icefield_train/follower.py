"""A worker's side of supervision: reports to the head, obeys it, and ends its own processes where the head is gone."""

from __future__ import annotations

import select
import time

from icefield_train.cause import Cause, cause_data, cause_from, node_gone
from icefield_train.control import SILENCE, Line, join
from icefield_train.silence import message_of
from icefield_train.station import TICK, Station


def follow(station: Station) -> Cause | None:
    """Take part in the run until the head ends it; return why it ended early, or None."""
    plan = station.plan
    try:
        line = join(plan.head.address, plan.control_port, station.token, station.node.name, station.start_by)
    except TimeoutError as error:
        return Cause(host=plan.head.name, rank=0, message=str(error), phase="start", time=time.time())
    try:
        cause = _obey(station, line)
        station.end()
        line.send({"kind": "ended"})
        return cause
    finally:
        line.close()


def _obey(station: Station, line: Line) -> Cause | None:
    # What to say when the node has completed its stage; nothing before the first one and after each.
    word = ""
    reported: set[Cause] = set()
    silent = False
    while not line.closed and line.silent_for <= SILENCE:
        select.select([line.socket], [], [], TICK)
        for message in line.receive():
            if message["kind"] == "prepare":
                station.start_preparing()
                word = "ready"
            elif message["kind"] == "go":
                station.start()
                word = "done"
            elif message["kind"] == "stop":
                return cause_from(message["cause"])
            elif message["kind"] == "finish":
                return None
        line.beat()
        if not word:
            continue
        if station.stage.complete():
            line.send({"kind": word})
            word = ""
            continue
        silence = station.watch.silence()
        if silent != (silence is not None):
            silent = silence is not None
            line.send(message_of(silence, station.watch.last_words() if silence else []))
        # Times differ from look to look; what is told is the same.
        fresh = [c for c in station.stage.causes() if not any(c.line() == known.line() for known in reported)]
        if fresh:
            reported |= set(fresh)
            line.send({"kind": "failed", "causes": [cause_data(cause) for cause in fresh]})
    return node_gone(station.plan.head.name, 0, station.stage.place(), when=time.time())
