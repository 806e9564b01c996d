"""Why an instance is not to be reached, as far as can be seen from here."""

import json
import os
import subprocess
import sys

import pytest

from .conftest import ROOT, start_endpoint

boto3 = pytest.importorskip("boto3")
DEBIAN = "ami-0deb1200000000002"
ME = "192.0.2.7/32"


@pytest.fixture(scope="module")
def loopback(tmp_path_factory):
    """An endpoint whose instances have addresses of this machine, at which no ssh answers."""
    running = start_endpoint(tmp_path_factory.mktemp("ec2") / "ready", "--default-vpc", "127.77.0.0/24")
    yield running
    running.process.terminate()
    assert running.process.wait(timeout=20) == 0


@pytest.fixture
def ec2(loopback):
    return boto3.client(
        "ec2",
        endpoint_url=loopback.url,
        region_name="us-east-1",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
    )


@pytest.fixture
def node(ec2):
    """A new instance, as aws_launch hands it on."""
    made = ec2.run_instances(ImageId=DEBIAN, InstanceType="c7i.large", MinCount=1, MaxCount=1)["Instances"][0][
        "InstanceId"
    ]
    answer = ec2.describe_instances(InstanceIds=[made])["Reservations"][0]["Instances"][0]
    return {
        "id": made,
        "name": "c-1",
        "public": answer.get("PublicIpAddress", ""),
        "private": answer["PrivateIpAddress"],
        "user": "admin",
    }


def meet(loopback, folder, node, rules):
    """Return what the module says of one new node."""
    launch = folder / "launch" / node["name"]
    launch.mkdir(parents=True)
    (launch / "host_key.pub").write_text(
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKpUn1W5s6WnZr0Wm2m2a8v0mD1Jm0l4n9s7b6c5d4e3\n"
    )
    arguments = {
        "nodes": [node],
        "state_dir": str(folder),
        "group_rules": rules,
        "ssh_cidr": ME,
        "timeout": 1,
        "region": "us-east-1",
        "endpoint_url": loopback.url,
    }
    command = ["ansible", "localhost", "-i", "localhost,", "-c", "local", "-m", "aws_meet", "-a", json.dumps(arguments)]
    done = subprocess.run(
        [*command, "-e", f"ansible_python_interpreter={sys.executable}"],
        cwd=ROOT,
        env=os.environ | loopback.env | {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0, done.stdout
    return done.stdout + done.stderr


def test_the_group_that_lacks_this_controller_is_named(loopback, node, tmp_path):
    said = meet(loopback, tmp_path, node, ["-1 all sg-1", "tcp 22-22 198.51.100.1/32"])
    assert f"c-1 ({node['id']}): the security group lacks this controller's address ({ME})" in said
    known = (tmp_path / "known_hosts").read_text()
    assert known.startswith(f"{node['id']} ssh-ed25519 "), (
        "it is known by its id already, by the key it was launched with"
    )
    assert (tmp_path / "launch" / "c-1").is_dir(), "and is still to be met"


def test_a_node_that_only_does_not_answer(loopback, node, tmp_path):
    said = meet(loopback, tmp_path, node, [f"tcp 22-22 {ME}"])
    assert f"c-1 ({node['id']}) at {node['public']} is not ready after 1 s: ssh: connect to host" in said


def test_a_node_without_a_public_address(loopback, ec2, node, tmp_path):
    said = meet(loopback, tmp_path, {**node, "public": ""}, [f"tcp 22-22 {ME}"])
    assert f"c-1 ({node['id']}) has no public address (aws_subnet_id)" in said
    assert node["private"] in said


def test_a_node_that_has_ended(loopback, ec2, node, tmp_path):
    ec2.terminate_instances(InstanceIds=[node["id"]])
    said = meet(loopback, tmp_path, node, [f"tcp 22-22 {ME}"])
    assert f"c-1 ({node['id']}) is terminated: " in said
    assert "User initiated" in said
