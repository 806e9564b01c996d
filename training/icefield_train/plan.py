"""The plan of a run: which processes, on which nodes and cores, meeting where.

The controller writes it, the nodes read it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """One node's part in a run."""

    name: str
    """Its name in the inventory."""
    address: str
    """Where its peers reach it."""
    interface: str
    """Network interface of that address."""
    first_rank: int
    """Rank of its first process; the others follow."""
    threads: int
    """Threads of each process; 0 leaves their number to the program."""
    cores: list[list[int]]
    """CPU numbers of each process; an empty list leaves the choice to the kernel."""
    preload: str
    """Library to preload (an allocator), or ""."""
    cpus: float = 0.0
    """CPUs of each process, a quota's fractions included; 0 where nobody has measured them."""
    ccl_cpus: list[int] = field(default_factory=list)
    """CPU numbers of oneCCL's threads, those of the first process first; none where processes have no such threads."""


# Modules that make torch's backend "ccl" known: Intel's bindings, and ours.
BINDINGS = "oneccl_bindings_for_pytorch"
OWN_BACKEND = "icefield_ccl"
# The variable that tells a rank which; see ``ccl`` and ``script_shim``.
CCL_MODULE = "ICEFIELD_CCL_MODULE"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ccl:
    """Over what the ranks' collectives go with oneCCL."""

    module: str
    """BINDINGS or OWN_BACKEND."""
    folder: str = ""
    """Where OWN_BACKEND is on the nodes, with oneCCL; "" for the bindings, which are in the environment."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stack:
    """What the environment's stack asks of those who start processes in it."""

    name: str = "current"
    """Name of the stack."""
    mpi: str = "mpich"
    """Whose mpiexec the environment has: mpich or intel."""
    extensions: list[str] = field(default_factory=list)
    """Modules that each rank imports first."""
    preload: list[str] = field(default_factory=list)
    """Libraries of the environment to preload, as paths within it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Script:
    """A user's own program, which the ranks run in place of Icefield's training."""

    source: str
    """Folder of its staged files on the nodes."""
    entry: str
    """The program, a path within that folder."""
    arguments: list[str]
    """Its arguments, complete."""
    output: str
    """Folder on the nodes that it writes its results into; the head's is collected."""
    layer: str = ""
    """Folder on the nodes with the packages that it needs beside the environment's, or ""."""
    environment: dict[str, str] = field(default_factory=dict)
    """Variables that tell it of staged folders."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """Settings to measure, which the ranks do in place of training."""

    tries: list[dict[str, Any]]
    """By what differs from the run's own settings; see ``race``."""
    shown: list[dict[str, Any]]
    """Settings that are measured as well, and take no part in the choice."""
    seconds: float
    """So long after the launch the last measurement shall have ended: nothing is begun that would not."""
    limit: float
    """So long after the launch the probe is ended on all nodes, whatever it is doing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Everything that launchers and supervisors need to know of a run."""

    run_id: str
    """Name of the run and of its folder."""
    launcher: str
    """torchrun or mpirun."""
    nproc_per_node: int
    """Processes per node."""
    rendezvous_port: int
    """Port on the head where the ranks meet."""
    control_port: int
    """Port on the head where the supervisors meet."""
    deadlines: dict[str, int]
    """Seconds without progress after which a phase counts as hung, by phase."""
    python: str
    """Interpreter of the environment on the nodes."""
    code: str
    """Folder of this package on the nodes."""
    run_dir: str
    """Folder of the run on the nodes."""
    nodes: list[Node]
    """The nodes by rank, the head first."""
    prepare: list[str] = field(default_factory=list)
    """Command of this package, with its arguments, that each node runs once before its ranks start; none if empty."""
    stack: Stack = field(default_factory=Stack)
    """The environment's stack."""
    ccl: Ccl | None = None
    """What makes oneCCL known to the ranks, where they may use it."""
    script: Script | None = None
    """What the ranks run; None for Icefield's own training."""
    probe: Probe | None = None
    """What the ranks measure in place of training; None where they train."""

    @property
    def world_size(self) -> int:
        """Number of processes of the run."""
        return self.nproc_per_node * len(self.nodes)

    @property
    def head(self) -> Node:
        """The node of rank 0."""
        return self.nodes[0]

    def node(self, name: str) -> Node:
        """Return the node of that name.

        Raises:
            ValueError: the run has none.
        """
        for node in self.nodes:
            if node.name == name:
                return node
        raise ValueError(f"node '{name}' has no part in run '{self.run_id}' ({', '.join(n.name for n in self.nodes)})")

    def ranks_of(self, node: Node) -> range:
        """Return the ranks on a node."""
        return range(node.first_rank, node.first_rank + self.nproc_per_node)

    def node_of(self, rank: int) -> Node:
        """Return the node of a rank."""
        return self.nodes[rank // self.nproc_per_node]


def plan_from(data: Mapping[str, Any]) -> Plan:
    """Make a plan of its JSON form."""
    # The plan of a run that an earlier version started names no script.
    script = Script(**data["script"]) if data.get("script") else None
    probe = Probe(**data["probe"]) if data.get("probe") else None
    stack = Stack(**data.get("stack", {}))
    ccl = Ccl(**data["ccl"]) if data.get("ccl") else None
    nodes = [Node(**node) for node in data["nodes"]]
    return Plan(**{**data, "nodes": nodes, "stack": stack, "ccl": ccl, "script": script, "probe": probe})


def load_plan(run_dir: Path) -> Plan:
    """Read the plan of a run's folder."""
    return plan_from(json.loads((run_dir / "plan.json").read_text()))
