"""Command lines of the launchers. They start the ranks; the supervisor starts them and watches."""

from __future__ import annotations

import shlex
from pathlib import Path

from icefield_train import stack_env
from icefield_train.plan import Node, Plan
from icefield_train.processes import RUN_VARIABLE


def rank_command(plan: Plan) -> list[str]:
    """Return the command of each rank: it checks its place, then trains, measures, or runs the user's script."""
    program = [plan.python, "-m", "icefield_train"]
    if plan.probe is not None:
        program += ["probe", "--run-dir", plan.run_dir]
    elif plan.script is None:
        program += ["train", "--config", f"{plan.run_dir}/config.json"]
    else:
        program += ["script", "--run-dir", plan.run_dir]
    return [plan.python, "-m", "icefield_train", "rank", "--run-dir", plan.run_dir, "--", *program]


def starts_here(plan: Plan, node: Node) -> bool:
    """Tell whether this node starts a launcher: torchrun runs on each node, mpirun on the head alone."""
    return plan.launcher == "torchrun" or node == plan.head


def command(plan: Plan, node: Node) -> list[str]:
    """Return the launcher's command line on a node."""
    if plan.launcher == "mpirun":
        return _intel_mpi(plan) if plan.stack.mpi == "intel" else _mpich(plan)
    return _torchrun(plan, node)


def _torchrun(plan: Plan, node: Node) -> list[str]:
    # Static: node ranks are the plan's, so that rank 0 is surely on the head; other rendezvous deal them out anew.
    return [
        plan.python,
        "-m",
        "torch.distributed.run",
        "--rdzv-backend=static",
        f"--rdzv-conf=timeout={plan.deadlines['rendezvous']}",
        f"--nnodes={len(plan.nodes)}",
        f"--nproc-per-node={plan.nproc_per_node}",
        f"--node-rank={plan.nodes.index(node)}",
        f"--master-addr={plan.head.address}",
        f"--master-port={plan.rendezvous_port}",
        f"--local-addr={node.address}",
        "--max-restarts=0",
        "--no-python",
        *rank_command(plan),
    ]


def _mpich(plan: Plan) -> list[str]:
    return [
        str(Path(plan.python).with_name("mpiexec")),
        "-launcher",
        "ssh",
        "-launcher-exec",
        f"{plan.run_dir}/launch-ssh",
        "-iface",
        plan.head.interface,
        "-f",
        f"{plan.run_dir}/hostfile",
        "-ppn",
        str(plan.nproc_per_node),
        "-n",
        str(plan.world_size),
        "-bind-to",
        "none",
        *rank_command(plan),
    ]


def _intel_mpi(plan: Plan) -> list[str]:
    domain = stack_env.pin_domain(plan)
    return [
        str(Path(plan.python).with_name("mpiexec.hydra")),
        *("-bootstrap", "ssh", "-bootstrap-exec", f"{plan.run_dir}/launch-ssh"),
        *("-iface", plan.head.interface),
        *("-f", f"{plan.run_dir}/hostfile"),
        *("-ppn", str(plan.nproc_per_node), "-n", str(plan.world_size)),
        # Without cores of its own a rank may run on all: by default each would be pinned to some.
        *(("-genv", "I_MPI_PIN_DOMAIN", domain) if domain else ("-genv", "I_MPI_PIN", "0")),
        *rank_command(plan),
    ]


def write_mpirun_files(plan: Plan) -> None:
    """Write the hostfile and the command by which mpiexec enters other nodes into the run's folder."""
    run_dir = Path(plan.run_dir)
    # One line per node, each ended by a newline: some launchers drop a last line without.
    lines = [f"{node.address}:{plan.nproc_per_node}\n" for node in plan.nodes]
    (run_dir / "hostfile").write_text("".join(lines))
    script = run_dir / "launch-ssh"
    # mpiexec calls it as ssh: -x HOST COMMAND... The run's name, by which processes
    # are found and ended, goes along.
    script.write_text(
        "#!/bin/sh\n"
        'while [ "${1#-}" != "$1" ]; do shift; done\n'
        "host=$1; shift\n"
        f'exec ssh -x -T -o ConnectTimeout=10 "$host" {RUN_VARIABLE}={shlex.quote(plan.run_id)} "$@"\n'
    )
    script.chmod(0o755)
