"""The test endpoint does what EC2 does and moto does not."""

import base64
import uuid

import pytest

boto3 = pytest.importorskip("boto3")
from botocore.config import Config  # noqa: E402
from botocore.exceptions import ClientError, ConnectionClosedError  # noqa: E402

DEBIAN = "ami-0deb1200000000002"


@pytest.fixture
def ec2(endpoint):
    endpoint.clear()
    yield boto3.client("ec2", config=Config(retries={"total_max_attempts": 1}))
    endpoint.clear()


def unique(prefix):
    return f"{prefix}-{uuid.uuid4().hex[:8]}"


def run(ec2, **changes):
    request = {"ImageId": DEBIAN, "InstanceType": "c7i.large", "MinCount": 1, "MaxCount": 1} | changes
    return ec2.run_instances(**request)["Instances"]


def described(ec2, instance):
    answer = ec2.describe_instances(InstanceIds=[instance["InstanceId"]])
    return answer["Reservations"][0]["Instances"][0]


def refused(code):
    return pytest.raises(ClientError, match=rf"\({code}\)")


def test_calls_are_logged_with_their_parameters(ec2, endpoint):
    ec2.describe_instances(Filters=[{"Name": "tag:a", "Values": ["b"]}])
    boto3.client("ssm").get_parameters(Names=["/x"])
    boto3.client("sts").get_caller_identity()
    assert endpoint.calls() == [
        {
            "service": "ec2",
            "action": "DescribeInstances",
            "params": {"Filter.1.Name": "tag:a", "Filter.1.Value.1": "b"},
        },
        {"service": "ssm", "action": "GetParameters", "params": {"Names": ["/x"]}},
        {"service": "sts", "action": "GetCallerIdentity", "params": {}},
    ]
    endpoint.clear()
    assert endpoint.calls() == []


def test_an_error_comes_before_the_call_has_an_effect(ec2, endpoint):
    endpoint.fault("CreateVpc", code="VpcLimitExceeded", message="no more", times=2)
    count = len(ec2.describe_vpcs()["Vpcs"])
    for _ in range(2):
        with refused("VpcLimitExceeded"):
            ec2.create_vpc(CidrBlock="10.9.0.0/16")
    assert len(ec2.describe_vpcs()["Vpcs"]) == count
    assert endpoint.faults() == []
    assert len(endpoint.calls("CreateVpc")) == 2


def test_a_fault_may_be_for_one_zone_only(ec2, endpoint):
    endpoint.fault(
        "RunInstances",
        code="InsufficientInstanceCapacity",
        status=500,
        where={"Placement.AvailabilityZone": "us-east-1a"},
    )
    subnets = {row["AvailabilityZone"]: row["SubnetId"] for row in ec2.describe_subnets()["Subnets"]}
    run(ec2, SubnetId=subnets["us-east-1b"])
    with refused("InsufficientInstanceCapacity"):
        run(ec2, SubnetId=subnets["us-east-1a"])
    run(ec2, Placement={"AvailabilityZone": "us-east-1a"})


def test_faults_of_ssm_and_sts_come_in_their_own_form(endpoint):
    endpoint.fault("GetParameters", code="ThrottlingException")
    with refused("ThrottlingException"):
        boto3.client("ssm", config=Config(retries={"total_max_attempts": 1})).get_parameters(Names=["/x"])
    endpoint.fault("GetCallerIdentity", code="ExpiredToken", status=403)
    with refused("ExpiredToken"):
        boto3.client("sts", config=Config(retries={"total_max_attempts": 1})).get_caller_identity()


def test_a_cut_call_has_its_effect_and_no_answer(ec2, endpoint):
    token, tags = unique("token"), [{"Key": "cut", "Value": unique("v")}]
    request = {"ClientToken": token, "TagSpecifications": [{"ResourceType": "instance", "Tags": tags}]}
    endpoint.fault("RunInstances", kind="cut")
    with pytest.raises(ConnectionClosedError):
        run(ec2, **request)
    again = run(ec2, **request)
    found = ec2.describe_instances(Filters=[{"Name": "tag:cut", "Values": [tags[0]["Value"]]}])
    assert [row["Instances"][0]["InstanceId"] for row in found["Reservations"]] == [again[0]["InstanceId"]]


