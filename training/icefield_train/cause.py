"""Why a run ended before its end: one line that names host, rank, phase and the first error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """One reason to end a run, as one node sees it."""

    host: str
    """Node where it happened."""
    message: str
    """What happened, in one line."""
    rank: int | None = None
    """Rank that failed; None where no single one did."""
    phase: str = ""
    """Phase of that rank."""
    step: int = 0
    """Step of that rank; 0 before the first."""
    pid: int = 0
    """Process id of that rank on its node; 0 where it is not known."""
    peer: bool = False
    """True where the error only tells that another rank is gone."""
    time: float = 0.0
    """Seconds since 1970 when it happened, by the node's clock."""
    state: str = "failed"
    """State in which the run ends: failed or stopped."""

    def line(self) -> str:
        """Return the cause as the one line that users see."""
        where = self.host if self.rank is None else f"{self.host} rank {self.rank}"
        step = f" {self.step}" if self.phase == "step" and self.step else ""
        return f"{where}{f' ({self.phase}{step})' if self.phase else ''}: {self.message}"


def node_gone(host: str, rank: int, place: tuple[str, int], when: float) -> Cause:
    """Return the cause that a node is gone; ``place`` is phase and step of the node that misses it."""
    phase, step = place
    message = "the node is gone: its supervisor does not answer any more"
    return Cause(host=host, rank=rank, message=message, phase=phase, step=step, time=when)


def cause_from(data: Mapping[str, Any]) -> Cause:
    """Make a cause of its JSON form; keys that it does not know are left out."""
    names = {field.name for field in fields(Cause)}
    return Cause(**{key: value for key, value in data.items() if key in names})


def cause_data(cause: Cause) -> dict[str, Any]:
    """Return the JSON form."""
    return asdict(cause)


def first_cause(causes: Iterable[Cause]) -> Cause:
    """Return the cause to name: the earliest that is not the noise of a peer's end, else the earliest.

    Raises:
        ValueError: there is none.
    """
    ordered = sorted(causes, key=lambda cause: (cause.peer, cause.time))
    if not ordered:
        raise ValueError("no cause to choose from")
    return ordered[0]
