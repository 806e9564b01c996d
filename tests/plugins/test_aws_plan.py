"""What is made, launched and removed on EC2, worked out from what is there."""

from pathlib import Path

import pytest
import yaml

from plugins.module_utils.aws_plan import plan, template_of

FAMILIES = yaml.safe_load((Path(__file__).parents[2] / "roles/nodes_aws/vars/types.yml").read_text())[
    "nodes_aws_families"
]
SETTINGS = {
    "cluster_name": "c",
    "aws_instance_type": "c6i.16xlarge",
    "aws_fallback_types": [],
    "aws_zones": [],
    "aws_spot": False,
    "aws_spot_fallback": False,
    "aws_disk_gb": 128,
    "aws_os": "debian12",
    "aws_ami": "",
    "aws_ami_user": "",
    "aws_vpc_cidr": "10.64.0.0/20",
    "aws_ssh_world": False,
    "ssh_cidr": "192.0.2.7/32",
    "max_hours": 8.0,
    "max_cost_usd": 0.0,
}
IMAGE = {"id": "ami-1", "name": "debian", "device": "/dev/xvda", "architecture": "x86_64", "user": "admin"}


def node(number, state="running", kind="c6i.16xlarge", zone="a"):
    return {
        "id": f"i-{number}",
        "name": f"c-{number}",
        "number": number,
        "role": "node",
        "state": state,
        "type": kind,
        "zone": zone,
    }


def look(*nodes, **changes):
    there = {
        "nodes": list(nodes),
        "vpc": {"id": "vpc-1", "kind": "default"},
        "subnets": [{"id": "s-a", "zone": "a"}, {"id": "s-b", "zone": "b"}],
        "zones": [],
        "group": {"id": "sg-1", "rules": ["-1 all sg-1", "tcp 22-22 192.0.2.7/32"]},
        "key": {"print": "k"},
        "placement": True,
        "image": IMAGE,
    }
    there["template"] = {"id": "lt-1", "spec": template_of(there, SETTINGS)["spec"]}
    return {**there, **changes}


def of(there, wanted=4, key="k", **changes):
    return plan(there, {**SETTINGS, **changes}, wanted, FAMILIES, key)


def test_a_new_cluster_is_four_launches_and_costs_what_the_table_says():
    result = of(look(group={}, key={}, placement=False, template={}))
    assert [item["name"] for item in result["launch"]] == ["c-1", "c-2", "c-3", "c-4"]
    assert result["make"] == ["group", "key", "placement", "template"]
    assert result["usd_hour"] == pytest.approx(4 * 2.72)
    assert result["usd_total"] == pytest.approx(4 * 2.72 * 8)
    assert result["faults"] == []


def test_a_cluster_that_is_there_needs_nothing():
    result = of(look(*map(node, (1, 2, 3, 4))))
    assert [result[part] for part in ("make", "launch", "start", "remove")] == [[], [], [], []]


def test_gaps_are_filled_stopped_nodes_started_and_the_highest_removed():
    result = of(look(node(1), node(3, "stopped"), node(5), node(6)), wanted=3)
    assert [item["name"] for item in result["launch"]] == ["c-2"]
    assert [item["name"] for item in result["start"]] == ["c-3"]
    assert [item["name"] for item in result["remove"]] == ["c-5", "c-6"]
    # The others fix type and zone.
    assert [(item["type"], item["zone"]) for item in result["candidates"]] == [("c6i.16xlarge", "a")]


def test_spot_is_tried_by_type_and_zone_before_on_demand():
    result = of(look(), aws_spot=True, aws_spot_fallback=True, aws_fallback_types=["m6i.16xlarge"], aws_zones=["b"])
    assert [(item["market"], item["type"], item["zone"]) for item in result["candidates"]] == [
        ("spot", "c6i.16xlarge", "b"),
        ("spot", "m6i.16xlarge", "b"),
        ("on demand", "c6i.16xlarge", "b"),
        ("on demand", "m6i.16xlarge", "b"),
    ]
    # The dearest that may come counts.
    assert result["usd_hour"] == pytest.approx(4 * 64 * 0.048)


