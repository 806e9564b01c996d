import subprocess
from dataclasses import replace

import pytest

from icefield_train import ccl_env, launchers, rank, supervisor


def test_torchrun_gets_explicit_node_ranks_and_the_head_s_address(make_plan):
    plan = make_plan(("a", "b", "c"), nproc_per_node=2)
    command = launchers.command(plan, plan.nodes[2])
    assert "--node-rank=2" in command
    assert "--nnodes=3" in command
    assert "--nproc-per-node=2" in command
    assert "--master-addr=127.0.0.1" in command
    assert "--local-addr=127.0.0.3" in command
    assert "--max-restarts=0" in command


def test_mpirun_starts_on_the_head_alone_and_its_hostfile_ends_with_a_newline(make_plan, tmp_path):
    plan = make_plan(launcher="mpirun", nproc_per_node=2)
    assert launchers.starts_here(plan, plan.nodes[0])
    assert not launchers.starts_here(plan, plan.nodes[1])
    launchers.write_mpirun_files(plan)
    assert (tmp_path / "hostfile").read_text() == "127.0.0.1:2\n127.0.0.2:2\n"
    command = launchers.command(plan, plan.nodes[0])
    assert command[0] == "/opt/icefield/env/bin/mpiexec"
    assert command[command.index("-n") + 1] == "4"
    assert command[command.index("-ppn") + 1] == "2"


def test_mpiexec_s_remote_command_carries_the_name_of_the_run(make_plan, tmp_path):
    launchers.write_mpirun_files(make_plan(launcher="mpirun"))
    text = (tmp_path / "launch-ssh").read_text().replace("exec ssh", "echo ssh")
    said = subprocess.run(
        ["sh", "-c", text, "launch-ssh", "-x", "127.0.0.2", "/env/bin/hydra_pmi_proxy", "--port", "1"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said.split() == [
        *("ssh", "-x", "-T", "-o", "ConnectTimeout=10", "127.0.0.2"),
        *("ICEFIELD_RUN_ID=test-run", "/env/bin/hydra_pmi_proxy", "--port", "1"),
    ]


def test_a_rank_on_another_node_than_planned_is_refused(make_plan):
    plan = make_plan()
    rank.check_place(plan, plan.nodes[1], 1, 2)
    with pytest.raises(ValueError, match="torchrun started rank 0 on b; the plan has it on a"):
        rank.check_place(plan, plan.nodes[1], 0, 2)
    with pytest.raises(ValueError, match="torchrun started 3 ranks; the plan has 2"):
        rank.check_place(plan, plan.nodes[1], 1, 3)


def test_a_rank_s_environment_comes_from_its_node(make_plan):
    plan = make_plan()
    env = rank.environment_of(plan, plan.nodes[1])
    assert env["GLOO_SOCKET_IFNAME"] == "lo"
    assert env["ICEFIELD_NODE"] == "b"
    assert env["ICEFIELD_MASTER_ADDR"] == "127.0.0.1"
    assert env["HF_HUB_OFFLINE"] == "1"
    assert "LD_PRELOAD" not in env


def test_a_rank_finds_oneccl_and_the_interface_of_its_node(make_plan):
    plan = make_plan(ccl={"module": "icefield_ccl", "folder": "/env/ccl"})
    plan = replace(plan, nodes=[replace(node, interface=f"eth{number}") for number, node in enumerate(plan.nodes)])
    env = ccl_env.variables(plan, plan.nodes[1], 0)
    assert env["ICEFIELD_CCL_MODULE"] == "icefield_ccl"
    assert env["PYTHONPATH"] == "/code:/env/ccl/python"
    assert (env["ICEFIELD_CCL_PREFIX"], env["ICEFIELD_CCL_INTERFACE"]) == ("/env/ccl", "eth1")
    # Ranks of one node stay on it.
    alone = replace(plan, nodes=plan.nodes[:1])
    assert ccl_env.variables(alone, alone.nodes[0], 0)["ICEFIELD_CCL_INTERFACE"] == "lo"


def test_a_node_without_a_part_in_the_run_is_named(make_plan):
    with pytest.raises(ValueError, match=r"node 'z' has no part in run 'test-run' \(a, b\)"):
        make_plan().node("z")


def test_the_ranks_of_a_probe_measure_and_do_not_train(make_plan):
    plan = make_plan(probe={"tries": [{"bucket_mb": 2}], "shown": [], "seconds": 9.5, "limit": 20})
    assert plan.probe.tries == [{"bucket_mb": 2}]
    command = launchers.rank_command(plan)
    assert command[command.index("--") + 4 :] == ["probe", "--run-dir", plan.run_dir]
    assert "probe" not in launchers.rank_command(make_plan())


def test_the_folder_of_a_probe_that_nobody_follows_is_removed_by_its_supervisor(tmp_path):
    (tmp_path / "probe/logs").mkdir(parents=True)
    supervisor.leave_nothing(tmp_path / "probe", patience=0)
    assert not (tmp_path / "probe").exists()
    # One that the controller has removed ends the waiting.
    supervisor.leave_nothing(tmp_path / "probe")