def test_a_token_makes_one_reservation(ec2):
    token = unique("token")
    first, second = run(ec2, ClientToken=token), run(ec2, ClientToken=token)
    assert first[0]["InstanceId"] == second[0]["InstanceId"]
    with refused("IdempotentParameterMismatch"):
        run(ec2, ClientToken=token, InstanceType="c7i.xlarge")
    assert run(ec2)[0]["InstanceId"] != first[0]["InstanceId"]


def test_placement_groups(ec2):
    name, tags = unique("group"), [{"Key": "icefield:cluster", "Value": unique("c")}]
    spec = [{"ResourceType": "placement-group", "Tags": tags}]
    made = ec2.create_placement_group(GroupName=name, Strategy="cluster", TagSpecifications=spec)["PlacementGroup"]
    assert (made["GroupName"], made["Strategy"], made["State"]) == (name, "cluster", "available")
    with refused("InvalidPlacementGroup.Duplicate"):
        ec2.create_placement_group(GroupName=name, Strategy="cluster")
    by_tag = [{"Name": "tag:icefield:cluster", "Values": [tags[0]["Value"]]}]
    assert [row["GroupName"] for row in ec2.describe_placement_groups(Filters=by_tag)["PlacementGroups"]] == [name]
    by_name = [{"Name": "group-name", "Values": [name]}]
    assert ec2.describe_placement_groups(Filters=by_name)["PlacementGroups"][0]["Tags"] == tags
    ec2.create_tags(Resources=[made["GroupId"]], Tags=[{"Key": "more", "Value": "1"}])
    found = ec2.describe_tags(Filters=[{"Name": "resource-id", "Values": [made["GroupId"]]}])["Tags"]
    assert {(row["ResourceType"], row["Key"]) for row in found} == {
        ("placement-group", "icefield:cluster"),
        ("placement-group", "more"),
    }
    instance = run(ec2, Placement={"GroupName": name})[0]
    with refused("InvalidPlacementGroup.InUse"):
        ec2.delete_placement_group(GroupName=name)
    ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
    ec2.delete_placement_group(GroupName=name)
    with refused("InvalidPlacementGroup.Unknown"):
        ec2.describe_placement_groups(GroupNames=[name])
    with refused("InvalidPlacementGroup.Unknown"):
        run(ec2, Placement={"GroupName": name})


def template_data(ec2, group, key, name):
    vpc = ec2.describe_vpcs()["Vpcs"][0]["VpcId"]
    security_group = ec2.create_security_group(GroupName=name, Description="x", VpcId=vpc)["GroupId"]
    subnet = ec2.describe_subnets()["Subnets"][1]["SubnetId"]
    return {
        "ImageId": DEBIAN,
        "InstanceType": "c7i.xlarge",
        "KeyName": key,
        "UserData": base64.b64encode(b"#cloud-config\n").decode(),
        "InstanceInitiatedShutdownBehavior": "terminate",
        "InstanceMarketOptions": {"MarketType": "spot"},
        "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 1},
        "Placement": {"GroupName": group},
        "NetworkInterfaces": [
            {"DeviceIndex": 0, "SubnetId": subnet, "Groups": [security_group], "AssociatePublicIpAddress": True}
        ],
        "BlockDeviceMappings": [
            {
                "DeviceName": "/dev/xvda",
                "Ebs": {"VolumeSize": 40, "VolumeType": "gp3", "Encrypted": True, "Throughput": 250, "Iops": 4000},
            }
        ],
        "TagSpecifications": [
            {"ResourceType": kind, "Tags": [{"Key": "from", "Value": "template"}, {"Key": "kind", "Value": kind}]}
            for kind in ("instance", "volume", "network-interface")
        ],
    }


