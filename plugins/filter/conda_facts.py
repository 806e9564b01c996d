"""Ansible filter: what a conda lock tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from plugins.module_utils import conda_lock


def conda_facts(text: str) -> dict[str, str]:
    """Return a lock's text as ``lock``, and as ``python`` the Python that it brings; "" where none is solved yet."""
    if not text:
        return {"lock": "", "python": ""}
    try:
        return {"lock": text, "python": conda_lock.python_of(conda_lock.parse(text))}
    except ValueError as error:
        raise AnsibleFilterError(f"cannot read the lock of the conda environment: {error}") from error


class FilterModule:
    """Filters on conda locks."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"conda_facts": conda_facts}
