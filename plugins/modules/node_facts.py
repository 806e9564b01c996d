#!/usr/bin/python
"""Ansible module: what a training run needs to know about a node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_facts
short_description: Report a node's usable CPUs, memory, instruction sets, allocator and interface to its peers
description:
  - Reads C(sched_getaffinity), the control groups, C(ldconfig -p) and the route to the peers. Changes nothing.
options:
  nproc_per_node:
    description: Processes per node, by which the threads are divided.
    type: int
    default: 1
  peers:
    description: Addresses of the other nodes; the interface is the one that the route to the first of them takes.
    type: list
    elements: str
    default: []
  address:
    description: The node's own address in the cluster, which names the interface where there are no peers.
    type: str
    default: ""
author: Icefield
"""

RETURN = r"""
node:
  description: The facts; I(cpus) may be a fraction, I(memory_bytes) is the tightest limit.
  returned: always
  type: dict
flags:
  description: All flags of the processors; those of I(isa) in the facts are the ones that training speaks of.
  returned: always
  type: list
"""

import json
import os
import platform
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

try:
    from ansible.module_utils import node_cpu
except ImportError:  # linters and unit tests import this file outside Ansible
    from plugins.module_utils import node_cpu

ALLOCATORS = ("libtcmalloc_minimal.so.4", "libtcmalloc.so.4")
ISA_FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8", "amx_tile", "bf16")


def interface_of(module: AnsibleModule, peers: list[str], address: str) -> str:
    """Return the interface that leads to the peers, or that carries the node's own address; '' if neither is found."""
    others = [peer for peer in peers if peer != address]
    if others:
        code, out, _ = module.run_command(["ip", "-j", "route", "get", others[0]])
        if code == 0 and out.strip():
            return str(json.loads(out)[0].get("dev", ""))
    code, out, _ = module.run_command(["ip", "-j", "addr"])
    for link in json.loads(out) if code == 0 else []:
        if any(entry.get("local") == address for entry in link.get("addr_info", [])):
            return str(link["ifname"])
    return ""


def collect(module: AnsibleModule) -> dict[str, Any]:
    """Gather the facts of this node."""
    proc_cgroup = Path("/proc/self/cgroup").read_text()
    root = Path("/sys/fs/cgroup")
    affinity = sorted(os.sched_getaffinity(0))
    quota = node_cpu.cpu_quota(proc_cgroup, root)
    cores = node_cpu.physical_cores(affinity, Path("/sys/devices/system/cpu"))
    cpus = node_cpu.usable_cpus(cores, quota)
    cpuinfo = Path("/proc/cpuinfo").read_text()
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = node_cpu.memory_limit(proc_cgroup, root)
    _, ldconfig, _ = module.run_command([module.get_bin_path("ldconfig", True, ["/sbin", "/usr/sbin"]), "-p"])
    model = next((ln.partition(":")[2].strip() for ln in cpuinfo.splitlines() if ln.startswith("model name")), "")
    return {
        "cpus": cpus,
        "cores": affinity,
        "core_cpus": node_cpu.cpus_by_core(affinity, Path("/sys/devices/system/cpu")),
        "quota": quota,
        "threads": node_cpu.threads_per_rank(cpus, module.params["nproc_per_node"]),
        "preload": node_cpu.allocator_path(ldconfig, ALLOCATORS),
        "isa": node_cpu.isa_flags(cpuinfo, ISA_FLAGS),
        "memory_bytes": memory if limit is None else min(memory, limit),
        "interface": interface_of(module, module.params["peers"], module.params["address"]),
        "cpu_model": model,
        "machine": platform.machine(),
        "python": platform.python_version(),
    }


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "nproc_per_node": {"type": "int", "default": 1},
            "peers": {"type": "list", "elements": "str", "default": []},
            "address": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    if module.params["nproc_per_node"] < 1:
        module.fail_json(msg=f"nproc_per_node is {module.params['nproc_per_node']}; give a whole number of at least 1")
    flags = node_cpu.all_flags(Path("/proc/cpuinfo").read_text())
    module.exit_json(changed=False, node=collect(module), flags=flags)


if __name__ == "__main__":
    main()
