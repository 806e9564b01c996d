"""The commands that messages tell the user to run, complete for the cluster at hand."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

DEFAULT_CLUSTER = "icefield"
# What ansible.cfg names: it needs no -i.
_DEFAULT_INVENTORY = ("inventory/local.yml", "inventory/local_groups.yml")


def playbook(name: str, *settings: str, cluster: str = DEFAULT_CLUSTER, inventory: Iterable[str] = ()) -> str:
    """Return the command that runs a playbook, e.g. ``ansible-playbook train.yml -e nodes=2``.

    Args:
        name: of the playbook, without its ending.
        settings: ``NAME=VALUE``.
        cluster: name of the cluster, told where it is not the default.
        inventory: what follows ``-i``, see ``shown_inventory``; nothing where the default is in use.
    """
    sources = [f"-i {shlex.quote(source)}" for source in inventory]
    extra = [*settings, *([f"cluster_name={cluster}"] if cluster != DEFAULT_CLUSTER else [])]
    return " ".join(["ansible-playbook", *sources, f"{name}.yml", *(f"-e {setting}" for setting in extra)])


def shown_inventory(sources: Sequence[str] | str | None, root: Path) -> list[str]:
    """Return inventory sources as the user would name them from the checkout; none where they are the default."""
    found = [sources] if isinstance(sources, str) else list(sources or [])
    shown = [str(Path(path).relative_to(root)) if Path(path).is_relative_to(root) else str(path) for path in found]
    return [] if tuple(shown) == _DEFAULT_INVENTORY else shown
