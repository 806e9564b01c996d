"""Which nodes have fallen silent: a run of a user's script is stuck when all have, and not before."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from icefield_train.cause import Cause, cause_data, cause_from, first_cause
from icefield_train.control import Message

# Ranks whose last words are told; the logs of all are collected.
_MOST_WORDS = 4


class Silences:
    """What the head knows of the silence of the nodes, its own included."""

    def __init__(self) -> None:
        self._causes: dict[str, Cause] = {}
        self._words: dict[str, Sequence[str]] = {}

    def note(self, node: str, cause: Cause | None, words: Sequence[str]) -> None:
        """Take note that a node is silent, why that would end the run, and what its ranks printed last.

        The cause is None where it is not silent.
        """
        if cause is None:
            self._causes.pop(node, None)
        else:
            self._causes[node], self._words[node] = cause, words

    def hear(self, node: str, message: Message) -> None:
        """Take note of what a node's message says; messages of other kinds say nothing about it."""
        if message["kind"] == "silent":
            self.note(node, cause_from(message["cause"]) if message["cause"] else None, message["words"])

    def causes(self, waiting: Collection[str]) -> list[Cause]:
        """Return why the run ends where all nodes that are waited for are silent, else nothing."""
        if not waiting or not set(waiting) <= set(self._causes):
            return []
        first = first_cause(self._causes[node] for node in waiting)
        words = sorted(word for node in waiting for word in self._words[node])[:_MOST_WORDS]
        return [replace(first, message=f"{first.message}; last words: {'; '.join(words)}")]


def message_of(cause: Cause | None, words: Sequence[str]) -> Message:
    """Return the message by which a node tells the head that it has fallen silent, or no longer is."""
    return {"kind": "silent", "cause": cause_data(cause) if cause else None, "words": list(words)}