def test_a_launch_template_reaches_the_instance(ec2):
    group, key, name = unique("group"), unique("key"), unique("template")
    ec2.create_placement_group(GroupName=group, Strategy="cluster")
    ec2.create_key_pair(KeyName=key, KeyType="ed25519")
    data = template_data(ec2, group, key, name)
    ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)
    over = [{"ResourceType": "instance", "Tags": [{"Key": "from", "Value": "request"}]}]
    made = ec2.run_instances(
        LaunchTemplate={"LaunchTemplateName": name}, MinCount=1, MaxCount=2, TagSpecifications=over
    )["Instances"]
    assert len(made) == 2
    instance = described(ec2, made[0])
    nic = data["NetworkInterfaces"][0]
    assert instance["ImageId"] == DEBIAN
    assert instance["InstanceType"] == "c7i.xlarge"
    assert instance["KeyName"] == key
    assert instance["InstanceLifecycle"] == "spot"
    assert instance["Placement"]["GroupName"] == group
    assert instance["MetadataOptions"]["HttpTokens"] == "required"
    assert instance["SubnetId"] == nic["SubnetId"]
    assert [row["GroupId"] for row in instance["SecurityGroups"]] == nic["Groups"]
    assert instance["PublicIpAddress"] == instance["PrivateIpAddress"]
    tags = {row["Key"]: row["Value"] for row in instance["Tags"]}
    assert tags["from"] == "request" and tags["kind"] == "instance"
    for attribute, wanted in (
        ("userData", data["UserData"]),
        ("instanceInitiatedShutdownBehavior", "terminate"),
    ):
        value = ec2.describe_instance_attribute(InstanceId=instance["InstanceId"], Attribute=attribute)
        assert value[attribute[0].upper() + attribute[1:]]["Value"] == wanted
    mappings = instance["BlockDeviceMappings"]
    assert [row["DeviceName"] for row in mappings] == ["/dev/xvda"]
    assert mappings[0]["Ebs"]["DeleteOnTermination"] is True
    volume = ec2.describe_volumes(VolumeIds=[mappings[0]["Ebs"]["VolumeId"]])["Volumes"][0]
    assert {part: volume[part] for part in ("Size", "VolumeType", "Encrypted", "Iops", "Throughput")} == {
        "Size": 40,
        "VolumeType": "gp3",
        "Encrypted": True,
        "Iops": 4000,
        "Throughput": 250,
    }
    assert {row["Key"]: row["Value"] for row in volume["Tags"]} == {"from": "template", "kind": "volume"}
    interface = instance["NetworkInterfaces"][0]["NetworkInterfaceId"]
    shown = ec2.describe_network_interfaces(NetworkInterfaceIds=[interface])["NetworkInterfaces"][0]
    assert {"Key": "kind", "Value": "network-interface"} in shown["TagSet"]
    ec2.terminate_instances(InstanceIds=[row["InstanceId"] for row in made])
    ec2.terminate_instances(InstanceIds=[row["InstanceId"] for row in made])
    left = ec2.describe_volumes(Filters=[{"Name": "volume-id", "Values": [volume["VolumeId"]]}])["Volumes"]
    assert left == []


def test_a_request_says_what_a_template_says(ec2):
    group, key, name = unique("group"), unique("key"), unique("request")
    ec2.create_placement_group(GroupName=group, Strategy="cluster")
    ec2.create_key_pair(KeyName=key, KeyType="ed25519")
    data = template_data(ec2, group, key, name) | {"UserData": "#cloud-config\n"}
    instance = described(ec2, run(ec2, **data)[0])
    assert instance["InstanceLifecycle"] == "spot"
    assert instance["Placement"]["GroupName"] == group
    assert len(instance["BlockDeviceMappings"]) == 1
    value = ec2.describe_instance_attribute(InstanceId=instance["InstanceId"], Attribute="userData")
    assert base64.b64decode(value["UserData"]["Value"]) == b"#cloud-config\n"


def test_a_new_version_of_a_template_starts_from_another(ec2):
    name = unique("template")
    user_data = base64.b64encode(b"#!/bin/sh\n").decode()
    data = {"ImageId": DEBIAN, "InstanceType": "c7i.large", "UserData": user_data}
    ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)
    change = {"InstanceType": "c7i.2xlarge"}
    ec2.create_launch_template_version(LaunchTemplateName=name, SourceVersion="1", LaunchTemplateData=change)
    request = {"LaunchTemplate": {"LaunchTemplateName": name, "Version": "$Latest"}, "MinCount": 1, "MaxCount": 1}
    instance = ec2.run_instances(**request)["Instances"][0]
    assert instance["InstanceType"] == "c7i.2xlarge"
    value = ec2.describe_instance_attribute(InstanceId=instance["InstanceId"], Attribute="userData")
    assert value["UserData"]["Value"] == user_data


