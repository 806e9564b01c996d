"""The test endpoint's instances are containers that boot as EC2's instances do."""

import os
import subprocess
import time
import uuid

import pytest

from .conftest import start_endpoint

boto3 = pytest.importorskip("boto3")

pytestmark = pytest.mark.cluster
DEBIAN = "ami-0deb1200000000002"
NAME = f"ec2t{os.getpid() % 10000}"
USER_DATA = """\
#cloud-config
ssh_deletekeys: true
ssh_genkeytypes: []
ssh_keys:
  ed25519_private: |
    {private}
  ed25519_public: {public}
write_files:
  - path: /etc/systemd/system/icefield-deadman.service
    content: |
      [Service]
      Type=oneshot
      ExecStart=/usr/bin/systemctl poweroff
  - path: /etc/systemd/system/icefield-deadman.timer
    content: |
      [Timer]
      OnActiveSec={seconds}
      AccuracySec=1s
      [Install]
      WantedBy=timers.target
runcmd:
  - [systemctl, daemon-reload]
  - [systemctl, enable, --now, icefield-deadman.timer]
"""


def wait_for(what, seconds=30):
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until
        time.sleep(0.2)
    return found


class Cloud:
    """An endpoint with containers, and the keys for its instances."""

    def __init__(self, endpoint, folder):
        self.client = boto3.client(
            "ec2",
            endpoint_url=endpoint.url,
            region_name="us-east-1",
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
        )
        self.folder = folder
        for name in ("user", "host"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(folder / name)]
            subprocess.run(command, check=True)
        self.client.import_key_pair(KeyName="user", PublicKeyMaterial=(folder / "user.pub").read_bytes())

    def run(self, image=DEBIAN, count=1, seconds=900):
        user_data = USER_DATA.format(
            private=(self.folder / "host").read_text().strip().replace("\n", "\n    "),
            public=(self.folder / "host.pub").read_text().strip(),
            seconds=seconds,
        )
        return self.client.run_instances(
            ImageId=image,
            InstanceType="c7i.large",
            MinCount=count,
            MaxCount=count,
            KeyName="user",
            UserData=user_data,
            InstanceInitiatedShutdownBehavior="terminate",
        )["Instances"]

    def shown(self, instance):
        answer = self.client.describe_instances(InstanceIds=[instance["InstanceId"]])
        return answer["Reservations"][0]["Instances"][0]

    def state(self, instance):
        return self.shown(instance)["State"]["Name"]

    def ssh(self, instance, script):
        """Run a script on an instance once its sshd answers, with the host key that the user data gave."""
        address = instance["PrivateIpAddress"]
        known = self.folder / f"known.{address}"
        known.write_text(f"{address} {(self.folder / 'host.pub').read_text()}")
        command = [
            "ssh",
            "-n",
            "-q",
            "-i",
            str(self.folder / "user"),
            "-o",
            "IdentitiesOnly=yes",
            "-o",
            "BatchMode=yes",
        ]
        command += ["-o", f"UserKnownHostsFile={known}", "-o", "StrictHostKeyChecking=yes", "-o", "ConnectTimeout=5"]

        def attempt():
            done = subprocess.run([*command, f"admin@{address}", script], capture_output=True, text=True, check=False)
            return done if done.returncode != 255 else None

        return wait_for(attempt).stdout


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cloud")
    # The first start on a machine makes the image.
    options = ("--containers", NAME, "--default-vpc", "198.19.112.0/24")
    endpoint = start_endpoint(folder / "ready", *options, seconds=400)
    yield Cloud(endpoint, folder)
    endpoint.process.terminate()
    assert endpoint.process.wait(timeout=60) == 0
    for listing in (["ps", "--all"], ["network", "ls"], ["images"]):
        done = subprocess.run(["podman", *listing], capture_output=True, text=True, check=True)
        assert NAME not in done.stdout


@pytest.fixture(scope="module")
def instance(cloud):
    return cloud.run()[0]


def test_user_data_is_followed_before_anyone_enters(cloud, instance):
    script = "cloud-init status --wait >/dev/null; systemctl is-active icefield-deadman.timer; sudo id -un; hostname"
    host = "ip-" + instance["PrivateIpAddress"].replace(".", "-")
    assert cloud.ssh(instance, script).split() == ["active", "root", host]
    assert cloud.ssh(instance, "cloud-init status").strip() == "status: done"


def test_a_stopped_instance_comes_back_at_its_address(cloud, instance):
    cloud.ssh(instance, "echo kept > mark")
    cloud.client.stop_instances(InstanceIds=[instance["InstanceId"]])
    assert cloud.state(instance) == "stopped"
    cloud.client.start_instances(InstanceIds=[instance["InstanceId"]])
    assert cloud.ssh(instance, "cat mark") == "kept\n"
    assert cloud.shown(instance)["PublicIpAddress"] == instance["PrivateIpAddress"]


def test_an_instance_may_restart_itself(cloud, instance):
    boot = cloud.ssh(instance, "systemctl show -P UserspaceTimestampMonotonic")
    cloud.ssh(instance, "sudo systemd-run --on-active=1 --timer-property=AccuracySec=100ms systemctl reboot")
    wait_for(lambda: cloud.ssh(instance, "systemctl show -P UserspaceTimestampMonotonic") != boot)
    assert cloud.state(instance) == "running"


def test_an_instance_that_powers_off_is_terminated(cloud):
    timed = cloud.run(seconds=8)[0]
    wait_for(lambda: cloud.state(timed) == "terminated")
    assert cloud.shown(timed)["StateReason"]["Code"] == "Client.InstanceInitiatedShutdown"
    cloud.client.terminate_instances(InstanceIds=[timed["InstanceId"]])
    assert cloud.shown(timed)["StateReason"]["Code"] == "Client.InstanceInitiatedShutdown"


def test_an_instance_starts_from_the_disk_of_another(cloud, instance):
    cloud.ssh(instance, "echo baked | sudo tee /opt/mark")
    name = f"image-{uuid.uuid4().hex[:8]}"
    made = cloud.client.create_image(InstanceId=instance["InstanceId"], Name=name)["ImageId"]

    def image_state():
        return cloud.client.describe_images(ImageIds=[made])["Images"][0]["State"]

    wait_for(lambda: image_state() == "available")
    copy = cloud.run(image=made)[0]
    script = "cloud-init status --wait >/dev/null; cat /opt/mark /var/lib/cloud/data/instance-id"
    assert cloud.ssh(copy, script).split() == ["baked", copy["InstanceId"]]
    cloud.client.terminate_instances(InstanceIds=[copy["InstanceId"]])
    cloud.client.deregister_image(ImageId=made)
    done = subprocess.run(["podman", "images", "--quiet", "--filter", f"reference=*:{made}"], capture_output=True)
    assert done.stdout == b""


def test_several_start_at_once(cloud):
    made = cloud.run(count=3)
    for each in made:
        assert cloud.ssh(each, "id -un") == "admin\n"
    ids = [each["InstanceId"] for each in made]
    cloud.client.terminate_instances(InstanceIds=ids)
    assert {cloud.state(each) for each in made} == {"terminated"}
