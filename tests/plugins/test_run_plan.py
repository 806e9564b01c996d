import json
import shlex
from pathlib import Path

import pytest

from plugins.filter import plan_run as filters
from plugins.module_utils import run_job, run_plan, stack_file

STACKS = Path(__file__).parents[2] / "requirements/stacks"
CURRENT = stack_file.read(STACKS / "current.txt")
SETTINGS = {
    "nproc_per_node": 1,
    "threads_per_process": "auto",
    "rendezvous_port": 29500,
    "launcher": "torchrun",
    "collectives": "gloo",
    **{f"deadline_{phase}": 60 for phase in run_plan.PHASES},
}
TUNING = {"cpus": 4.0, "cores": [0, 1, 2, 3], "interface": "eth0", "preload": "/lib/libtcmalloc.so"}


def make(nodes, **settings):
    return run_plan.make_plan(
        {**SETTINGS, **settings},
        nodes,
        run_id="r",
        python="/env/bin/python",
        code="/code",
        run_dir="/runs/r",
        stack=CURRENT,
        ccl="/env/ccl",
    )


def refuse(settings, nodes, answers):
    job = {"stack_lock": str(STACKS / "current.txt")}
    return filters.refuse_nodes(job, settings, nodes, answers, size=4, commands={"cluster": "c"})


def node(name, address, **tuning):
    return {"name": name, "address": address, "tuning": {**TUNING, **tuning}}


def test_ranks_follow_the_nodes_and_the_head_has_rank_zero():
    plan = make([node("b", "10.0.0.2"), node("a", "10.0.0.1"), node("c", "10.0.0.3")], nproc_per_node=2)
    assert [(n.name, n.first_rank) for n in plan.nodes] == [("b", 0), ("a", 2), ("c", 4)]
    assert plan.world_size == 6
    assert plan.head.name == "b"
    assert [plan.node_of(rank).name for rank in range(6)] == ["b", "b", "a", "a", "c", "c"]
    assert plan.control_port == 29501


def test_cores_and_threads_are_divided_among_the_ranks_of_a_node():
    plan = make([node("a", "10.0.0.1")], nproc_per_node=2)
    assert plan.nodes[0].cores == [[0, 1], [2, 3]]
    assert plan.nodes[0].threads == 2


@pytest.mark.parametrize(("cpus", "nproc", "threads"), [(0.5, 1, 1), (2.0, 1, 2), (4.0, 8, 1)])
def test_ranks_are_not_pinned_where_a_quota_or_too_few_cores_would_make_it_a_loss(cpus, nproc, threads):
    plan = make([node("a", "10.0.0.1", cpus=cpus)], nproc_per_node=nproc)
    assert plan.nodes[0].cores == [[]] * nproc
    assert plan.nodes[0].threads == threads


def test_a_node_whose_address_is_on_no_interface_is_named():
    with pytest.raises(ValueError, match=r"^a: no network interface has the address 10\.0\.0\.1"):
        make([node("a", "10.0.0.1", interface="")])


def test_more_ranks_than_the_smallest_node_can_hold_are_refused_by_the_setting_s_name():
    nodes = [node("a", "10.0.0.1", memory_bytes=8 << 30), node("b", "10.0.0.2", memory_bytes=3 << 30)]
    assert run_plan.ranks_fault(1000, nodes) == (
        "setting 'nproc_per_node': value '1000' is not accepted; give at most 3: each process takes 1 GiB of memory, "
        "and b has 3.0 GiB"
    )
    assert run_plan.ranks_fault(3, nodes) == ""
    # Inputs of a role are looked at before its first task has asked a node.
    settings = {"nproc_per_node": 1000, "collectives": "gloo"}
    assert refuse(settings, nodes, [{}, {"tuning": {}}]) == ""
    answers = [{}, {"tuning": {"memory_bytes": 3 << 30}, "packages": CURRENT.pins, "python": "3.11", "isa": []}]
    assert "give at most 3" in refuse(settings, nodes, answers)
    assert run_plan.ranks_fault(1, [node("a", "10.0.0.1", memory_bytes=1 << 29)]) == ""