def test_a_template_is_described_with_the_tags_that_it_has_now(ec2):
    name, data = unique("template"), {"ImageId": DEBIAN}
    spec = [{"ResourceType": "launch-template", "Tags": [{"Key": "spec", "Value": "old"}]}]
    made = ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data, TagSpecifications=spec)
    template = made["LaunchTemplate"]["LaunchTemplateId"]
    ec2.create_tags(Resources=[template], Tags=[{"Key": "spec", "Value": "new"}])
    shown = ec2.describe_launch_templates(LaunchTemplateIds=[template])["LaunchTemplates"][0]
    assert shown["Tags"] == [{"Key": "spec", "Value": "new"}]


def test_versions_of_a_template_are_deleted_except_the_default_one(ec2):
    name = unique("template")
    data = {"ImageId": DEBIAN, "InstanceType": "c7i.large"}
    template = ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)["LaunchTemplate"]
    for size in ("xlarge", "2xlarge"):
        change = {"InstanceType": f"c7i.{size}"}
        ec2.create_launch_template_version(LaunchTemplateName=name, SourceVersion="1", LaunchTemplateData=change)
    answer = ec2.delete_launch_template_versions(LaunchTemplateId=template["LaunchTemplateId"], Versions=["1", "2"])
    assert [row["VersionNumber"] for row in answer["SuccessfullyDeletedLaunchTemplateVersions"]] == [2]
    assert [row["VersionNumber"] for row in answer["UnsuccessfullyDeletedLaunchTemplateVersions"]] == [1]
    left = ec2.describe_launch_template_versions(LaunchTemplateName=name)["LaunchTemplateVersions"]
    assert {row["VersionNumber"]: row["LaunchTemplateData"]["InstanceType"] for row in left} == {
        1: "c7i.large",
        3: "c7i.2xlarge",
    }


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"ImageId": "ami-0123456789abcdef0"}, "InvalidAMIID.NotFound"),
        ({"InstanceType": "c7i.huge"}, "InvalidInstanceType.NotFound"),
        ({"KeyName": "nobody"}, "InvalidKeyPair.NotFound"),
    ],
)
def test_what_is_unknown_is_refused(ec2, change, code):
    with refused(code):
        run(ec2, **change)


def test_addresses_of_a_subnet_start_after_the_reserved_ones(ec2):
    subnets = ec2.describe_subnets(Filters=[{"Name": "default-for-az", "Values": ["true"]}])["Subnets"]
    assert [row["CidrBlock"] for row in subnets] == ["198.19.96.0/22", "198.19.100.0/22", "198.19.104.0/22"]
    vpc = ec2.create_vpc(CidrBlock="198.18.0.0/24")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="198.18.0.0/28")["Subnet"]["SubnetId"]
    made = run(ec2, SubnetId=subnet, MinCount=3, MaxCount=3)
    assert [row["PrivateIpAddress"] for row in made] == ["198.18.0.4", "198.18.0.5", "198.18.0.6"]


def test_a_subnet_of_a_users_own_vpc_gives_no_public_addresses_unless_told(ec2):
    vpc = ec2.create_vpc(CidrBlock="198.18.2.0/24")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="198.18.2.0/26", AvailabilityZone="us-east-1f")["Subnet"]
    assert (subnet["MapPublicIpOnLaunch"], subnet["DefaultForAz"]) == (False, False)
    assert "PublicIpAddress" not in described(ec2, run(ec2, SubnetId=subnet["SubnetId"])[0])
    ec2.modify_subnet_attribute(SubnetId=subnet["SubnetId"], MapPublicIpOnLaunch={"Value": True})
    assert "PublicIpAddress" in described(ec2, run(ec2, SubnetId=subnet["SubnetId"])[0])


def test_an_instance_without_a_subnet_goes_to_the_default_one_of_its_zone(ec2):
    first, third = run(ec2)[0], run(ec2, Placement={"AvailabilityZone": "us-east-1c"})[0]
    assert first["PrivateIpAddress"].startswith(("198.19.96.", "198.19.97.", "198.19.98.", "198.19.99."))
    assert third["PrivateIpAddress"].startswith("198.19.104.")
    shown = described(ec2, third)
    assert shown["Placement"]["AvailabilityZone"] == "us-east-1c"
    assert shown["PublicIpAddress"] == shown["PrivateIpAddress"]
    assert [row["GroupName"] for row in shown["SecurityGroups"]] == ["default"]


