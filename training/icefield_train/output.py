"""What a program prints, read from its log while it grows: whole lines, and the bar that it writes over."""

from __future__ import annotations

import re
from pathlib import Path

# A look takes in so many bytes; of a program that prints more between two looks, the last ones.
MOST_BYTES = 1 << 16
MOST_LINES = 40
# Columns at which a line is cut.
WIDTH = 400
# Colours, movements of the cursor, titles of windows; then what is left of control characters, tabs excepted.
_ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\-_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain(text: str) -> str:
    """Return a line as text that does nothing to a terminal, cut at ``WIDTH`` columns."""
    shown = _CONTROLS.sub("", _ESCAPES.sub("", text)).rstrip()
    return shown if len(shown) <= WIDTH else shown[: WIDTH - 3] + "..."


def _last_written(line: bytes) -> str:
    """Return what a terminal shows of a line that was written over by carriage returns."""
    written = [part for part in line.split(b"\r") if part.strip()]
    return plain(written[-1].decode(errors="replace")) if written else ""


def last_line(log: Path) -> str:
    """Return the last line in a log that says something."""
    lines = [shown for line in tail(log).splitlines() if (shown := plain(line.rpartition("\r")[2]).strip())]
    return lines[-1] if lines else "it printed nothing"


def tail(log: Path) -> str:
    """Return the last ``MOST_BYTES`` of a log as text; "" where there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - MOST_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


class Output:
    """Follows a log that a program writes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._rest = b""
        self.grown = False
        """Whether the last look found something new."""
        self.bar = ""
        """What the program last wrote over its line, as progress bars do; "" where its line is whole."""

    def look(self) -> list[str]:
        """Return the lines that became whole since the last look."""
        with self._path.open("rb") as file:
            size = file.seek(0, 2)
            skipped = max(0, size - self._offset - MOST_BYTES)
            file.seek(self._offset + skipped)
            chunk = file.read(MOST_BYTES)
        self.grown = bool(chunk)
        self._offset += skipped + len(chunk)
        *whole, self._rest = (chunk if skipped else self._rest + chunk).split(b"\n")
        # A bar that is never ended by a new line must not be kept from its first state on.
        self._rest = self._rest[-MOST_BYTES:]
        self.bar = _last_written(self._rest) if b"\r" in self._rest else ""
        lines = [_last_written(line) for line in whole]
        if skipped or len(lines) > MOST_LINES:
            lines = [f"... more is in {self._path.name}", *lines[-MOST_LINES:]]
        return lines

    def finish(self) -> list[str]:
        """Return what is left when the program has ended, a last line without a new line included."""
        lines = self.look()
        while self.grown:
            lines += self.look()
        last = _last_written(self._rest)
        self._rest, self.bar = b"", ""
        return [*lines, last] if last else lines
