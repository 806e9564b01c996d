"""What the actions that run on the controller alone have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from ansible.plugins.action import ActionBase


class ControllerAction(ActionBase):
    """An action that touches no node: reads its arguments, calls ``act``, returns what that returns.

    A refusal is a ``ValueError`` of ``act``; its text is the message of the failed task.
    """

    TRANSFERS_FILES = False
    _requires_connection = False
    ARGUMENTS: ClassVar[dict[str, Any]]

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the result of the task."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(argument_spec=self.ARGUMENTS)
        try:
            return {**result, **self.act(args, task_vars or {})}
        except ValueError as error:
            return {**result, "failed": True, "msg": str(error)}

    @abstractmethod
    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Do it, by the checked arguments; return what the task returns."""
