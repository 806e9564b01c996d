"""One rank of a run, from the launcher to the training process: checks its place, sets its environment, becomes it.

    python -m icefield_train rank --run-dir DIR -- PROGRAM ARGUMENT...

Launchers carry an environment from the head; what a node measured about itself (threads, cores, interface, allocator)
is put in place here, on the node, so that every launcher gets the same.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from icefield_train import ccl_env, stack_env
from icefield_train.launch_env import adopt
from icefield_train.plan import Node, Plan, load_plan
from icefield_train.processes import RUN_VARIABLE, die_with_parent

# Ranks give way to their node's supervisor, whose heartbeats prove that the node is alive.
NICENESS = 5


def environment_of(plan: Plan, node: Node) -> dict[str, str]:
    """Return the variables that the ranks on a node get."""
    env = {
        RUN_VARIABLE: plan.run_id,
        "ICEFIELD_NODE": node.name,
        "ICEFIELD_RUN_DIR": plan.run_dir,
        "ICEFIELD_MASTER_ADDR": plan.head.address,
        "ICEFIELD_MASTER_PORT": str(plan.rendezvous_port),
        "GLOO_SOCKET_IFNAME": node.interface,
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONPATH": plan.code,
        "PYTHONUNBUFFERED": "1",
    }
    if node.threads:
        env["OMP_NUM_THREADS"] = str(node.threads)
    if node.cpus:
        env["ICEFIELD_CPUS"] = str(node.cpus)
    return env | stack_env.variables(plan, node)


def check_place(plan: Plan, node: Node, rank: int, world_size: int) -> None:
    """Refuse to run where the launcher put a rank elsewhere than planned.

    Raises:
        ValueError: the rank belongs to another node, or the launcher started another number of ranks.
    """
    if world_size != plan.world_size:
        raise ValueError(f"{plan.launcher} started {world_size} ranks; the plan has {plan.world_size}")
    if rank not in plan.ranks_of(node):
        raise ValueError(
            f"{plan.launcher} started rank {rank} on {node.name}; the plan has it on {plan.node_of(rank).name}"
        )


def main(argv: list[str]) -> int:
    """Become the rank's program; return an exit code only where that is refused."""
    parser = argparse.ArgumentParser(prog="icefield_train rank")
    parser.add_argument("--run-dir", type=Path, required=True)
    parser.add_argument("program", nargs="+")
    arguments = parser.parse_args(argv)
    plan = load_plan(arguments.run_dir)
    node = plan.node((arguments.run_dir / "node").read_text().strip())
    os.environ.update(environment_of(plan, node))
    try:
        place = adopt()
        check_place(plan, node, place.rank, place.world_size)
    except ValueError as error:
        print(f"{node.name}: {error}", file=sys.stderr)
        return 2
    local_rank = place.rank - node.first_rank
    os.environ["LOCAL_RANK"] = str(local_rank)
    os.environ.update(ccl_env.variables(plan, node, local_rank))
    # torchrun tells these two as well, mpirun does not.
    os.environ["LOCAL_WORLD_SIZE"] = str(plan.nproc_per_node)
    os.environ["GROUP_RANK"] = str(plan.nodes.index(node))
    if node.cores[local_rank]:
        os.sched_setaffinity(0, node.cores[local_rank])
    os.nice(NICENESS)
    # Kept over exec: without its launcher a rank would run on unwatched.
    die_with_parent()
    return os.execv(arguments.program[0], arguments.program)
