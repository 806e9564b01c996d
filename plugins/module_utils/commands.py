"""The commands that messages tell the user to run, complete for the cluster at hand."""

from __future__ import annotations

DEFAULT_CLUSTER = "icefield"
INVENTORIES = {"onprem": "inventory/onprem.yml", "aws": "inventory/aws_ec2.yml"}


def playbook(name: str, *settings: str, backend: str = "local", cluster: str = DEFAULT_CLUSTER) -> str:
    """Return the command that runs a playbook, e.g. ``ansible-playbook train.yml -e nodes=2``.

    Args:
        name: of the playbook, without its ending.
        settings: ``NAME=VALUE``.
        backend: tells the inventory; the local one needs none.
        cluster: name of the cluster, told where it is not the default.
    """
    inventory = f"-i {INVENTORIES[backend]} " if backend in INVENTORIES else ""
    extra = [*settings, *([f"cluster_name={cluster}"] if cluster != DEFAULT_CLUSTER else [])]
    return " ".join([f"ansible-playbook {inventory}{name}.yml", *(f"-e {setting}" for setting in extra)])
