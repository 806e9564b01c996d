"""Checks of the user's settings against what is there: files, this machine, the cluster. Pure but for reading files."""

from __future__ import annotations

import ipaddress
import re
import ssl
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from icefield_train.rules import refusal, user_path
from plugins.module_utils import commands, local_net, podman, stack_file, stack_rules, tuned

GIB = 1 << 30
# Playbooks that train on nodes which have to be there.
TRAINING = ("train", "autotune", "benchmark")
# What a node needs to hold Python, torch and a small model; what it writes. Its stack says what an image takes.
NODE_MEMORY = int(1.5 * GIB)
NODE_DISK = 1 * GIB
# Where the user names no size, so much of the machine's memory is divided among the nodes.
MEMORY_SHARE = 0.9


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """What this machine has for nodes made of containers."""

    cores: int
    memory: int
    disk_free: int
    disk_path: str
    have_image: bool
    isa: list[str] | None = None
    """Flags of its processors; None = not asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """What the inventory says about the cluster."""

    backend: str
    nodes: int
    name: str = commands.DEFAULT_CLUSTER
    heads: int = 1
    addresses: Mapping[str, str] = field(default_factory=dict)
    stopped: Sequence[str] = ()
    """Names of nodes that exist and do not run: they drop out of the inventory."""
    inventory: Sequence[str] = ()
    """What commands name behind -i."""

    def command(self, playbook: str, *settings: str) -> str:
        """Return the command that runs a playbook on this cluster."""
        return commands.playbook(playbook, *settings, cluster=self.name, inventory=self.inventory)


def check_files(values: Mapping[str, Any], stacks: Path, cwd: Path) -> Iterator[str]:
    """Yield a line for each setting among ``values`` that names a file or folder that is not usable."""
    for path in values.get("extra_ca_files", ()):
        if reason := _certificate_fault(Path(path)):
            yield refusal("extra_ca_files", path, f"paths of certificates in PEM form ({reason})")
    if "stack" in values:
        yield from _stack_faults(values["stack"], stacks)
    for name in ("data_dir", "wheels_dir"):
        yield from _folder_faults(name, values.get(name, ""), cwd)


def _stack_faults(name: str, stacks: Path) -> Iterator[str]:
    """Yield a line where there is no such stack, or its versions do not go together: before anything is downloaded."""
    path = stacks / f"{name}.txt"
    if not path.is_file():
        there = ", ".join(sorted(path.stem for path in stacks.glob("*.txt"))) or "none is there"
        yield refusal("stack", name, f"one of {there}")
        return
    try:
        stack = stack_file.read(path)
    except ValueError as error:
        yield refusal("stack", name, f"one whose file is in order ({error})")
        return
    for conflict in stack_rules.conflicts(stack.pins):
        yield refusal("stack", name, f"one whose versions go together ({conflict})")


def _folder_faults(name: str, folder: str, cwd: Path) -> Iterator[str]:
    words = "a folder on this machine"
    try:
        where = cwd / user_path(name, folder, words)
    except ValueError as error:
        yield str(error)
        return
    if folder and not where.is_dir():
        there = "a file" if where.exists() else "not there"
        yield refusal(name, folder, f"{words} ({where.resolve()} is {there})")


def _certificate_fault(path: Path) -> str:
    try:
        text = path.read_text(encoding="ascii")
        ssl.create_default_context(cadata=text)
    except OSError as error:
        # An SSLError is an OSError too: its text is about the content, strerror is not.
        return "not a certificate" if isinstance(error, ssl.SSLError) else str(error.strerror).lower()
    except ValueError:
        return "not a certificate"
    return ""


def check_local(
    values: Mapping[str, Any], nodes: int, existing: int, machine: Machine, stack: stack_file.Stack
) -> Iterator[str]:
    """Yield a line for each reason why this machine cannot carry ``nodes`` containers, ``existing`` of which it has."""
    # Containers have the processors of their machine; other nodes are asked when they are there.
    yield from stack_rules.node_faults(stack, "this machine", isa=machine.isa)
    if values["local_cpus"] > machine.cores:
        yield refusal("local_cpus", f"{values['local_cpus']:g}", f"at most the {machine.cores} cores of this machine")
    if values["local_subnet"]:
        try:
            local_net.node_address(values["local_subnet"], nodes)
        except ValueError:
            yield refusal(
                "local_subnet", values["local_subnet"], f"a network with room for {nodes} nodes, such as a /24"
            )
    memory_faults = list(_memory_faults(values["local_memory"], nodes, machine.memory))
    yield from memory_faults
    if memory_faults:
        # Fewer nodes are asked for already.
        return
    new = max(0, nodes - existing)
    needed = new * NODE_DISK + (int(stack.disk_gib * GIB) if new and not machine.have_image else 0)
    if needed > machine.disk_free:
        yield (
            f"setting 'nodes': not enough disk for {nodes} nodes: {gib(needed)} needed in {machine.disk_path}, "
            f"{gib(machine.disk_free)} free; free some, or give fewer nodes"
        )


def _memory_faults(size: str, nodes: int, memory: int) -> Iterator[str]:
    if not size:
        most = int(memory * MEMORY_SHARE / NODE_MEMORY)
        if nodes > most:
            yield (
                f"setting 'nodes': not enough memory for {nodes} nodes: {gib(nodes * NODE_MEMORY)} needed "
                f"({gib(NODE_MEMORY)} each), {gib(int(memory * MEMORY_SHARE))} of this machine's {gib(memory)} "
                f"usable; give at most {most}"
            )
        return
    each = podman.parse_size(size)
    if each < NODE_MEMORY:
        yield refusal("local_memory", size, f"at least {gib(NODE_MEMORY)}, which a node needs to train")
    elif each * nodes > memory:
        yield refusal(
            "local_memory",
            size,
            f"at most {gib(memory // nodes)}, which is this machine's {gib(memory)} over {nodes} nodes",
        )


def check_cluster(
    playbook: str, nodes: int | None, cluster: Cluster, *, stop: str = "", attach: str = ""
) -> Iterator[str]:
    """Yield a line where the nodes asked for are not the nodes there are."""
    trains = playbook in TRAINING
    provision = cluster.command("provision", f"nodes={max(2, nodes or 0, _highest(cluster))}")
    own = own_servers(cluster)
    if cluster.nodes == 0 and stop:
        yield refusal("stop", stop, "the name of a run that goes on; the cluster has no nodes that run")
        return
    if not own and (trains or stop) and (missing := _missing(cluster, nodes, bool(stop or attach))):
        yield f"{', '.join(missing)} of the cluster {_do_not_run(missing)}; bring back what is missing: {provision}"
        return
    if own and cluster.nodes and cluster.heads != 1:
        yield f"the group 'head' of the inventory has {cluster.heads} servers; give it exactly 1"
    for name, address in cluster.addresses.items():
        if not _is_address(address):
            yield f"{name}: icefield_address '{address}' is not accepted; give the IP address where nodes reach it"
    if own and (trains or playbook == "provision") and cluster.nodes == 0:
        yield "the inventory lists no servers; name them in inventory/onprem.yml"
    elif own and (trains or playbook == "provision") and nodes is not None and nodes > cluster.nodes:
        yield refusal("nodes", nodes, f"at most the {cluster.nodes} that the inventory lists, or list more servers")
    elif trains and cluster.nodes == 0:
        yield f"the cluster has no nodes; run: {provision}"
    elif trains and nodes is not None and nodes > cluster.nodes:
        yield refusal("nodes", nodes, f"at most the {cluster.nodes} of this cluster, or run first: {provision}")


def check_autotune(values: Mapping[str, Any], results: Path) -> Iterator[str]:
    """Yield a line for each setting of a run that a search has no use for, and where its results could not be kept.

    Args:
        values: converted settings of the user.
        results: file that they are kept in.
    """
    for name in ("script", "run_id", "attach"):
        if values[name]:
            yield refusal(name, values[name], "nothing with autotune.yml, which measures Icefield's own training")
    if values["recipe"] != "icefield":
        yield refusal("recipe", values["recipe"], "icefield with autotune.yml, for no other recipe is tuned")
    try:
        tuned.load(results)
    except ValueError as error:
        yield str(error)


def own_servers(cluster: Cluster) -> bool:
    """Tell whether the user made and named the nodes."""
    return cluster.backend == "onprem"


def _numbers(cluster: Cluster, names: Iterable[str]) -> set[int]:
    """Return the numbers of these nodes; 1 is the head. Their names are the cluster's with a number."""
    found = (re.fullmatch(re.escape(cluster.name) + r"-(\d+)", name) for name in names)
    return {int(match[1]) for match in found if match}


def _highest(cluster: Cluster) -> int:
    return max(_numbers(cluster, [*cluster.addresses, *cluster.stopped]), default=0)


def _missing(cluster: Cluster, nodes: int | None, head_only: bool) -> list[str]:
    """Return the names of nodes that ought to run and do not: training would silently lack them.

    Those are all up to the highest number, or the first ``nodes``; of a run that goes on only the head has to be there.
    """
    last = min(_highest(cluster), 1 if head_only else nodes or _highest(cluster))
    running = _numbers(cluster, cluster.addresses)
    return [f"{cluster.name}-{number}" for number in range(1, last + 1) if number not in running]


def _do_not_run(names: Sequence[str]) -> str:
    return "do not run" if len(names) > 1 else "does not run"


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def gib(size: int) -> str:
    """Return bytes in words."""
    return f"{size / GIB:.1f} GiB"


def missing_settings(names: Sequence[str]) -> str:
    """Return the line for settings that have no value at all."""
    return (
        f"no value for {', '.join(names)}: the inventory's folder lacks group_vars/all; "
        "keep your inventory in inventory/, or link its group_vars beside yours"
    )
