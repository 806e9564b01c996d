"""Which nodes have fallen silent: a run of a user's script is stuck when all have, and not before."""

from __future__ import annotations

from collections.abc import Collection

from icefield_train.cause import Cause, cause_data, cause_from
from icefield_train.control import Message


class Silences:
    """What the head knows of the silence of the nodes, its own included."""

    def __init__(self) -> None:
        self._causes: dict[str, Cause] = {}

    def note(self, node: str, cause: Cause | None) -> None:
        """Take note that a node is silent, and why that would end the run; None where it is not."""
        if cause is None:
            self._causes.pop(node, None)
        else:
            self._causes[node] = cause

    def hear(self, node: str, message: Message) -> None:
        """Take note of what a node's message says; messages of other kinds say nothing about it."""
        if message["kind"] == "silent":
            self.note(node, cause_from(message["cause"]) if message["cause"] else None)

    def causes(self, waiting: Collection[str]) -> list[Cause]:
        """Return each node's cause where all that are waited for are silent, else nothing."""
        return [self._causes[node] for node in waiting] if waiting and set(waiting) <= set(self._causes) else []


def message_of(cause: Cause | None) -> Message:
    """Return the message by which a node tells the head that it has fallen silent, or no longer is."""
    return {"kind": "silent", "cause": cause_data(cause) if cause else None}
