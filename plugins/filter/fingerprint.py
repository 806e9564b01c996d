"""Ansible filter: the fingerprint of files and facts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from plugins.module_utils import fingerprint as impl


def fingerprint(paths: Sequence[str], facts: Sequence[Any] = (), root: str = "") -> str:
    """Return 12 hex digits over the files below ``paths`` and the ``facts``; see module_utils/fingerprint."""
    try:
        return str(impl.fingerprint(paths, [str(fact) for fact in facts], root))
    except OSError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Filters on file contents."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"fingerprint": fingerprint}
