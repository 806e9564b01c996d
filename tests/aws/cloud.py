"""A region of the test endpoint, as the playbooks change it and as a test sees it."""

import json
import os
import re
import subprocess
from collections import Counter
from dataclasses import dataclass

import boto3

from .conftest import ROOT

INVENTORIES = ("-i", "inventory/aws_ec2.yml", "-i", "tests/aws/inventory/quick.yml")
# Call, list in its answer, id of an item, what makes the list one of the account's own.
KINDS = {
    "volume": ("describe_volumes", "Volumes", "VolumeId", {}),
    "network-interface": ("describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId", {}),
    "security-group": ("describe_security_groups", "SecurityGroups", "GroupId", {}),
    "key-pair": ("describe_key_pairs", "KeyPairs", "KeyPairId", {}),
    "placement-group": ("describe_placement_groups", "PlacementGroups", "GroupId", {}),
    "launch-template": ("describe_launch_templates", "LaunchTemplates", "LaunchTemplateId", {}),
    "vpc": ("describe_vpcs", "Vpcs", "VpcId", {}),
    "subnet": ("describe_subnets", "Subnets", "SubnetId", {}),
    "internet-gateway": ("describe_internet_gateways", "InternetGateways", "InternetGatewayId", {}),
    "route-table": ("describe_route_tables", "RouteTables", "RouteTableId", {}),
    "image": ("describe_images", "Images", "ImageId", {"Owners": ["self"]}),
    "snapshot": ("describe_snapshots", "Snapshots", "SnapshotId", {"OwnerIds": ["self"]}),
}


def tags(item):
    """Return the tags of a resource as EC2 describes it."""
    return {tag["Key"]: tag["Value"] for tag in item.get("Tags") or item.get("TagSet") or ()}


@dataclass(frozen=True, kw_only=True)
class Step:
    """One run of a playbook: how it ended, what it asked of AWS, and what there was in the region afterwards."""

    code: int
    output: str
    calls: list
    region: dict
    unused_faults: list

    @property
    def changed(self):
        return int(re.search(r"^localhost .* changed=(\d+)", self.output, re.MULTILINE)[1])

    @property
    def told(self):
        """Return what is said last: why the playbook failed."""
        return [line.removeprefix("icefield: ") for line in self.output.splitlines() if line.startswith("icefield: ")]

    @property
    def counts(self):
        return Counter(call["action"] for call in self.calls)

    @property
    def actions(self):
        return {f"{call['service']}:{call['action']}" for call in self.calls}

    def asked(self, action):
        """Return the parameters of the calls of one action."""
        return [call["params"] for call in self.calls if call["action"] == action]

    def nodes(self, cluster):
        """Return the living instances of a cluster by their names, the lowest number first."""
        items = self.region["instance"].values()
        mine = [item for item in items if tags(item).get("icefield:cluster") == cluster]
        return {tags(item)["Name"]: item for item in sorted(mine, key=lambda it: int(tags(it)["icefield:number"]))}


class Cloud:
    """One endpoint, with an account that nobody else uses meanwhile."""

    def __init__(self, endpoint, prefix):
        self.endpoint = endpoint
        self.prefix = prefix
        self.clusters = set()
        keys = {"aws_access_key_id": "tester", "aws_secret_access_key": "tester"}
        self.ec2 = boto3.Session().client("ec2", endpoint_url=endpoint.url, region_name="us-east-1", **keys)

    def cluster(self, name):
        """Return the name of a cluster that no other run of the tests has."""
        self.clusters.add(f"{self.prefix}-{name}")
        return f"{self.prefix}-{name}"

    def play(self, playbook, cluster, *, faults=(), environment=None, **settings):
        """Run a playbook with faults ordered beforehand."""
        given = {
            "cluster_name": cluster,
            "aws_region": "us-east-1",
            "aws_endpoint_url": self.endpoint.url,
            "aws_checkip_url": f"{self.endpoint.url}/_icefield/checkip",
            **settings,
        }
        self.endpoint.clear()
        for fault in faults:
            self.endpoint.fault(**fault)
        done = subprocess.run(
            ["ansible-playbook", *INVENTORIES, playbook, "-e", json.dumps(given)],
            cwd=ROOT,
            env={
                **os.environ,
                **self.endpoint.env,
                "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
                "ANSIBLE_NOCOLOR": "1",
                **(environment or {}),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        calls, unused = self.endpoint.calls(), self.endpoint.faults()
        self.endpoint.clear()
        return Step(code=done.returncode, output=done.stdout, calls=calls, unused_faults=unused, region=self.region())

    def make(self, cluster, nodes, **options):
        """Run what provision.yml does on EC2 itself."""
        return self.play("tests/aws/playbooks/make.yml", cluster, nodes=nodes, **options)

    def region(self):
        """Return everything that exists, by kind and id; instances that have ended do not."""
        states = [{"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]}]
        groups = self.ec2.describe_instances(Filters=states)["Reservations"]
        found = {"instance": {item["InstanceId"]: item for group in groups for item in group["Instances"]}}
        for kind, (call, answer, name, own) in KINDS.items():
            found[kind] = {item[name]: item for item in getattr(self.ec2, call)(**own)[answer]}
        return found

    def instances(self, cluster):
        """Return the ids of a cluster's living instances by name."""
        items = self.region()["instance"].values()
        return {tags(it)["Name"]: it["InstanceId"] for it in items if tags(it).get("icefield:cluster") == cluster}

    def end_nodes(self, cluster):
        """Terminate a cluster's instances behind the playbooks' back."""
        self.ec2.terminate_instances(InstanceIds=list(self.instances(cluster).values()))

    def attribute(self, instance, name):
        """Return an attribute of an instance that no description has."""
        answer = self.ec2.describe_instance_attribute(InstanceId=instance, Attribute=name)
        return answer[name[0].upper() + name[1:]]["Value"]
