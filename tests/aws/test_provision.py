"""What the playbooks make, change and remove on EC2, seen from outside."""

import pytest

from .cloud import KINDS, tags
from .stories import OTHER_TYPE

# What EC2 makes with a VPC and removes with it; it cannot be told to tag them.
OF_A_VPC = {"security-group": lambda item: item["GroupName"] == "default"}
OF_A_VPC["route-table"] = lambda item: any(way["Main"] for way in item["Associations"])


def new(before, after):
    """Return kind, id and description of everything that is there after and was not before."""
    for kind, items in after.items():
        for name, item in items.items():
            if name not in before[kind] and not OF_A_VPC.get(kind, lambda item: False)(item):
                yield kind, name, item


@pytest.mark.parametrize("where", ["default", "own"])
def test_everything_that_is_made_carries_the_tag(stories, where):
    steps = stories[where]
    cluster, step = (steps["two"], "first two") if where == "default" else (steps["four"], "first four")
    made = list(new(steps["before"], steps[step].region))
    assert [(kind, name) for kind, name, item in made if tags(item).get("icefield:cluster") != cluster] == []
    network = {"vpc", "subnet", "internet-gateway", "route-table"}
    wanted = {"instance", *KINDS} - {"image", "snapshot"} - (network if where == "default" else set())
    assert {kind for kind, _, _ in made} == wanted


def test_the_group_lets_in_its_members_and_one_address_and_nothing_else(default):
    for step, address in (("first two", "127.0.0.1/32"), ("grown", "198.51.100.0/24")):
        found = [
            item
            for item in default[step].region["security-group"].values()
            if tags(item).get("icefield:cluster") == default["two"]
        ]
        assert len(found) == 1
        group = found[0]
        everything, ssh = sorted(group["IpPermissions"], key=lambda rule: rule["IpProtocol"])
        assert everything["IpProtocol"] == "-1"
        assert [pair["GroupId"] for pair in everything["UserIdGroupPairs"]] == [group["GroupId"]]
        assert (ssh["IpProtocol"], ssh["FromPort"], ssh["ToPort"]) == ("tcp", 22, 22)
        assert [row["CidrIp"] for row in ssh["IpRanges"]] == [address]
        for rule, own in ((everything, "UserIdGroupPairs"), (ssh, "IpRanges")):
            sources = ("IpRanges", "Ipv6Ranges", "PrefixListIds", "UserIdGroupPairs")
            assert [kind for kind in sources if rule.get(kind)] == [own]
        for node in default[step].nodes(default["two"]).values():
            assert [row["GroupId"] for row in node["SecurityGroups"]] == [group["GroupId"]]


def test_nodes_are_what_was_asked_for(default):
    step, cluster = default["first two"], default["two"]
    nodes = step.nodes(cluster)
    assert list(nodes) == [f"{cluster}-1", f"{cluster}-2"]
    for node in nodes.values():
        assert (node["InstanceType"], node["ImageId"]) == ("c7i.4xlarge", "ami-0deb1200000000002")
        assert (node["MetadataOptions"]["HttpTokens"], node["MetadataOptions"]["HttpEndpoint"]) == (
            "required",
            "enabled",
        )
        assert node["Placement"]["GroupName"] == f"icefield-{cluster}"
        assert node["PublicIpAddress"]
        assert "InstanceLifecycle" not in node
        disks = node["BlockDeviceMappings"]
        assert [disk["Ebs"]["DeleteOnTermination"] for disk in disks] == [True]
        volume = step.region["volume"][disks[0]["Ebs"]["VolumeId"]]
        assert (volume["VolumeType"], volume["Size"], volume["Encrypted"]) == ("gp3", 128, True)
    assert default["shutdown"] == ["terminate", "terminate"]
    assert default["key"] == 0o600


def test_a_second_run_changes_nothing(default, own):
    for steps in (default, own):
        assert (steps["again four"].code, steps["again four"].changed) == (0, 0)
        assert steps["again four"].region == steps["first four"].region


def test_a_stopped_node_is_started_and_not_doubled(default):
    before, after = default["first two"].nodes(default["two"]), default["grown"].nodes(default["two"])
    second = f"{default['two']}-2"
    assert after[second]["InstanceId"] == before[second]["InstanceId"]
    assert after[second]["State"]["Name"] == "running"


