"""Filters on nodes: their order, their answers, their containers."""

import pytest

from plugins.filter.container_options import container_options
from plugins.filter.node_addresses import node_addresses
from plugins.filter.node_answers import node_answers, python_version_between


def test_nodes_come_in_the_order_of_their_numbers():
    names = ["c-10", "c-9", "c-1", "b-2", "c-2"]
    hostvars = {name: {"icefield_address": f"10.0.0.{number}"} for number, name in enumerate(names)}
    assert [node["name"] for node in node_addresses(names, hostvars)] == ["b-2", "c-1", "c-2", "c-9", "c-10"]


def test_names_with_and_without_numbers_can_be_ordered():
    names = ["2nd", "node", "node-1", "1st", "n"]
    assert [node["name"] for node in node_addresses(names, {name: {} for name in names})] == [
        "n",
        "node",
        "node-1",
        "1st",
        "2nd",
    ]


def test_the_address_among_nodes_goes_before_the_controllers():
    hostvars = {
        "a": {"icefield_address": "10.0.0.1", "ansible_host": "192.0.2.1"},
        "b": {"icefield_address": "", "ansible_host": "192.0.2.2"},
        "c": {},
    }
    assert [node["address"] for node in node_addresses("abc", hostvars)] == ["10.0.0.1", "192.0.2.2", "c"]


def test_answers_are_found_among_other_lines():
    text = (
        "Authorized uses only. python is not spoken here\r\n"
        "python 3.11.2\r\nhostname node-1\n\n"
        "cut: /etc/ssh/ssh_host_ed25519_key.pub: No such file or directory\nhost_key\nfingerprint 0123456789ab \n"
    )
    assert node_answers(text) == {
        "python": "3.11.2",
        "hostname": "node-1",
        "machine": "",
        "host_key": "",
        "fingerprint": "0123456789ab",
    }


def test_no_answer_at_all_is_an_empty_one_to_each_question():
    assert set(node_answers("").values()) == {""}


@pytest.mark.parametrize("version", ["3.9", "3.9.0", "3.11.2", "3.14.1", " 3.10 "])
def test_versions_within_the_bounds_fit(version):
    assert python_version_between(version, "3.9", "3.14")


@pytest.mark.parametrize("version", ["3.8.19", "3.15.0", "2.7.18", "4.0", "", "sh: python3: not found"])
def test_versions_outside_and_no_version_do_not_fit(version):
    assert not python_version_between(version, "3.9", "3.14")


NODE = {"name": "c-2", "number": 2, "address": "198.18.0.12", "kind": "node", "image": "i:1", "volumes": ["v:/env:ro"]}


def test_a_container_carries_its_name_address_and_labels():
    options = container_options(NODE, {"init": True, "image": "other"}, "c", "/src")
    assert options == {
        "init": True,
        "name": "c-2",
        "hostname": "c-2",
        "image": "i:1",
        "ip": "198.18.0.12",
        "mac_address": "02:1c:c6:12:00:0c",
        "volumes": ["v:/env:ro"],
        "labels": {
            "icefield.kind": "node",
            "icefield.cluster": "c",
            "icefield.node_rank": "1",
            "icefield.address": "198.18.0.12",
            "icefield.root": "/src",
        },
    }


def test_a_container_without_volumes_has_no_list_of_them():
    assert "volumes" not in container_options({**NODE, "volumes": []}, {}, "c", "/src")
