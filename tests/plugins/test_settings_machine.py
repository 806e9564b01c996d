"""The nodes asked for against the nodes there are."""

import pytest

from plugins.module_utils.settings_machine import Cluster, check_autotune, check_cluster


def cluster(*numbers, stopped=(), backend="local"):
    addresses = {f"c-{number}": f"198.18.0.{10 + number}" for number in numbers}
    return Cluster(
        backend=backend,
        nodes=len(numbers),
        name="c",
        heads=int(1 in numbers),
        addresses=addresses,
        stopped=[f"c-{number}" for number in stopped],
    )


@pytest.mark.parametrize(
    ("numbers", "stopped", "nodes", "line"),
    [
        ((2, 3, 4), (), None, "c-1 of the cluster does not run; bring back what is missing: * -e nodes=4"),
        ((1, 2, 4), (), None, "c-3 of the cluster does not run; bring back what is missing: * -e nodes=4"),
        ((1, 2, 3), (4,), None, "c-4 of the cluster does not run; bring back what is missing: * -e nodes=4"),
        ((1, 2, 3), (4,), 4, "c-4 of the cluster does not run; bring back what is missing: * -e nodes=4"),
        ((), (1, 2), None, "c-1, c-2 of the cluster do not run; bring back what is missing: * -e nodes=2"),
        ((1, 2, 3), (4,), 3, ""),
        ((1, 2, 3), (), None, ""),
        ((1,), (), None, ""),
    ],
)
def test_training_misses_nodes_that_do_not_run(numbers, stopped, nodes, line):
    lines = list(check_cluster("train", nodes, cluster(*numbers, stopped=stopped)))
    told = line.replace("*", "ansible-playbook provision.yml")
    assert lines == ([f"{told} -e cluster_name=c"] if line else [])


@pytest.mark.parametrize(("playbook", "run"), [("status", {"stop": "r"}), ("train", {"attach": "r"})])
def test_a_run_that_goes_on_can_be_stopped_and_followed_while_the_head_runs(playbook, run):
    assert list(check_cluster(playbook, None, cluster(1, 2, stopped=[3]), **run)) == []
    assert list(check_cluster(playbook, None, cluster(2, 3, stopped=[1]), **run)) == [
        "c-1 of the cluster does not run; bring back what is missing: "
        "ansible-playbook provision.yml -e nodes=3 -e cluster_name=c"
    ]


def test_status_alone_and_provision_take_a_cluster_with_nodes_missing():
    assert list(check_cluster("status", None, cluster(2))) == []
    assert list(check_cluster("provision", 3, cluster(2))) == []


def test_servers_of_the_users_own_have_names_of_their_own():
    servers = Cluster(backend="onprem", nodes=2, addresses={"c-2": "192.0.2.1", "c-9": "192.0.2.2"})
    assert list(check_cluster("train", None, servers)) == []


def test_a_search_needs_the_nodes_that_a_training_needs():
    for playbook in ("autotune", "train"):
        assert list(check_cluster(playbook, 3, cluster(1, 2))) == [
            "setting 'nodes': value '3' is not accepted; give at most the 2 of this cluster, or run first: "
            "ansible-playbook provision.yml -e nodes=3 -e cluster_name=c"
        ]


def test_a_search_refuses_what_it_has_no_use_for_and_a_file_that_it_could_not_write_to(tmp_path):
    free = {"script": "", "run_id": "", "attach": "", "recipe": "icefield"}
    path = tmp_path / "autotune.json"
    assert list(check_autotune(free, path)) == []
    assert list(check_autotune({**free, "recipe": "article"}, path)) == [
        "setting 'recipe': value 'article' is not accepted; "
        "give icefield with autotune.yml, for no other recipe is tuned"
    ]
    path.write_text("{")
    lines = list(check_autotune({**free, "script": "t.py", "run_id": "r"}, path))
    assert lines[:2] == [
        f"setting '{name}': value '{value}' is not accepted; "
        "give nothing with autotune.yml, which measures Icefield's own training"
        for name, value in (("script", "t.py"), ("run_id", "r"))
    ]
    assert len(lines) == 3
    assert lines[2].startswith(f"{path} is not what autotune.yml writes (Expecting property name")