def test_growing_adds_the_next_number_as_it_is_wanted_now(default):
    cluster, step = default["two"], default["grown"]
    before, after = default["first two"].nodes(cluster), step.nodes(cluster)
    assert list(after) == [f"{cluster}-1", f"{cluster}-2", f"{cluster}-3"]
    assert {name: after[name]["InstanceId"] for name in before} == {
        name: item["InstanceId"] for name, item in before.items()
    }
    sizes = [
        step.region["volume"][node["BlockDeviceMappings"][0]["Ebs"]["VolumeId"]]["Size"] for node in after.values()
    ]
    assert sizes == [128, 128, 40]


def test_shrinking_removes_the_highest_number(default):
    cluster = default["two"]
    before, after = default["grown"].nodes(cluster), default["shrunk"].nodes(cluster)
    assert list(after) == [f"{cluster}-1", f"{cluster}-2"]
    assert [item["InstanceId"] for item in after.values()] == [item["InstanceId"] for item in before.values()][:2]


def test_nodes_start_from_the_image_that_was_baked(default):
    step = default["image"]
    assert step.code == 0, step.output
    made = {kind: (name, item) for kind, name, item in new(default["shrunk"].region, step.region)}
    assert set(made) == {"image", "snapshot"}
    assert {tags(item).get("icefield:cluster") for _, item in made.values()} == {default["two"]}
    nodes = default["second zone"].nodes(default["two"])
    assert [node["ImageId"] for node in nodes.values()] == [made["image"][0]] * 2


def test_a_cluster_is_not_looked_for_in_another_region(default):
    two = default["two"]
    assert default["elsewhere"].code != 0
    assert default["elsewhere"].told == [
        "setting 'aws_region': value 'eu-west-1' is not accepted; "
        f"give us-east-1, where the cluster '{two}' is, or another cluster_name"
    ]
    assert default["elsewhere"].calls == []
    assert set(default["elsewhere"].nodes(two)) == {f"{two}-1", f"{two}-2"}


def test_destroy_leaves_the_region_as_it_was_before(default, own):
    # What the user has beside the cluster is a part of that.
    assert any(tags(item).get("icefield") == "mine" for item in default["before"]["instance"].values())
    for steps in (default, own):
        assert steps["destroyed"].code == 0, steps["destroyed"].output
        assert "on EC2 in us-east-1: nothing" in steps["destroyed"].output
        assert steps["destroyed"].region == steps["before"]


def test_a_vpc_of_the_clusters_own_leads_to_the_internet(own):
    region = own["first four"].region
    (vpc,) = region["vpc"]
    assert region["vpc"][vpc]["CidrBlock"] == "10.64.0.0/20"
    (gateway,) = region["internet-gateway"].values()
    assert [way["VpcId"] for way in gateway["Attachments"]] == [vpc]
    assert {(item["AvailabilityZone"], item["CidrBlock"]) for item in region["subnet"].values()} == {
        ("us-east-1a", "10.64.0.0/21"),
        ("us-east-1b", "10.64.8.0/21"),
    }
    (table,) = [item for item in region["route-table"].values() if tags(item)]
    routes = [route for route in table["Routes"] if route["DestinationCidrBlock"] == "0.0.0.0/0"]
    assert [route["GatewayId"] for route in routes] == [gateway["InternetGatewayId"]]
    assert {way["SubnetId"] for way in table["Associations"]} == set(region["subnet"])
    assert all(node["PublicIpAddress"] for node in own["first four"].nodes(own["four"]).values())


def test_spot_is_asked_for_at_the_launch(own):
    nodes = own["next type"].nodes(own["spot"])
    assert [node["InstanceLifecycle"] for node in nodes.values()] == ["spot", "spot"]
    for call in own["next type"].asked("RunInstances"):
        assert call["InstanceMarketOptions.MarketType"] == "spot"
        # Not started again by EC2 when it was interrupted, and gone then.
        assert call["InstanceMarketOptions.SpotOptions.SpotInstanceType"] == "one-time"
        assert call["InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior"] == "terminate"
        tagged = {value for name, value in call.items() if name.endswith(".ResourceType")}
        assert tagged == {"instance", "volume", "network-interface", "spot-instances-request"}
    assert {node["InstanceType"] for node in nodes.values()} == {OTHER_TYPE}
    assert {node["ImageId"] for node in nodes.values()} == {"ami-0a120230000000001"}
