#!/usr/bin/python
"""Ansible module: CPU, memory and bandwidth limits of running containers."""

from __future__ import annotations

DOCUMENTATION = r"""
module: podman_limits
short_description: Limit running containers without restarting them
description:
  - Sets CPU quota and memory limit by C(podman update), and a rate limit by a tbf queue on the container's interface.
  - Limits belong to the running container, not to its definition, so a change never recreates a node.
options:
  containers:
    description: Names of the containers.
    type: list
    elements: str
    required: true
  cpus:
    description: CPUs of each; 0 = this machine's CPUs divided by the number of containers.
    type: float
    default: 0
  memory:
    description: Memory of each, such as 4g; empty = nine tenths of this machine's divided by their number.
    type: str
    default: ""
  bandwidth:
    description: Rate at which each may send, such as 1gbit; empty = no limit.
    type: str
    default: ""
  interface:
    description: The interface inside the containers.
    type: str
    default: eth0
author: Icefield
"""

RETURN = r"""
limits:
  description: What each container has now.
  returned: always
  type: dict
"""

import json
import os
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

try:
    from ansible.module_utils import podman
except ImportError:
    from plugins.module_utils import podman

CGROUPS = Path("/sys/fs/cgroup")
MEMORY_SHARE = 0.9


def run(module: AnsibleModule, command: list[str]) -> str:
    """Run a command that must succeed and return what it printed."""
    code, out, err = module.run_command(command)
    if code != 0:
        module.fail_json(msg=f"{' '.join(command)}: {err.strip() or out.strip()}")
    return str(out)


def set_groups(module: AnsibleModule, container: dict[str, Any], cpus: float, memory: int) -> bool:
    """Bring quota and memory limit to the wanted values; tell whether anything changed."""
    now = podman.read_limits(container["State"]["CgroupPath"], CGROUPS)
    if abs(now[0] - cpus) < 0.005 and abs(now[1] - memory) < 1 << 20:
        return False
    if not module.check_mode:
        # Swap equal to memory: a node that swaps is slower than one that fails.
        limits = ["--cpus", f"{cpus:.2f}", "--memory", str(memory), "--memory-swap", str(memory)]
        code, _, _ = module.run_command([*module.params["podman"], "update", *limits, container["Name"]])
        if code != 0:  # a kernel without swap accounting knows no memory-swap
            run(module, [*module.params["podman"], "update", *limits[:4], container["Name"]])
    return True


def set_bandwidth(module: AnsibleModule, container: dict[str, Any], rate: float) -> bool:
    """Bring the interface's rate limit (bytes/s, 0 = none) to the wanted value; tell whether anything changed."""
    inside = ["nsenter", "-t", str(container["State"]["Pid"]), "-n", module.get_bin_path("tc", True, ["/usr/sbin"])]
    device = ["dev", module.params["interface"]]
    now = podman.tbf_rate(run(module, [*inside, "-j", "qdisc", "show", *device]))
    if abs(now - rate) <= rate * 0.001:
        return False
    if not module.check_mode:
        if rate == 0:
            run(module, [*inside, "qdisc", "del", *device, "root"])
        else:
            # 5 ms of traffic may leave at once: less starves fast links of a tick, more lets short bursts pass.
            burst = max(64 << 10, int(rate / 200))
            tbf = ["tbf", "rate", f"{int(rate * 8)}bit", "burst", str(burst), "latency", "100ms"]
            run(module, [*inside, "qdisc", "replace", *device, "root", *tbf])
    return True


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "containers": {"type": "list", "elements": "str", "required": True},
            "cpus": {"type": "float", "default": 0},
            "memory": {"type": "str", "default": ""},
            "bandwidth": {"type": "str", "default": ""},
            "interface": {"type": "str", "default": "eth0"},
        },
        supports_check_mode=True,
    )
    module.params["podman"] = [module.get_bin_path("podman", True)]
    names = module.params["containers"]
    machine_memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        rate = podman.parse_rate(module.params["bandwidth"]) if module.params["bandwidth"] else 0.0
        memory = (
            podman.parse_size(module.params["memory"])
            if module.params["memory"]
            else int(machine_memory * MEMORY_SHARE / len(names))
        )
    except ValueError as error:
        module.fail_json(msg=str(error))
    cpus = round(module.params["cpus"] or len(os.sched_getaffinity(0)) / len(names), 2)
    code, out, err = module.run_command([*module.params["podman"], "inspect", "--type", "container", *names])
    if code != 0:
        # In check mode nodes that would be made are not there yet.
        if module.check_mode:
            module.exit_json(changed=True, limits={})
        module.fail_json(msg=err.strip())
    containers = json.loads(out)
    changed = [set_groups(module, container, cpus, memory) for container in containers]
    changed += [set_bandwidth(module, container, rate) for container in containers]
    limits = {"cpus": cpus, "memory_bytes": memory, "bytes_per_second": rate}
    module.exit_json(changed=any(changed), limits={container["Name"]: limits for container in containers})


if __name__ == "__main__":
    main()
