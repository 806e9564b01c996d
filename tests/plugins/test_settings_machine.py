"""The nodes asked for against the nodes there are."""

import pytest

from plugins.module_utils.settings_machine import Cluster, check_cluster


def cluster(*numbers, backend="local"):
    addresses = {f"c-{number}": f"198.18.0.{10 + number}" for number in numbers}
    return Cluster(backend=backend, nodes=len(numbers), name="c", addresses=addresses)


@pytest.mark.parametrize(
    ("numbers", "named"),
    [((2, 3, 4), "c-1"), ((1, 2, 4), "c-3"), ((3,), "c-1, c-2"), ((1, 2, 3), ""), ((1,), "")],
)
def test_nodes_that_do_not_run_are_missed_by_training_and_by_stopping_a_run(numbers, named):
    lines = list(check_cluster("train", None, cluster(*numbers)))
    assert lines == list(check_cluster("status", None, cluster(*numbers), stop="r"))
    if named:
        assert lines == [
            f"{named} of the cluster not running; bring it back: "
            f"ansible-playbook provision.yml -e nodes={max(2, *numbers)} -e cluster_name=c"
        ]
    else:
        assert lines == []


def test_status_alone_and_provision_take_a_cluster_with_nodes_missing():
    assert list(check_cluster("status", None, cluster(2))) == []
    assert list(check_cluster("provision", 3, cluster(2))) == []


def test_servers_of_the_users_own_have_names_of_their_own():
    servers = Cluster(backend="onprem", nodes=2, addresses={"c-2": "192.0.2.1", "c-9": "192.0.2.2"})
    assert list(check_cluster("train", None, servers)) == []
