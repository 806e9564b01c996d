"""Faults that tests order: errors instead of an answer, and answers that never arrive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from tests.ec2_server.calls import Call


@dataclass(kw_only=True, slots=True)
class Fault:
    """One fault.

    ``error`` refuses the call before it has an effect; ``cut`` lets it have its effect and closes the connection.
    """

    action: str
    code: str = "InternalError"
    message: str = "ordered by a test"
    status: int = 400
    times: int = 1
    where: dict[str, str] = field(default_factory=dict)
    kind: Literal["error", "cut"] = "error"

    def __post_init__(self) -> None:
        if self.kind not in ("error", "cut"):
            raise ValueError(f"fault kind '{self.kind}' is neither 'error' nor 'cut'")

    def hits(self, call: Call, facts: Mapping[str, str]) -> bool:
        """Tell whether the fault is meant for this call."""
        known = {**facts, **call.params}
        return call.action == self.action and all(
            str(known.get(name)) == str(value) for name, value in self.where.items()
        )


class Faults:
    """The faults that are still to come."""

    def __init__(self) -> None:
        self._left: list[Fault] = []

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Order faults, behind those that are there."""
        self._left += [Fault(**row) for row in rows]

    def clear(self) -> None:
        """Forget all."""
        self._left.clear()

    def take(self, call: Call, facts: Mapping[str, str]) -> Fault | None:
        """Return the first fault for this call, and count it."""
        for fault in self._left:
            if fault.hits(call, facts):
                fault.times -= 1
                if fault.times <= 0:
                    self._left.remove(fault)
                return fault
        return None

    def as_json(self) -> list[dict[str, Any]]:
        """Return those left."""
        return [asdict(fault) for fault in self._left]
