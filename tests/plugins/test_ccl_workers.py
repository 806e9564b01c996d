"""Cores for oneCCL's threads, and how ranks and launchers are told of them."""

from pathlib import Path

import pytest

from icefield_train import ccl_env, launchers, rank, stack_env
from icefield_train.plan import plan_from
from plugins.filter.plan_run import asdict
from plugins.module_utils import ccl_workers, node_cpu, run_plan, stack_file

STACKS = Path(__file__).parents[2] / "requirements/stacks"
IPEX, PYPI = (stack_file.read(STACKS / f"{name}.txt") for name in ("ipex", "ipex-pypi"))
# As Linux numbers the 64 CPUs of a c6i.16xlarge: 32 cores, the second hyper-threads behind the first ones.
C6I = {
    "cpus": 32.0,
    "cores": list(range(64)),
    "core_cpus": [[core, core + 32] for core in range(32)],
    "interface": "ens5",
    "preload": "/usr/lib/libtcmalloc.so",
}
SETTINGS = {
    "nproc_per_node": 1,
    "threads_per_process": "auto",
    "rendezvous_port": 29500,
    "launcher": "mpirun",
    "collectives": "ccl",
    **{f"deadline_{phase}": 60 for phase in run_plan.PHASES},
}


def make(tunings, stack=IPEX, env="/env", **settings):
    nodes = [{"name": f"n-{i}", "address": f"10.0.0.{i}", "tuning": tuning} for i, tuning in enumerate(tunings, 1)]
    return run_plan.make_plan(
        {**SETTINGS, **settings},
        nodes,
        run_id="r",
        python=f"{env}/bin/python",
        code="/code",
        run_dir="/r",
        stack=stack,
        ccl=f"{env}/ccl",
    )


def variables(plan, node, local_rank=0):
    return rank.environment_of(plan, node) | ccl_env.variables(plan, node, local_rank)


def test_the_article_s_figures_come_out_for_its_machines():
    plan = make([C6I, C6I])
    env = variables(plan, plan.nodes[1])
    assert env["CCL_WORKER_COUNT"] == "4"
    assert env["CCL_WORKER_AFFINITY"] == "0,1,2,3"
    assert env["OMP_NUM_THREADS"] == "28"
    assert env["CCL_ATL_TRANSPORT"] == "ofi"
    # The article's mask for 32 cores, and the other threads of the same cores.
    assert int(stack_env.pin_domain(plan)[1:-1], 16) & 0xFFFFFFFF == 0xFFFFFFF0
    assert plan.nodes[0].cores == [[*range(4, 32), *range(36, 64)]]


def test_ranks_of_a_node_have_cores_of_their_own_and_so_have_their_workers():
    plan = make([C6I], nproc_per_node=2)
    node = plan.nodes[0]
    # 16 cores each: 2 for its workers and 14 for its threads.
    assert node.ccl_cpus == [0, 1, 2, 3]
    assert node.threads == 14
    assert node.cores == [[*range(4, 18), *range(36, 50)], [*range(18, 32), *range(50, 64)]]
    assert variables(plan, node, 1)["CCL_WORKER_COUNT"] == "2"


@pytest.mark.parametrize(
    ("tuning", "nproc"),
    [
        ({**C6I, "cpus": 8.0}, 1),
        ({**C6I, "cpus": 7.0, "core_cpus": [[core] for core in range(7)]}, 1),
        (C6I, 8),
        ({name: value for name, value in C6I.items() if name != "core_cpus"}, 1),
    ],
)
def test_where_there_is_no_core_to_spare_ranks_do_the_work_themselves(tuning, nproc):
    plan = make([tuning], nproc_per_node=nproc)
    node = plan.nodes[0]
    assert node.ccl_cpus == []
    assert node.threads == node_cpu.threads_per_rank(tuning["cpus"], nproc)
    env = variables(plan, node)
    assert (env["CCL_WORKER_COUNT"], env["CCL_WORKER_OFFLOAD"]) == ("1", "0")
    assert "CCL_WORKER_AFFINITY" not in env


