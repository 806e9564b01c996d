"""What AWS refuses, delays or swallows, and what becomes of the cluster then."""

import re

from .cloud import tags
from .stories import OTHER_TYPE, TYPE


def ids(step, cluster):
    return {name: item["InstanceId"] for name, item in step.nodes(cluster).items()}


def test_without_room_in_the_first_zone_all_nodes_are_in_the_second(default):
    step, cluster = default["second zone"], default["two"]
    assert step.code == 0, step.output
    nodes = step.nodes(cluster)
    assert list(nodes) == [f"{cluster}-1", f"{cluster}-2"]
    assert {(it["Placement"]["AvailabilityZone"], it["InstanceType"]) for it in nodes.values()} == {
        ("us-east-1b", TYPE)
    }
    assert (
        f"got {TYPE} in us-east-1b, on demand; no room: {TYPE} in us-east-1a, on demand: InsufficientInstanceCapacity"
        in step.output
    )
    # The first node had found room in the first zone.
    assert len(step.asked("TerminateInstances")) == 1


def test_nodes_that_ended_before_they_were_met_are_launched_anew(default):
    # With the one-time keys of the ended ones, EC2 would answer with those.
    step = default["second zone"]
    before, after = ids(default["image"], default["two"]), ids(step, default["two"])
    assert list(after) == list(before)
    assert not set(before.values()) & set(after.values())
    assert {node["State"]["Name"] for node in step.nodes(default["two"]).values()} == {"running"}


def test_without_a_default_vpc_the_cluster_gets_one_of_its_own(own):
    step = own["first four"]
    assert step.code == 0, step.output
    assert "VPC 10.64.0.0/20 with 2 subnets" in step.output
    assert "No default VPC" not in step.output
    assert len(step.nodes(own["four"])) == 4


def test_a_missing_permission_is_named_by_our_own_modules(own):
    step = own["denied here"]
    assert step.code != 0
    missing = "AWS: the permission ec2:CreateRoute is missing (UnauthorizedOperation)"
    assert step.told == [f"{missing}; docs/aws.md has the policy that is needed"]
    assert step.nodes(own["denied"]) == {}


def test_a_missing_permission_is_named_where_a_module_of_amazon_aws_meets_it(own):
    step = own["denied there"]
    assert step.code != 0
    missing = "AWS: the permission ec2:ImportKeyPair is missing (UnauthorizedOperation)"
    assert step.told == [f"{missing}; docs/aws.md has the policy that is needed"]
    # It comes after what the module itself says, which is long.
    assert step.output.rstrip().endswith(step.told[0])
    assert "Encoded authorization failure message" in step.output
    assert step.nodes(own["denied"]) == {}


def test_a_network_that_was_begun_is_finished_by_the_next_run(own):
    cut, finished = own["denied here"].region, own["denied there"].region

    def mine(region, kind):
        return {name for name, item in region[kind].items() if tags(item).get("icefield:cluster") == own["denied"]}

    assert {kind: len(mine(cut, kind)) for kind in ("vpc", "internet-gateway", "route-table", "subnet")} == {
        "vpc": 1,
        "internet-gateway": 1,
        "route-table": 1,
        "subnet": 0,
    }
    for kind in ("vpc", "internet-gateway", "route-table"):
        assert mine(finished, kind) == mine(cut, kind)
    subnets = mine(finished, "subnet")
    assert len(subnets) == 2
    assert all(finished["subnet"][name]["MapPublicIpOnLaunch"] for name in subnets)
    (table,) = mine(finished, "route-table")
    assert {way["SubnetId"] for way in finished["route-table"][table]["Associations"]} == subnets
    assert "0.0.0.0/0" in {route["DestinationCidrBlock"] for route in finished["route-table"][table]["Routes"]}


def test_what_passes_by_itself_is_asked_again(default):
    """Throttling, an answer that is lost, and an instance that EC2 does not know yet."""
    step = default["grown"]
    assert step.code == 0, step.output
    assert step.unused_faults == []
    assert len(step.asked("AuthorizeSecurityGroupIngress")) == 2
    launches = step.asked("RunInstances")
    assert len(launches) == 3
    assert len({call["ClientToken"] for call in launches}) == 1
    assert len(step.nodes(default["two"])) == 3


def test_expired_credentials_are_told_before_anything_else(own):
    step = own["expired"]
    assert step.code != 0
    assert step.told == [
        "AWS: the credentials have expired (RequestExpired on DescribeInstances); renew them and run again"
    ]
    assert len(step.calls) == 1
    assert step.region == own["before"]


def test_an_image_that_is_not_there_is_told_by_its_setting(own):
    step = own["no image"]
    assert step.code != 0
    assert step.told == [
        "setting 'aws_ami': value 'ami-0123456789abcdef0' is not accepted; give an image of this region"
    ]
    assert step.region == own["before"]


def test_a_group_that_is_still_in_use_is_removed_when_it_is_not(default):
    step = default["destroyed"]
    assert step.code == 0, step.output
    assert len(step.asked("DeleteSecurityGroup")) == 3
    assert step.unused_faults == []


def test_a_launch_without_an_answer_is_not_made_twice(default):
    cluster = default["two"]
    cut, after = default["cut"], default["after the cut"]
    assert cut.code != 0
    (line,) = cut.told
    assert re.match(r"AWS: the endpoint did not answer \(.*\); check the network and aws_region$", line)
    both = ids(cut, cluster)
    assert list(both) == [f"{cluster}-1", f"{cluster}-2"]
    assert after.code == 0, after.output
    # The second node was not listed yet: it was asked for by the same call, and is the same instance.
    first, second = cut.asked("RunInstances")[-1], after.asked("RunInstances")
    assert second == [first]
    running = set(after.region["instance"]) - set(default["before"]["instance"])
    assert running == set(both.values())


def test_spot_goes_on_to_the_next_type(own):
    step = own["next type"]
    assert step.code == 0, step.output
    assert step.unused_faults == []
    no_room = "; ".join(f"{TYPE} in us-east-1{zone}, spot: MaxSpotInstanceCountExceeded" for zone in "ab")
    assert f"got {OTHER_TYPE} in us-east-1a, spot; no room: {no_room}" in step.output
    assert [(call["InstanceType"]) for call in step.asked("RunInstances")] == [TYPE, TYPE, OTHER_TYPE, OTHER_TYPE]


def test_without_spot_the_run_stops_unless_on_demand_is_allowed(own):
    stopped, went_on = own["no spot"], own["on demand"]
    assert stopped.code != 0
    (line,) = stopped.told
    assert line.startswith("EC2 has no room for these nodes: ") and line.count("MaxSpotInstanceCountExceeded") == 2
    assert stopped.nodes(own["spot"]) == {}
    assert went_on.code == 0, went_on.output
    nodes = went_on.nodes(own["spot"])
    assert ["InstanceLifecycle" in node for node in nodes.values()] == [False, False]
    assert f"got {TYPE} in us-east-1a, on demand; no room: " in went_on.output
