"""The head's side of supervision: starts the run when all nodes are ready, decides why and when it ends."""

from __future__ import annotations

import time

from icefield_train.cause import Cause, cause_data, cause_from, first_cause, node_gone
from icefield_train.control import SILENCE, Head
from icefield_train.plan import Plan
from icefield_train.silence import Silences
from icefield_train.station import TICK, Station

# How long to wait for a better explanation: a rank that lost its peer often reports before the one that failed.
GRACE = 1.5
# A cause that is no echo of another one is waited on only for reports that are on their way.
GRACE_CERTAIN = 0.3
# A node that has been quiet for so long may be the one that is gone: its silence is waited for in full.
QUIET = 2.0
# How long to wait for the others to say that they have ended their processes.
FAREWELL = 4.0


def lead(station: Station) -> Cause | None:
    """Lead the run to its end on all nodes; return why it ended early, or None."""
    head = Head(station.node.address, station.plan.control_port, station.token)
    try:
        cause = _gather(station, head) or _prepare(station, head) or _train(station, head)
        if cause is None:
            head.tell({"kind": "finish"})
        else:
            head.tell({"kind": "stop", "cause": cause_data(cause)})
        station.end()
        _farewell(station.plan, head)
        return cause
    finally:
        head.close()


def _others(plan: Plan) -> set[str]:
    return {node.name for node in plan.nodes} - {plan.head.name}


def _gather(station: Station, head: Head) -> Cause | None:
    """Wait for all nodes."""
    missing = _others(station.plan)
    while missing:
        head.receive(TICK)
        head.beat()
        missing = _others(station.plan) - set(head.lines)
        if cause := station.stop_asked():
            return cause
        if missing and time.monotonic() > station.start_by:
            seconds = station.plan.deadlines["start"]
            return Cause(
                host=min(missing),
                message=f"its supervisor did not reach the head within {seconds} s (setting deadline_start); "
                f"is port {station.plan.control_port} of {station.node.address} open between the nodes?",
                phase="start",
                time=time.time(),
            )
    return None


def _prepare(station: Station, head: Head) -> Cause | None:
    """Have each node do what comes before its ranks."""
    head.tell({"kind": "prepare"})
    station.start_preparing()
    return _watch(station, head, "ready")


def _train(station: Station, head: Head) -> Cause | None:
    """Start the ranks everywhere, and watch them to their end."""
    head.tell({"kind": "go"})
    station.start()
    return _watch(station, head, "done")


def _watch(station: Station, head: Head, wanted: str) -> Cause | None:
    """Watch until all nodes have completed the stage, which they say with ``wanted``, or there is a cause to stop."""
    stage = station.stage
    waiting = {node.name for node in station.plan.nodes}
    causes: list[Cause] = []
    silences = Silences()
    heard_first = 0.0
    while waiting:
        for name, message in head.receive(TICK):
            if message["kind"] == wanted:
                waiting.discard(name)
            elif message["kind"] == "failed":
                causes += [cause_from(data) for data in message["causes"]]
            silences.hear(name, message)
        head.beat()
        if station.node.name in waiting:
            if stage.complete():
                waiting.discard(station.node.name)
            else:
                causes += stage.causes()
                silence = station.watch.silence()
                silences.note(station.node.name, silence, station.watch.last_words() if silence else [])
        causes += silences.causes(waiting)
        causes += [_lost(station, name) for name in sorted(waiting) if _is_lost(head, name)]
        if asked := station.stop_asked():
            return asked
        causes = [stage.sharpen(cause) for cause in causes]
        if causes:
            heard_first = heard_first or time.monotonic()
            if _decided(causes, time.monotonic() - heard_first, head, waiting):
                return first_cause(causes)
    return None


def _is_lost(head: Head, name: str) -> bool:
    return name in head.lines and (head.lines[name].closed or head.lines[name].silent_for > SILENCE)


def _lost(station: Station, name: str) -> Cause:
    # Whoever reported first did so because of this, hence the time.
    return node_gone(name, station.plan.node(name).first_rank, station.stage.place(), when=0.0)


def _decided(causes: list[Cause], waited: float, head: Head, waiting: set[str]) -> bool:
    if not first_cause(causes).peer:
        return waited >= GRACE_CERTAIN
    quiet = any(head.lines[name].silent_for > QUIET for name in waiting if name in head.lines)
    return waited >= (SILENCE + GRACE if quiet else GRACE)


def _farewell(plan: Plan, head: Head) -> None:
    """Wait until the others have ended their processes, so that the head's result is the last of the run."""
    ended: set[str] = set()
    until = time.monotonic() + FAREWELL
    while time.monotonic() < until:
        ended |= {name for name, message in head.receive(TICK) if message["kind"] == "ended"}
        head.beat()
        gone = {name for name in head.lines if head.lines[name].closed}
        if ended | gone >= set(head.lines):
            return