def test_what_is_in_use_is_not_deleted(ec2):
    vpc = ec2.create_vpc(CidrBlock="198.18.1.0/24")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="198.18.1.0/26")["Subnet"]["SubnetId"]
    group = ec2.create_security_group(GroupName="own", Description="x", VpcId=vpc)["GroupId"]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    instance = run(ec2, SubnetId=subnet, SecurityGroupIds=[group])[0]
    for attempt in (
        lambda: ec2.delete_subnet(SubnetId=subnet),
        lambda: ec2.delete_security_group(GroupId=group),
        lambda: ec2.delete_internet_gateway(InternetGatewayId=gateway),
        lambda: ec2.delete_vpc(VpcId=vpc),
    ):
        with refused("DependencyViolation"):
            attempt()
    ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
    assert not {"PrivateIpAddress", "PublicIpAddress"} & set(described(ec2, instance))
    ec2.delete_subnet(SubnetId=subnet)
    with refused("DependencyViolation"):
        ec2.delete_vpc(VpcId=vpc)
    ec2.delete_security_group(GroupId=group)
    with refused("DependencyViolation"):
        ec2.delete_vpc(VpcId=vpc)
    ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    ec2.delete_vpc(VpcId=vpc)
    ec2.delete_internet_gateway(InternetGatewayId=gateway)


def test_the_reason_of_an_end_stays(ec2):
    instance = run(ec2)[0]
    ids = [instance["InstanceId"]]
    ec2.terminate_instances(InstanceIds=ids)
    again = ec2.terminate_instances(InstanceIds=ids)["TerminatingInstances"][0]
    assert again["PreviousState"]["Name"] == "terminated"
    with refused("IncorrectInstanceState"):
        ec2.start_instances(InstanceIds=ids)


def test_checkip_answers_the_callers_address(endpoint):
    assert endpoint.page("checkip") == "127.0.0.1\n"


def test_images_are_there(ec2):
    found = ec2.describe_images(
        Owners=["136693071363"],
        Filters=[{"Name": "name", "Values": ["debian-12-amd64-*"]}, {"Name": "architecture", "Values": ["x86_64"]}],
    )["Images"]
    assert max(found, key=lambda image: image["CreationDate"])["ImageId"] == DEBIAN
    assert len(found) == 2
    name = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"
    value = boto3.client("ssm").get_parameter(Name=name)["Parameter"]["Value"]
    amazon = ec2.describe_images(ImageIds=[value])["Images"][0]
    assert (amazon["OwnerId"], amazon["RootDeviceName"]) == ("137112412989", "/dev/xvda")
    assert amazon["BlockDeviceMappings"][0]["Ebs"]["VolumeSize"] == 8


def test_an_image_is_made_of_an_instance(ec2):
    disk = [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 30}}]
    instance = run(ec2, BlockDeviceMappings=disk)[0]["InstanceId"]
    specs = [{"ResourceType": kind, "Tags": [{"Key": "of", "Value": kind}]} for kind in ("image", "snapshot")]
    made = ec2.create_image(InstanceId=instance, Name=unique("image"), TagSpecifications=specs)["ImageId"]
    image = ec2.describe_images(Owners=["self"], ImageIds=[made])["Images"][0]
    assert (image["State"], image["RootDeviceName"]) == ("available", "/dev/xvda")
    assert image["Tags"] == [{"Key": "of", "Value": "image"}]
    ebs = image["BlockDeviceMappings"][0]["Ebs"]
    assert ebs["VolumeSize"] == 30
    snapshot = ec2.describe_snapshots(SnapshotIds=[ebs["SnapshotId"]])["Snapshots"][0]
    assert snapshot["Tags"] == [{"Key": "of", "Value": "snapshot"}]
    ec2.deregister_image(ImageId=made)
    ec2.delete_snapshot(SnapshotId=ebs["SnapshotId"])
    with refused("InvalidAMIID.*"):
        run(ec2, ImageId=made)
