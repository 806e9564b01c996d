"""Ansible callback: the last lines of the output are the ones that matter: the result, or why there is none."""

from __future__ import annotations

import atexit
import os
from typing import Any

from ansible.plugins.callback import CallbackBase

from plugins.module_utils import aws_errors, commands

DOCUMENTATION = r"""
name: run_summary
type: notification
short_description: Print results, failures and how to attach again last
description: >-
  Prints what tasks hand over as C(icefield_summary) and, when a task failed, its message, below everything else. When
  the playbook is interrupted while it follows a run, says that the run goes on, and how to follow or stop it.
"""


class CallbackModule(CallbackBase):
    """Collects what is to be said at the end, and says it."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "run_summary"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[str] = []
        self._faults: list[str] = []
        self._following = ""
        # A probe of autotune.yml, in place of a run: it ends without anybody's doing.
        self._probe = ""
        self._commands: dict[str, Any] = {}
        # Workers are forks of this process and must stay silent at their end.
        self._pid = os.getpid()
        atexit.register(self._interrupted)

    def v2_runner_on_ok(self, result: Any) -> None:
        """Remember lines to show, and the run that is being followed."""
        data = _data(result)
        self._lines += data.get("icefield_summary", [])
        facts = data.get("ansible_facts", {})
        self._following = facts.get("__follow_name", self._following)
        self._probe = facts.get("__probe_name", self._probe)
        self._commands = facts.get("__follow_commands", self._commands)
        if "icefield_ended" in data:
            self._following = self._probe = ""

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Remember why a task failed."""
        if not ignore_errors:
            data = _data(result)
            self._lines += data.get("icefield_summary", [])
            for line in _faults(data):
                self._remember(line)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Remember a node that does not answer."""
        if not getattr(result, "task", None) or not result.task.ignore_unreachable:
            text = str(_data(result).get("msg", "")).splitlines()
            self._remember(f"{result.host.get_name()} is out of reach: {(text or ['no reason given'])[-1]}")

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Print it all."""
        self._following = self._probe = ""
        if self._lines:
            self._display.display("")
        for line in self._lines:
            self._display.display(line)
        for line in self._faults:
            self._display.display(f"icefield: {line}", color="red")

    def _remember(self, line: str) -> None:
        if line and line not in self._faults:
            self._faults.append(line)

    def _command(self, playbook: str, setting: str) -> str:
        return commands.playbook(playbook, setting, **self._commands)

    def _interrupted(self) -> None:
        if self._probe and os.getpid() == self._pid:
            self._display.display("")
            self._display.display(
                f"the probe '{self._probe}' ends by itself, within its budget, and leaves nothing behind\n"
                f"end it now: {self._command('status', f'stop={self._probe}')}"
            )
        if self._following and os.getpid() == self._pid:
            self._display.display("")
            self._display.display(
                f"the run '{self._following}' goes on without you\n"
                f"follow it: {self._command('train', f'attach={self._following}')}\n"
                f"stop it:   {self._command('status', f'stop={self._following}')}"
            )


def _data(result: Any) -> dict[str, Any]:
    """Return a task's result; its place differs between versions of Ansible."""
    data = getattr(result, "result", None)
    return data if isinstance(data, dict) else dict(result._result)


def _faults(data: dict[str, Any]) -> list[str]:
    """Return the lines that say why a task failed; nearly always it is one."""
    if "results" in data:
        failed = [item for item in data["results"] if isinstance(item, dict) and item.get("failed")]
        return _faults(failed[0]) if failed else []
    text = str(data.get("msg", ""))
    # The modules of amazon.aws hand on what AWS said, which is long and names no way out.
    if refused := aws_errors.refused(text):
        return [refused]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # Modules that run a program often say only that it failed; what it said itself is the reason.
    said = [line.strip() for line in str(data.get("stderr", "")).splitlines() if line.strip()]
    if len(lines) == 1 and said and said[-1] not in lines[0]:
        return [f"{lines[0]} ({said[-1]})"]
    return lines