def test_only_the_bindings_oneccl_takes_cores():
    for stack, collectives in ((IPEX, "gloo"), (PYPI, "ccl")):
        plan = make([C6I], stack=stack, collectives=collectives)
        assert plan.nodes[0].threads == 32
        assert ccl_workers.share(C6I, 1).threads == 28
        assert not [name for name in variables(plan, plan.nodes[0]) if name.startswith("CCL_")]


def test_a_rank_is_told_the_module_and_its_place():
    plan = plan_from(asdict(make([C6I, C6I], nproc_per_node=2)))
    env = variables(plan, plan.nodes[1], 1)
    assert env["ICEFIELD_CCL_MODULE"] == "oneccl_bindings_for_pytorch"
    assert (env["CCL_LOCAL_RANK"], env["CCL_LOCAL_SIZE"], env["CCL_PROCESS_LAUNCHER"]) == ("1", "2", "none")
    assert not [name for name in env if name.startswith("ICEFIELD_CCL") and name != "ICEFIELD_CCL_MODULE"]


def test_oneccl_uses_the_interface_to_the_peers_and_loopback_on_one_node():
    assert variables(plan := make([C6I, C6I]), plan.nodes[0])["CCL_KVS_IFACE"] == "ens5"
    assert variables(plan := make([C6I]), plan.nodes[0])["FI_TCP_IFACE"] == "lo"


def test_libraries_are_preloaded_by_the_paths_where_they_are(tmp_path):
    (tmp_path / "env/lib").mkdir(parents=True)
    plan = make([C6I], env=f"{tmp_path}/env")
    assert rank.environment_of(plan, plan.nodes[0])["LD_PRELOAD"] == "/usr/lib/libtcmalloc.so"
    (tmp_path / "libiomp5.so.real").touch()
    (tmp_path / "env/lib/libiomp5.so").symlink_to("../../libiomp5.so.real")
    preload = rank.environment_of(plan, plan.nodes[0])["LD_PRELOAD"]
    assert preload == f"/usr/lib/libtcmalloc.so:{tmp_path}/libiomp5.so.real"


def test_intel_s_mpi_is_started_with_the_cores_of_the_ranks():
    plan = plan_from(asdict(make([C6I, C6I], nproc_per_node=2)))
    command = launchers.command(plan, plan.head)
    assert command[0] == "/env/bin/mpiexec.hydra"
    assert command[command.index("-bootstrap-exec") + 1] == "/r/launch-ssh"
    masks = command[command.index("I_MPI_PIN_DOMAIN") + 1].strip("[]").split(",")
    assert [bin(int(mask, 16)).count("1") for mask in masks] == [28, 28]
    assert int(masks[0], 16) & int(masks[1], 16) == 0


def test_where_nodes_differ_intel_s_mpi_leaves_pinning_to_the_ranks():
    other = {**C6I, "cores": list(range(8)), "core_cpus": [[core] for core in range(8)], "cpus": 8.0}
    plan = make([C6I, other])
    assert stack_env.pin_domain(plan) == ""
    command = launchers.command(plan, plan.head)
    assert command[command.index("I_MPI_PIN") + 1] == "0"


def test_logical_cpus_are_told_by_core(tmp_path):
    for cpu, core in enumerate((0, 1, 0, 1)):
        folder = tmp_path / f"cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "physical_package_id").write_text("0\n")
        (folder / "core_id").write_text(f"{core}\n")
    assert node_cpu.cpus_by_core([0, 1, 2, 3], tmp_path) == [[0, 2], [1, 3]]
    assert node_cpu.physical_cores([1, 2, 3], tmp_path) == 2
    # A machine that does not tell has a core for each.
    assert node_cpu.cpus_by_core([4, 5], tmp_path) == [[4], [5]]
