"""The plan of a run, worked out on the controller from the settings and what the nodes measured about themselves."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from icefield_train import plan as plans
from icefield_train.plan import Node, Plan, Probe, Script
from icefield_train.rules import refusal
from plugins.module_utils import ccl_choice, ccl_workers, commands, run_job, stack_file
from plugins.module_utils.node_cpu import threads_per_rank

PHASES = ("start", "rendezvous", "step", "evaluate", "save")
# A script does not tell what it does: the only thing to be seen is that it does nothing.
SCRIPT_PHASES = ("start", "rendezvous", "silence")
# What train.yml takes beside the settings of the training itself.
LAUNCH = (
    "stack",
    "launcher",
    "nproc_per_node",
    "threads_per_process",
    "rendezvous_port",
    "autotune",
    *(f"deadline_{phase}" for phase in PHASES),
)
# What a rank takes to train a small model; a node's first rank is let through whatever it has.
RANK_MEMORY = 1 << 30
_PLAIN = re.compile(r"[\w./:@%+,-]*", re.ASCII)


def cores_of_ranks(node: Mapping[str, Any], nproc_per_node: int) -> list[list[int]]:
    """Divide a node's cores among its ranks, in blocks of equal size.

    Where a quota leaves less than the cores, or there are fewer cores than ranks, every rank may run on all of them:
    pinned to one, it could not use the time that is left on another.
    """
    cores = list(node["cores"])
    if node["cpus"] < len(cores) or len(cores) < nproc_per_node:
        return [[] for _ in range(nproc_per_node)]
    size = len(cores) // nproc_per_node
    return [cores[rank * size : (rank + 1) * size] for rank in range(nproc_per_node)]


def ranks_fault(nproc_per_node: int, nodes: Sequence[Mapping[str, Any]]) -> str:
    """Return the line that refuses more ranks than the memory of the smallest node carries, or ""."""
    smallest = min(nodes, key=lambda node: float(node["tuning"]["memory_bytes"]))
    memory = int(smallest["tuning"]["memory_bytes"])
    most = max(1, memory // RANK_MEMORY)
    if nproc_per_node <= most:
        return ""
    each = f"{RANK_MEMORY / (1 << 30):g} GiB of memory"
    words = f"at most {most}: each process takes {each}, and {smallest['name']} has {memory / (1 << 30):.1f} GiB"
    return refusal("nproc_per_node", nproc_per_node, words)


def make_plan(
    settings: Mapping[str, Any],
    nodes: Sequence[Mapping[str, Any]],
    *,
    run_id: str,
    python: str,
    code: str,
    run_dir: str,
    stack: stack_file.Stack,
    ccl: str,
    script: Script | None = None,
    probe: Probe | None = None,
) -> Plan:
    """Return the plan.

    Args:
        settings: converted settings of the user.
        nodes: the nodes by rank, the head first; each has ``name``, ``address`` and ``tuning``, what it measured.
        run_id: name of the run.
        python: interpreter on the nodes.
        code: folder of the training package on the nodes.
        run_dir: folder of the run on the nodes.
        stack: the stack of the environment.
        ccl: folder of oneCCL and our backend over it on the nodes.
        script: what the ranks run in place of Icefield's training.
        probe: what they measure in place of it.

    Raises:
        ValueError: a node has measured nothing, or not for the address that it has.
    """
    nproc, threads = int(settings["nproc_per_node"]), settings["threads_per_process"]
    stock = settings.get("recipe") == "article" and script is None
    chosen = None if stock else ccl_choice.choose(settings, stack, ccl)
    # Only the bindings' oneCCL has threads of its own.
    has_workers = chosen is not None and chosen.module == plans.BINDINGS
    planned = []
    for index, node in enumerate(nodes):
        tuning = node["tuning"]
        if not tuning.get("interface"):
            raise ValueError(
                f"{node['name']}: no network interface has the address {node['address']}; "
                "set icefield_address to the one by which the other nodes reach it, and run provision.yml"
            )
        share = ccl_workers.share(tuning, nproc) if has_workers else ccl_workers.NOTHING_TAKEN
        planned.append(
            Node(
                name=node["name"],
                address=node["address"],
                interface=tuning["interface"],
                first_rank=index * nproc,
                threads=_threads(tuning["cpus"], nproc, share, stock=stock) if threads == "auto" else int(threads),
                cores=[[] for _ in range(nproc)] if stock else share.ranks or cores_of_ranks(tuning, nproc),
                preload="" if stock else tuning["preload"],
                cpus=tuning["cpus"] / nproc,
                ccl_cpus=share.ccl_cpus,
            )
        )
    port = int(settings["rendezvous_port"])
    return Plan(
        run_id=run_id,
        launcher=settings["launcher"],
        nproc_per_node=nproc,
        rendezvous_port=port,
        control_port=port + 1,
        deadlines={phase: int(settings[f"deadline_{phase}"]) for phase in (SCRIPT_PHASES if script else PHASES)},
        python=python,
        code=code,
        run_dir=run_dir,
        nodes=planned,
        prepare=[] if script else ["tokenise", "--config", f"{run_dir}/config.json"],
        stack=plans.Stack(
            name=stack.name,
            mpi=stack.mpi,
            extensions=[] if stock else list(stack.extensions),
            preload=[] if stock else list(stack.preload),
        ),
        ccl=chosen,
        script=script,
        probe=probe,
    )


def _threads(cpus: float, nproc: int, share: ccl_workers.Share, *, stock: bool) -> int:
    """Return the threads of a rank where the user names no number; 0 leaves it to the program.

    The article's recipe is not tuned: launcher and libraries choose, as they come.
    """
    return 0 if stock else share.threads or threads_per_rank(cpus, nproc)


def used_settings(settings: Mapping[str, Any]) -> list[str]:
    """Return the names of the settings that decide a run of Icefield's own training."""
    return [*run_job.training_settings(settings), *(name for name in LAUNCH if name in settings)]


def repeat_command(
    settings: Mapping[str, Any],
    defaults: Mapping[str, Any],
    nodes: int | str,
    options: Mapping[str, Any],
    used: Iterable[str],
    playbook: str = "train",
) -> str:
    """Return the command that repeats a run from anywhere: its nodes, and what differs from the defaults.

    Args:
        settings: converted settings of the user, with absolute paths.
        defaults: what the settings are where the user gives none.
        nodes: number of nodes of the run; another number of ranks gives other results. Of a benchmark their list.
        options: ``cluster`` and ``inventory`` of the commands that messages tell.
        used: names of the settings that decide the run.
        playbook: its playbook, without its ending.
    """
    # A run_id is not given twice: a run is not run again under the same name.
    told = {name: settings[name] for name in sorted(used) if name != "run_id" and settings[name] != defaults.get(name)}
    return commands.playbook(playbook, f"nodes={nodes}", *(_setting(*item) for item in told.items()), **options)


def _setting(name: str, value: Any) -> str:
    """Return a setting as ``-e`` takes it, in a shell."""
    text = value if isinstance(value, str) else json.dumps(value)
    # Ansible's own reader of NAME=VALUE splits at blanks and takes quotes away; JSON is read as it stands.
    return f"{name}={text}" if _PLAIN.fullmatch(text) else shlex.quote(json.dumps({name: value}))