def test_a_builder_is_launched_beside_the_nodes():
    result = of(look(node(1)), wanted=None)
    assert [(item["name"], item["number"]) for item in result["launch"]] == [("c-builder", 0)]
    assert result["remove"] == []


def test_a_vpc_of_the_clusters_own_is_cut_into_subnets():
    result = of(look(vpc={"id": "", "kind": "missing"}, subnets=[], zones=["x", "y", "z"]))
    assert result["subnets"] == [{"zone": "x", "cidr": "10.64.0.0/21"}, {"zone": "y", "cidr": "10.64.8.0/21"}]
    assert result["make"][0] == "vpc"


@pytest.mark.parametrize(
    ("changes", "there", "part"),
    [
        ({"aws_instance_type": "c7g.large"}, {}, "Arm"),
        ({"ssh_cidr": "0.0.0.0/0"}, {}, "aws_ssh_world=true"),
        ({"max_cost_usd": 87.0}, {}, "4 nodes come to $87.04 in 8 h, above $87"),
        ({"max_cost_usd": 1.0, "aws_instance_type": "x2iedn.xlarge"}, {}, "types whose price is known"),
        ({"aws_zones": ["q"]}, {}, "zones with a subnet of the network (a, b)"),
        ({}, {"nodes": [node(1), node(2, zone="b")]}, "differ in their zone (c-1 a, c-2 b)"),
        ({"aws_instance_type": "m6i.large"}, {"nodes": [node(1)]}, "give c6i.16xlarge, which the nodes have"),
        ({}, {"image": {}}, "aws_os"),
        ({}, {"image": {**IMAGE, "architecture": "arm64"}}, "an image for x86_64"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(changes, there, part):
    faults = of(look(**there), **changes)["faults"]
    assert len(faults) == 1
    assert part in faults[0]


def test_an_unknown_type_is_taken_with_one_warning():
    result = of(look(), aws_instance_type="x2iedn.xlarge")
    assert result["faults"] == []
    assert len(result["warnings"]) == 1
    assert result["usd_hour"] is None


def test_a_vpc_that_was_begun_is_finished_as_it_was_begun():
    there = look(
        vpc={"id": "vpc-1", "kind": "unfinished", "cidr": "10.99.0.0/20"},
        subnets=[{"id": "s-a", "zone": "a", "public": False}],
        zones=["a", "b", "c"],
    )
    result = of(there, wanted=1)
    assert "vpc" in result["make"]
    assert result["subnets"] == [{"zone": "a", "cidr": "10.99.0.0/21"}, {"zone": "b", "cidr": "10.99.8.0/21"}]
    assert [item["zone"] for item in result["candidates"]] == ["a", "b"]


def test_disks_and_addresses_are_counted():
    result = plan(look(node(1)), SETTINGS, 2, FAMILIES, "k", 0.02)
    assert result["usd_hour"] == pytest.approx(2 * (2.72 + 0.02))


def test_what_has_the_clusters_name_and_not_its_tag_is_refused():
    (fault,) = of(look(foreign=["key pair icefield-c"]))["faults"]
    assert fault.startswith("there is a key pair icefield-c without the tag icefield:cluster=c")


def test_nodes_in_a_zone_without_a_subnet_do_not_grow():
    there = look(node(1, zone="z"))
    (fault,) = of(there, aws_subnet_id="subnet-1")["faults"]
    assert fault == "setting 'aws_subnet_id': value 'subnet-1' is not accepted; give one in z, where the nodes are"
    assert of(there, wanted=1)["faults"] == []


def test_another_type_for_nodes_that_are_there_is_no_silent_wish():
    (line,) = of(look(node(1)), wanted=1, aws_instance_type="c7i.large")["warnings"]
    assert line == "the nodes are c6i.16xlarge and stay so; for c7i.large, destroy the cluster first"
