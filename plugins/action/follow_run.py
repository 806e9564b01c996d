"""Ansible action: follow a run that goes on by itself, showing live what its head reports."""

from __future__ import annotations

import json
import os
import shlex
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

from plugins.module_utils.run_progress import Progress, parse_events

# Seconds between two looks at a node. The head is looked at more often: its events are what is shown.
EVERY = {True: 1.0, False: 2.0}
# Seconds of failed looks after which a node counts as lost. Without the head there are no results, so it gets longer.
PATIENCE = {True: 12.0, False: 5.0}
# The same where another node has told that the run is over: what is not heard then is what has ended it.
SILENT_AT_THE_END = 4.0
_SEPARATOR = "\x1e"


class ActionModule(ActionBase):
    """Looks at a node's folder of the run until the run is over there, or the node is out of reach."""

    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return ``run``: the node's result of the run, or ``{"state": "lost"}``."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            argument_spec={
                "run_dir": {"type": "path", "required": True},
                "show": {"type": "bool", "default": False},
            }
        )
        name = (task_vars or {}).get("inventory_hostname", "")
        screen = Screen(self._display) if args["show"] else None
        result["icefield_ended"] = True
        result["run"] = {**self._follow(args["run_dir"], screen, str(name)), "host": name}
        return result

    def _follow(self, run_dir: str, screen: Screen | None, name: str) -> dict[str, Any]:
        offset, idle, answered = 0, 0, time.monotonic()
        over = Path(constants.DEFAULT_LOCAL_TMP) / f"icefield-over-{Path(run_dir).name}"
        look: Look | None = None
        while True:
            look = look or Look(self._look, run_dir, offset)
            look.join(EVERY[screen is not None])
            # A look at a node that is gone may itself take seconds, so the last good one counts.
            silent = time.monotonic() - answered
            if look.is_alive():
                if silent > SILENT_AT_THE_END and over.exists():
                    return _lost(name)
                continue
            answer, look = look.answer, None
            if answer is None:
                if silent > (SILENT_AT_THE_END if over.exists() else PATIENCE[screen is not None]):
                    return _lost(name)
            else:
                answered = time.monotonic()
                text, state, outcome = answer
                events, taken = parse_events(text)
                offset += taken
                if screen is not None:
                    screen.show(events)
                if outcome:
                    over.touch()
                    found: dict[str, Any] = json.loads(outcome)
                    if screen is not None:
                        screen.close(found.get("line", ""))
                    return found
                # Looked at once more: the result is written just before the lock is given up.
                idle = idle + 1 if state == "idle" else 0
                if idle > 1:
                    line = f"{name}: the supervisor ended without a result (see logs/supervisor-{name}.log)"
                    return {"state": "failed", "line": line}
            time.sleep(EVERY[screen is not None])

    def _look(self, run_dir: str, offset: int) -> Answer | None:
        """Return new events, busy or idle, and the result; None where the node does not answer."""
        folder = shlex.quote(run_dir)
        command = (
            f"cd {folder} && tail -c +{offset + 1} events.jsonl 2>/dev/null; printf '{_SEPARATOR}'; "
            "flock -n ../.lock echo idle || echo busy; "
            f"printf '{_SEPARATOR}'; cat result.json 2>/dev/null; printf '{_SEPARATOR}'"
        )
        try:
            # Not as another user: for that Ansible asks for a terminal, which ends lines by two bytes.
            answer = self._low_level_execute_command(command, sudoable=False)
        except AnsibleConnectionFailure:
            return None
        parts = str(answer.get("stdout", "")).split(_SEPARATOR)
        # ssh ends with 255 when the connection breaks; a cut answer lacks its end.
        if len(parts) != 4:
            return None
        return parts[0], parts[1].strip(), parts[2].strip()


def _lost(name: str) -> dict[str, Any]:
    return {"state": "lost", "line": f"{name}: the controller cannot reach the node any more"}


Answer = tuple[str, str, str]


class Look(threading.Thread):
    """A look at a node, which may hang for as long as ssh takes to find out that the node is gone."""

    def __init__(self, look: Callable[[str, int], Answer | None], run_dir: str, offset: int) -> None:
        super().__init__(daemon=True)
        self._look, self._run_dir, self._offset = look, run_dir, offset
        self.answer: Answer | None = None
        self.start()

    def run(self) -> None:
        """Look; keep what came of it."""
        self.answer = self._look(self._run_dir, self._offset)


class Screen:
    """Writes lines that stay and, in a terminal, one that is written over."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._progress = Progress()
        self._begun = self._last = time.monotonic()
        self._key: tuple[str, int] | None = None
        self._width = 0
        self._terminal = is_terminal()

    def show(self, events: list[dict[str, Any]]) -> None:
        """Show what these events say, and the present state."""
        for line in self._progress.feed(events):
            self._write(line)
        elapsed = time.monotonic() - self._begun
        line = self._progress.now(elapsed)
        if self._terminal:
            self._display.display("\r" + line.ljust(self._width), newline=False)
            self._width = len(line)
        # A log file of hours shall not hold a line for every second.
        elif self._progress.key != self._key and time.monotonic() - self._last >= min(2.0 + elapsed / 60, 30.0):
            self._write(line)
            self._key, self._last = self._progress.key, time.monotonic()

    def close(self, line: str) -> None:
        """End the line that was written over; say at once why a run ended early, before the other nodes are asked."""
        if self._width:
            self._display.display("")
            self._width = 0
        if line:
            self._write(line)

    def _write(self, line: str) -> None:
        if self._terminal and self._width:
            self._display.display("\r" + " " * self._width + "\r", newline=False)
            self._width = 0
        self._display.display(line)


def is_terminal() -> bool:
    """Tell whether the playbook's output is a terminal; workers of Ansible are cut off from it, their parent is not."""
    try:
        output = os.open(f"/proc/{os.getppid()}/fd/1", os.O_WRONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.isatty(output)
    finally:
        os.close(output)
