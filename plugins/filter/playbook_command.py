"""Ansible filters: commands in messages, complete for the cluster and the inventory in use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from plugins.module_utils import commands


def playbook_command(name: str, options: Mapping[str, Any], *settings: str) -> str:
    """Return the command that runs a playbook with these settings; ``options`` are ``cluster`` and ``inventory``."""
    return commands.playbook(name, *settings, **options)


def shown_inventory(sources: Sequence[str] | str | None, root: str) -> list[str]:
    """Return inventory sources as they are named behind ``-i``; none where they are the default."""
    return commands.shown_inventory(sources, Path(root))


class FilterModule:
    """Filters on commands."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"playbook_command": playbook_command, "shown_inventory": shown_inventory}