def test_the_command_to_repeat_a_run_names_its_nodes_and_what_differs_from_the_defaults():
    defaults = {
        "task": "paraphrase",
        "weight_decay": 0,
        "seed": 42,
        "data_dir": "",
        "launcher": "torchrun",
        "stack": "a",
        "timezone": "a",
    }
    settings = {"task": "mrpc", "weight_decay": 0.0, "seed": 7, "data_dir": "/it's mine", "launcher": "mpirun"}
    others = {
        "run_id": "x",
        "stop": "y",
        "stack": "b",
        "timezone": "b",
        "local_cpus": 3.0,
        "nodes": 4,
        "cluster_name": "c",
    }
    options = {"cluster": "c", "inventory": ["/my/hosts.yml"]}
    used = run_plan.used_settings({**settings, **others})
    command = run_plan.repeat_command({**settings, **others}, defaults, 2, options, used)
    words = ["nodes=2", json.dumps({"data_dir": "/it's mine"}), "launcher=mpirun", "stack=b", "seed=7", "task=mrpc"]
    given = [part for word in [*words, "cluster_name=c"] for part in ("-e", word)]
    assert sorted(shlex.split(command)) == sorted(["ansible-playbook", "-i", "/my/hosts.yml", "train.yml", *given])


def test_folders_and_files_are_told_so_that_they_hold_from_anywhere(tmp_path):
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows/inside.csv").touch()
    (tmp_path / "beside.csv").touch()
    settings = {
        "data_dir": "rows",
        "model": "all-MiniLM-L6-v2",
        "train_file": "inside.csv",
        "dev_file": "beside.csv",
        "test_file": "",
    }
    assert run_job.absolute_sources(settings, tmp_path) == {
        **settings,
        "data_dir": f"{tmp_path}/rows",
        "dev_file": f"{tmp_path}/beside.csv",
    }
    settings |= {"data_dir": "", "model": "./rows", "train_file": "rows/inside.csv"}
    found = run_job.absolute_sources(settings, tmp_path)
    assert (found["model"], found["train_file"]) == (f"{tmp_path}/rows", f"{tmp_path}/rows/inside.csv")


def test_the_head_comes_first_and_the_count_cuts_the_rest():
    nodes = [{"name": name} for name in ("n-1", "n-2", "n-10")]
    assert [n["name"] for n in filters.head_first(nodes, ["n-10"])] == ["n-10", "n-1", "n-2"]
    assert [n["name"] for n in filters.head_first(nodes, ["n-10"], "2")] == ["n-10", "n-1"]
    assert [n["name"] for n in filters.head_first(nodes, ["n-10"], "2,1")] == ["n-10", "n-1"]


def test_the_training_gets_the_staged_folders_in_place_of_the_sources():
    trees = [{"kind": kind, "digest": kind[0] * 12} for kind in ("code", "data", "models")]
    job = {"run_id": "r", "trees": trees, "model": {"name": "mini"}, "git_commit": "abc", "sources": {}}
    config = filters.train_config(
        job, {"task": "mrpc", "data_dir": "/mine", "model": "x", "launcher": "mpirun"}, {}, "/opt", nodes=1, commands={}
    )
    assert config["data_dir"] == "/opt/stage/data/dddddddddddd"
    assert config["model"] == "/opt/stage/models/mmmmmmmmmmmm"
    assert config["model_name"] == "mini"
    assert "launcher" not in config


def test_the_command_that_repeats_a_run_has_what_was_tuned_by_value_and_no_more():
    defaults = {"bucket_mb": "auto", "nproc_per_node": "auto", "threads_per_process": "auto", "autotune": True}
    trees = [{"kind": kind, "digest": kind[0] * 12} for kind in ("code", "data", "models")]
    job = {"run_id": "r", "trees": trees, "model": {"name": "mini"}, "git_commit": "abc", "sources": {}}
    settings = {**defaults, "bucket_mb": 10, "nproc_per_node": 1}
    config = filters.train_config(job, settings, defaults, "/opt", nodes=2, commands={}, tuned="tuned on a day")
    assert config["command"] == "ansible-playbook train.yml -e nodes=2 -e autotune=false -e bucket_mb=10"
    assert config["tuned"] == "tuned on a day"


def test_the_article_s_recipe_is_left_alone_but_for_threads_that_the_user_chose():
    plan = make([node("a", "10.0.0.1")], recipe="article")
    assert (plan.nodes[0].threads, plan.nodes[0].cores, plan.nodes[0].preload) == (0, [[]], "")
    plan = make([node("a", "10.0.0.1")], recipe="article", threads_per_process=3)
    assert (plan.nodes[0].threads, plan.nodes[0].cores, plan.nodes[0].preload) == (3, [[]], "")


def test_threads_that_were_chosen_are_taken_on_every_node_whatever_it_has():
    plan = make([node("a", "10.0.0.1"), node("b", "10.0.0.2", cpus=8.0)], threads_per_process=3)
    assert [n.threads for n in plan.nodes] == [3, 3]
    plan = make([node("a", "10.0.0.1"), node("b", "10.0.0.2", cpus=8.0)], threads_per_process="auto", nproc_per_node=2)
    assert [n.threads for n in plan.nodes] == [2, 4]
