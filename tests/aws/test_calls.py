"""How often AWS is asked: rarely, and not much more often for more nodes.

All of provision.yml asks as often: what it does on the nodes asks nothing, and its inventory is read here too.
"""

import pytest

FIRST, SECOND = 60, 15


@pytest.mark.parametrize("where", ["default", "own"])
def test_a_cluster_of_four_takes_few_calls(stories, where):
    first, second = stories[where]["first four"], stories[where]["again four"]
    assert first.code == second.code == 0
    assert len(first.calls) <= FIRST, first.counts
    assert len(second.calls) <= SECOND, second.counts


def test_each_node_takes_one_call_more(default, own):
    assert default["first four"].counts - default["first two"].counts == {"RunInstances": 2}
    assert default["first two"].counts - default["first four"].counts == {}
    # The cluster of two found no room twice, and its system is looked up by a parameter.
    two = own["next type"].counts
    assert two["RunInstances"] == 2 + 2
    assert {**two, "GetParameter": 0} == {**own["first four"].counts, "GetParameter": 0}


def test_inventory_is_read_at_the_beginning_and_when_the_nodes_are_there(default):
    actions = [call["action"] for call in default["again four"].calls]
    assert (actions[0], actions[-1]) == ("DescribeInstances", "DescribeInstances")
