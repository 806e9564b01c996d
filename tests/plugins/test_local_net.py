"""Networks and addresses of clusters on this machine."""

import ipaddress

import pytest

from plugins.module_utils import local_net


def network(name, *subnets):
    return {"name": name, "subnets": [{"subnet": subnet} for subnet in subnets]}


def test_a_cluster_keeps_the_subnet_that_its_network_has():
    networks = [network("podman", "10.88.0.0/16"), network("a-net", "198.18.3.0/24")]
    assert local_net.cluster_subnet("a-net", networks) == "198.18.3.0/24"
    assert local_net.cluster_subnet("a-net", networks, wanted="198.18.3.0/24") == "198.18.3.0/24"
    with pytest.raises(ValueError, match=r"'local_subnet': value '10\.1\.0\.0/24' .* destroy the cluster first"):
        local_net.cluster_subnet("a-net", networks, wanted="10.1.0.0/24")


def test_a_name_leads_to_the_same_free_subnet_each_time():
    first = local_net.cluster_subnet("a-net", [])
    assert first == local_net.cluster_subnet("a-net", [network("podman", "10.88.0.0/16", "fd00::/64")])
    assert ipaddress.ip_network(first).subnet_of(ipaddress.ip_network(local_net.POOL))
    assert ipaddress.ip_network(first).prefixlen == 24


def test_a_subnet_in_use_is_passed_over():
    first = local_net.cluster_subnet("a-net", [])
    second = local_net.cluster_subnet("a-net", [network("b-net", first)])
    assert not ipaddress.ip_network(first).overlaps(ipaddress.ip_network(second))


def test_a_pool_without_room_is_said():
    with pytest.raises(ValueError, match=r"no /24 of 198\.18\.0\.0/15 is free; set local_subnet"):
        local_net.cluster_subnet("a-net", [network("all", local_net.POOL)])


def test_a_wanted_subnet_that_overlaps_another_network_is_refused_by_name():
    assert local_net.cluster_subnet("a-net", [], wanted="10.9.0.0/24") == "10.9.0.0/24"
    with pytest.raises(ValueError, match=r"'10\.9\.0\.0/24' overlaps 10\.0\.0\.0/8 of the network 'office'"):
        local_net.cluster_subnet("a-net", [network("office", "10.0.0.0/8")], wanted="10.9.0.0/24")


def test_nodes_are_numbered_from_the_builder_on():
    assert [local_net.node_address("198.18.7.0/24", number) for number in (0, 1, 2)] == [
        "198.18.7.10",
        "198.18.7.11",
        "198.18.7.12",
    ]


def test_a_subnet_without_room_for_the_node_is_refused():
    assert local_net.node_address("198.18.7.0/28", 4) == "198.18.7.14"
    for number in (5, 6, 300):
        with pytest.raises(ValueError, match=f"no room for node {number}"):
            local_net.node_address("198.18.7.0/28", number)
