"""What happens to clusters on EC2, step by step, once for all tests that look at it.

A step is a run of the playbooks, some seconds long; each test asserts one thing about some of them.
"""

from .cloud import ROOT, Cloud

# AWS's own words: an encoded blob that tells a user nothing comes last.
DENIED = (
    "You are not authorized to perform this operation. User: arn:aws:iam::123456789012:user/me is not authorized to "
    "perform: ec2:{action} on resource: arn:aws:ec2:us-east-1:123456789012:*/* because no identity-based policy allows "
    "the ec2:{action} action. Encoded authorization failure message: " + "4GIOHlTkIaWHQD0Q0m6XSnuUMCm-" * 20
)
TYPE, OTHER_TYPE = "c7i.4xlarge", "c6i.4xlarge"
NO_SPOT = {
    "action": "RunInstances",
    "code": "MaxSpotInstanceCountExceeded",
    "message": "Max spot instance count exceeded",
}
THROTTLED = {"code": "RequestLimitExceeded", "message": "Request limit exceeded.", "status": 503}


def denied(action):
    return {"action": action, "code": "UnauthorizedOperation", "status": 403, "message": DENIED.format(action=action)}


def launches(node):
    """Return where a fault hits the launch of one node only."""
    return {"TagSpecification.1.Tag.1.Value": node}


def add_foreign(ec2):
    """Make what a user may have beside the cluster, with tags that look alike."""
    spec = [{"Key": "icefield:cluster", "Value": "somebody-elses"}, {"Key": "icefield", "Value": "mine"}]

    def tagged(kind):
        return {"TagSpecifications": [{"ResourceType": kind, "Tags": spec}]}

    vpc = ec2.create_vpc(CidrBlock="10.77.0.0/16", **tagged("vpc"))["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.77.0.0/24", **tagged("subnet"))["Subnet"]["SubnetId"]
    group = ec2.create_security_group(GroupName="mine", Description="x", VpcId=vpc, **tagged("security-group"))
    image = "ami-0deb1200000000002"
    machine = {"ImageId": image, "InstanceType": "c7i.large", "MinCount": 1, "MaxCount": 1, "SubnetId": subnet}
    ec2.run_instances(SecurityGroupIds=[group["GroupId"]], **machine, **tagged("instance"))
    ec2.create_volume(AvailabilityZone="us-east-1a", Size=1, **tagged("volume"))


def with_default_vpc(cloud: Cloud):
    """A cluster of two beside what a user has, in good and bad days, and after it one of four."""
    two, four = cloud.cluster("two"), cloud.cluster("four")
    add_foreign(cloud.ec2)
    steps = {"two": two, "four": four, "before": cloud.region()}

    steps["first two"] = cloud.make(two, 2)
    steps["shutdown"] = [
        cloud.attribute(instance, "instanceInitiatedShutdownBehavior") for instance in cloud.instances(two).values()
    ]
    steps["key"] = (ROOT / ".state" / two / "id_ed25519").stat().st_mode & 0o777
    steps["elsewhere"] = cloud.play("destroy.yml", two, aws_region="eu-west-1")
    cloud.ec2.stop_instances(InstanceIds=[cloud.instances(two)[f"{two}-2"]])
    changes = {"aws_ssh_cidr": "198.51.100.0/24", "aws_disk_gb": 40}
    steps["grown"] = cloud.make(
        two,
        3,
        faults=[
            {"action": "DescribeInstances", **THROTTLED},
            {"action": "AuthorizeSecurityGroupIngress", **THROTTLED},
            {"action": "RunInstances", **THROTTLED},
            {"action": "RunInstances", "kind": "cut"},
            # Of a call that names an instance and has no filters: EC2 does not know yet what it has made.
            {"action": "DescribeInstances", "code": "InvalidInstanceID.NotFound", "where": {"Filter.1.Name": None}},
        ],
        **changes,
    )
    steps["shrunk"] = cloud.make(two, 2, **changes)
    steps["image"] = cloud.play("tests/aws/playbooks/image.yml", two)

    cloud.end_nodes(two)
    no_room = {"code": "InsufficientInstanceCapacity", "message": "We do not have sufficient capacity", "status": 500}
    where = {"Placement.AvailabilityZone": "us-east-1a", **launches(f"{two}-2")}
    steps["second zone"] = cloud.make(
        two, 2, faults=[{"action": "RunInstances", "where": where, "times": 9, **no_room}], **changes
    )
    cloud.end_nodes(two)
    # boto3's own attempts are switched off: as if the controller died there.
    steps["cut"] = cloud.make(
        two,
        2,
        faults=[{"action": "RunInstances", "kind": "cut", "where": launches(f"{two}-2")}],
        environment={"AWS_MAX_ATTEMPTS": "1"},
        **changes,
    )
    # EC2 may not list at once what it has launched.
    unlisted, mark = [cloud.instances(two)[f"{two}-2"]], [{"Key": "icefield:cluster", "Value": two}]
    cloud.ec2.delete_tags(Resources=unlisted, Tags=mark)
    steps["after the cut"] = cloud.make(two, 2, **changes)
    cloud.ec2.create_tags(Resources=unlisted, Tags=mark)

    # As if a disk had been told to outlive its instance.
    volume = {"ResourceType": "volume", "Tags": mark}
    cloud.ec2.create_volume(AvailabilityZone="us-east-1a", Size=1, TagSpecifications=[volume])
    in_use = {"code": "DependencyViolation", "message": "resource sg-1 has a dependent object"}
    steps["destroyed"] = cloud.play(
        "destroy.yml", two, purge=True, faults=[{"action": "DeleteSecurityGroup", "times": 2, **in_use}]
    )

    steps["first four"] = cloud.make(four, 4)
    steps["again four"] = cloud.make(four, 4)
    return steps


def without_default_vpc(cloud: Cloud):
    """A cluster with a VPC of its own, one that does not get what it wants, and one that is not allowed to be."""
    four, spot, denied_one = cloud.cluster("own"), cloud.cluster("spot"), cloud.cluster("denied")
    steps = {"four": four, "spot": spot, "denied": denied_one, "before": cloud.region()}

    expired = {"code": "RequestExpired", "message": "Request has expired."}
    steps["expired"] = cloud.make(four, 4, faults=[{"action": "DescribeInstances", **expired}])
    steps["no image"] = cloud.make(four, 4, aws_ami="ami-0123456789abcdef0", aws_ami_user="me")
    steps["first four"] = cloud.make(four, 4)
    steps["again four"] = cloud.make(four, 4)
    steps["destroyed"] = cloud.play("destroy.yml", four)

    market = {"aws_os": "al2023", "aws_spot": True, "aws_instance_type": TYPE}
    steps["next type"] = cloud.make(
        spot,
        2,
        faults=[{**NO_SPOT, "where": {"InstanceType": TYPE}, "times": 2}],
        aws_fallback_types=[OTHER_TYPE],
        **market,
    )
    cloud.end_nodes(spot)
    nowhere = {**NO_SPOT, "where": {"InstanceMarketOptions.MarketType": "spot"}, "times": 99}
    steps["no spot"] = cloud.make(spot, 2, faults=[nowhere], **market)
    steps["on demand"] = cloud.make(spot, 2, faults=[nowhere], aws_spot_fallback=True, **market)

    steps["denied here"] = cloud.make(denied_one, 2, faults=[denied("CreateRoute")])
    steps["denied there"] = cloud.make(denied_one, 2, faults=[denied("ImportKeyPair")])
    return steps
