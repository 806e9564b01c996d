"""The events of a run: one JSON object per line, written by rank 0."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, TextIO


class Events:
    """Appends to ``events.jsonl``; on all ranks but the first it does nothing."""

    def __init__(self, run_dir: Path, *, enabled: bool) -> None:
        self._file: TextIO | None = None
        if enabled:
            run_dir.mkdir(parents=True, exist_ok=True)
            self._file = (run_dir / "events.jsonl").open("a", encoding="utf-8")

    def write(self, event: str, **fields: Any) -> None:
        """Write an event with the time; it is on disk's way when this returns."""
        if self._file is not None:
            self._file.write(json.dumps({"event": event, "time": time.time(), **fields}) + "\n")
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def read_events(path: Path) -> list[dict[str, Any]]:
    """Return the events of a file; a last line that is cut off, as a killed run leaves it, is left out."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError:
        return []
    events = []
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            events.append(event)
    return events
