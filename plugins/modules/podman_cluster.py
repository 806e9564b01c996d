#!/usr/bin/python
"""Ansible module: the containers and addresses of a cluster on this machine."""

from __future__ import annotations

DOCUMENTATION = r"""
module: podman_cluster
short_description: Find a cluster's containers, and tell which nodes at which addresses it should have
description:
  - Reads labels and networks of podman; changes nothing.
  - Probes which OCI runtime works with this machine's control groups, and which ulimits this process may set.
options:
  cluster:
    description: Name of the cluster.
    type: str
    required: true
  root:
    description: >-
      The checkout that works with the cluster. Containers made by another checkout that still exists are not touched:
      their keys are there.
    type: str
    default: ""
  count:
    description: Wanted number of nodes.
    type: int
    default: 0
  subnet:
    description: Wanted subnet; empty = the one the network has, else a free one.
    type: str
    default: ""
author: Icefield
"""

RETURN = r"""
subnet:
  description: Subnet of the cluster's network.
  returned: always
  type: str
builder:
  description: Name, address and number (0) of the container in which the image is made.
  returned: always
  type: dict
nodes:
  description: Name, number and address of each wanted node, the head first.
  returned: always
  type: list
surplus:
  description: Names of containers above the wanted number.
  returned: always
  type: list
containers:
  description: Names of all containers of the cluster, running or not.
  returned: always
  type: list
cmd_args:
  description: Global options for every call of podman that makes a container.
  returned: always
  type: list
ulimits:
  description: Values for C(--ulimit).
  returned: always
  type: list
"""

import json
import os
import resource
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

try:
    from ansible.module_utils import local_net, podman
except ImportError:
    from plugins.module_utils import local_net, podman


def podman_json(module: AnsibleModule, *args: str) -> list[dict[str, Any]]:
    """Return what a podman command printed as JSON."""
    code, out, err = module.run_command([module.get_bin_path("podman", True), *args])
    if code != 0:
        module.fail_json(msg=f"podman {' '.join(args)}: {err.strip()}")
    return list(json.loads(out or "[]") or [])


def foreign_root(containers: list[dict[str, Any]], root: str) -> str:
    """Return the other checkout that made one of these containers and still exists, or ''."""
    roots = {(container.get("Labels") or {}).get("icefield.root", "") for container in containers}
    return next((other for other in sorted(roots) if other and root and other != root and Path(other).is_dir()), "")


def engine(module: AnsibleModule) -> dict[str, list[str]]:
    """Probe podman on this machine."""
    path = module.get_bin_path("podman")
    if path is None:
        module.fail_json(msg="podman is not installed on this machine; run: make setup")
    if os.geteuid() != 0:
        module.fail_json(msg="clusters of containers need root on this machine; run as root, or list your own servers")
    code, out, err = module.run_command([path, "info", "--format", "json"])
    if code != 0:
        module.fail_json(msg=f"podman does not work on this machine: {err.strip().splitlines()[-1]}")
    try:
        cmd_args = podman.runtime_args(json.loads(out), module.get_bin_path("runc") is not None)
    except ValueError as error:
        module.fail_json(msg=str(error))
    may_raise = podman.has_capability(Path("/proc/self/status").read_text(), podman.CAP_SYS_RESOURCE)
    hard = {
        "nofile": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        "nproc": resource.getrlimit(resource.RLIMIT_NPROC)[1],
    }
    pid_max = int(Path("/proc/sys/kernel/pid_max").read_text())
    return {"cmd_args": cmd_args, "ulimits": podman.ulimit_args(may_raise, hard, pid_max)}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "cluster": {"type": "str", "required": True},
            "root": {"type": "str", "default": ""},
            "count": {"type": "int", "default": 0},
            "subnet": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    cluster, count = module.params["cluster"], module.params["count"]
    options = engine(module)
    found = podman_json(module, "ps", "--all", "--filter", f"label=icefield.cluster={cluster}", "--format", "json")
    other = foreign_root(found, module.params["root"])
    if other:
        module.fail_json(
            msg=f"setting 'cluster_name': the cluster '{cluster}' was made from {other}; "
            "work with it there, or choose another name (-e cluster_name=NAME)"
        )
    names = podman_json(module, "network", "ls", "--format", "json")
    networks = podman_json(module, "network", "inspect", *[net["name"] for net in names])
    try:
        subnet = local_net.cluster_subnet(f"{cluster}-net", networks, module.params["subnet"])
        nodes = [
            {"name": f"{cluster}-{number}", "number": number, "address": local_net.node_address(subnet, number)}
            for number in range(1, count + 1)
        ]
        builder = {"name": f"{cluster}-builder", "number": 0, "address": local_net.node_address(subnet, 0)}
    except ValueError as error:
        module.fail_json(msg=str(error))
    containers = sorted(container["Names"][0] for container in found)
    wanted = {node["name"] for node in nodes} | {builder["name"]}
    module.exit_json(
        changed=False,
        subnet=subnet,
        nodes=nodes,
        builder=builder,
        containers=containers,
        surplus=[name for name in containers if name not in wanted],
        **options,
    )


if __name__ == "__main__":
    main()
