"""What a watcher of a run sees: lines made of its events. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

Event = Mapping[str, Any]


def duration(seconds: float) -> str:
    """Return seconds as ``m:ss``, or ``h:mm:ss`` from an hour on."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def counted(number: Any, word: str) -> str:
    """Return a number of things, such as ``1 epoch`` and ``3 epochs``."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def metrics_text(metrics: Mapping[str, Any]) -> str:
    """Return the figures among metrics, such as ``accuracy 0.826  f1 0.877``."""
    return "  ".join(f"{name} {value:.4f}" for name, value in metrics.items() if isinstance(value, float))


def parse_events(text: str) -> tuple[list[dict[str, Any]], int]:
    """Return the events of whole lines, and how many bytes these take; a line that is still being written waits."""
    whole = text[: text.rfind("\n") + 1]
    events = []
    for line in whole.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and "event" in event:
            events.append(event)
    return events, len(whole.encode())


class Progress:
    """Turns events into lines that stay, and into one line of the present state that is written over."""

    def __init__(self) -> None:
        self._phase = "start"
        self._step: Event = {}
        self._bar = ""
        self._bars = 0

    def feed(self, events: Iterable[Event]) -> list[str]:
        """Take events in; return the lines that stay."""
        lines = []
        for event in events:
            kind = event["event"]
            if kind == "step":
                self._phase, self._step = "step", event
            elif kind == "phase":
                self._phase = str(event.get("phase", ""))
            elif kind == "bar":
                self._bar = str(event["text"])
                self._bars += bool(self._bar)
            elif line := _line_of(event):
                lines.append(line)
        return lines

    def now(self, elapsed: float) -> str:
        """Return the line of the present state, ``elapsed`` seconds after the watcher began."""
        step = self._step
        if self._bar:
            return self._bar
        if self._phase != "step" or not step:
            done = f" after step {step['step']}/{step['steps']}" if step else ""
            return f"{self._phase}{done}  ({duration(elapsed)})"
        return (
            f"step {step['step']}/{step['steps']}  epoch {step['epoch']}  loss {step['loss']:.4f}  "
            f"{step['samples_per_second']:.1f} samples/s  ETA {duration(step['eta_seconds'])}"
        )

    @property
    def key(self) -> tuple[str, int]:
        """What tells one state from the next."""
        return self._phase, int(self._step.get("step", 0)) + self._bars


def _line_of(event: Event) -> str:
    if event["event"] == "start":
        hosts = event.get("hosts", [])
        return (
            f"run {event['run_id']}: task {event['task']}, model {event['model']}, "
            f"{counted(event['world_size'], 'rank')} on "
            f"{', '.join(dict.fromkeys(hosts))}, {event['precision']}"
        )
    if event["event"] == "script":
        where = f"{counted(event['world_size'], 'rank')} on {', '.join(event['hosts'])}"
        return f"run {event['run_id']}: script {event['script']}, {where}, {event['launcher']}"
    if event["event"] == "output":
        return str(event["text"]) or " "
    if event["event"] == "plan":
        return (
            f"{event['steps']} steps of {event['global_batch_size']} rows in {counted(event['epochs'], 'epoch')}; "
            f"{event['train_rows']} training rows, {event['dev_rows']} dev rows"
        )
    if event["event"] == "measured":
        told = ", ".join(f"{name}={value}" for name, value in event["settings"].items()) or "defaults"
        return f"{told}: {event['rows'] / event['seconds']:.1f} samples/s"
    if event["event"] == "evaluate":
        split = event.get("split", "dev")
        where = "" if split == "dev" else f" on {split}"
        return f"after step {event['step']}{where}: {metrics_text(event['metrics'])}"
    return ""
