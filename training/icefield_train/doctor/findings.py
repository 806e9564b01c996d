"""What is found out about data: notes, warnings, and the one line that refuses a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from icefield_train.showing import escaped

# So many places are named one by one, the others are counted.
SHOWN = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One line about the data."""

    level: str
    """"note": good to know; "warning": rows or cells are not what they seem, or are left out."""
    text: str


class Findings:
    """The lines about the data, in the order in which they were found."""

    def __init__(self) -> None:
        self.lines: list[Finding] = []

    def note(self, text: str) -> None:
        """Add what is good to know."""
        self.lines.append(Finding(level="note", text=escaped(text)))

    def warn(self, text: str) -> None:
        """Add what the user should look at."""
        self.lines.append(Finding(level="warning", text=escaped(text)))

    def warn_each(self, source: str, unit: str, faults: Sequence[tuple[int, str]], rest: str) -> None:
        """Add a line for each place and what it has; from the 21st on they are counted, with ``rest`` as their name."""
        for place, text in faults[:SHOWN]:
            self.warn(f"{source} {unit} {place}: {text}")
        if len(faults) > SHOWN:
            self.warn(f"{source}: {len(faults) - SHOWN} more {rest}, {len(faults)} in all")

    def texts(self, level: str) -> list[str]:
        """Return the lines of a level."""
        return [line.text for line in self.lines if line.level == level]


class Faults:
    """Rows that can't be read. All are looked for before the file is refused, so that it is mended once."""

    def __init__(self, path: Path | str, unit: str = "line") -> None:
        self._path, self._unit = path, unit
        self._places: list[int] = []
        self._first = ""

    def add(self, place: int, text: str) -> None:
        """Add a place and what is wrong there."""
        self._first = self._first or text
        self._places.append(place)

    def refuse(self, advice: str = "") -> None:
        """Return where there are none.

        Raises:
            ValueError: there are; one line has the first of them, where the others are, and the advice.
        """
        if not self._places:
            return
        first, *others = self._places
        more = f" (and {listed(self._unit, others)})" if others else ""
        raise ValueError(f"{self._path} {self._unit} {first}: {self._first}{more}" + (f"; {advice}" if advice else ""))


def listed(unit: str, places: Sequence[int]) -> str:
    """Return places as words: the first of them, and the number of the others."""
    shown = ", ".join(str(place) for place in places[:SHOWN])
    more = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
    return f"{unit} {shown}" if len(places) == 1 else f"{unit}s {shown}{more}"


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
