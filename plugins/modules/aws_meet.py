#!/usr/bin/python
"""Ansible module: the first, verified connection to instances."""

from __future__ import annotations

DOCUMENTATION = r"""
module: aws_meet
short_description: Wait for instances over ssh, and replace their one-time host keys
description:
  - Connects to each instance with strict checking, against the key that its user data gave it or the one it made later.
  - Waits for cloud-init there. Over that same verified connection a new instance makes a host key of its own.
  - C(known_hosts) holds the living instances afterwards, by their ids, and no others.
  - Says as far as can be seen why an instance is not to be reached.
options:
  nodes:
    description: Instances with C(id), C(name), C(public), C(private), C(user).
    type: list
    elements: dict
    required: true
  state_dir:
    description: Folder of the cluster's state, with C(id_ed25519).
    type: path
    required: true
  started:
    description: Ids of those that were stopped; they are waited for, at the addresses that they have now.
    type: list
    elements: str
    default: []
  group_rules:
    description: Rules of the security group, to tell whether this controller is let in.
    type: list
    elements: str
    default: []
  ssh_cidr:
    description: Network that this controller is in, as far as known.
    type: str
    default: ""
  timeout:
    description: Seconds to wait for all of them.
    type: int
    default: 300
author: Icefield
"""

RETURN = r"""
met:
  description: Names of the nodes that have a host key of their own now.
  returned: success
  type: list
"""

import shlex
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ansible_collections.amazon.aws.plugins.module_utils.modules import AnsibleAWSModule
from ansible_collections.amazon.aws.plugins.module_utils.retries import AWSRetry

try:
    from ansible.module_utils import aws_instances, aws_keys
except ImportError:
    from plugins.module_utils import aws_instances, aws_keys

# cloud-init ends with 2 where it met something that it could live with.
READY = "if command -v cloud-init >/dev/null; then cloud-init status --wait >/dev/null; test $? -ne 1; fi"
# In two steps, between which the controller writes both keys down: whenever it is cut off, it knows the key in force.
MAKE = (
    "cd /etc/ssh && { test -f icefield.new || ssh-keygen -q -t ed25519 -N '' -C '' -f icefield.new; }"
    " && cat icefield.new.pub"
)
# sshd reads its keys again on SIGHUP; the connection over which this runs stays.
SWITCH = (
    "cd /etc/ssh && rm -f ssh_host_*key ssh_host_*key.pub"
    " && mv icefield.new.pub ssh_host_ed25519_key.pub && mv icefield.new ssh_host_ed25519_key"
    " && pid=$(cat /run/sshd.pid 2>/dev/null || systemctl show -p MainPID --value ssh sshd | grep -v '^0*$' | head -1)"
    " && kill -HUP $pid"
)


class Meeting:
    """One node, the keys by which it may answer, and how it went."""

    def __init__(self, params: dict[str, Any], node: dict[str, Any], deadline: float) -> None:
        self.params, self.node, self.deadline = params, node, deadline
        self.new_key = ""
        self.said = ""

    def wait(self, known: Path) -> bool:
        """Connect, and wait until the node is ready. ``said`` is ssh's last word where that fails."""
        while True:
            code, _ = self._ssh(known, READY)
            if code == 0:
                return True
            if code != 255 or "Permission denied" in self.said or "verification failed" in self.said:
                return False
            if time.monotonic() > self.deadline:
                return False
            time.sleep(1)

    def make_key(self, known: Path) -> bool:
        """Have the node make a key of its own, which is not in force yet."""
        code, out = self._ssh(known, _as_root(MAKE))
        if code != 0 or not out.startswith("ssh-ed25519 "):
            return False
        self.new_key = " ".join(out.split()[:2])
        return True

    def switch(self, known: Path) -> bool:
        """Put the node's own key in force."""
        return self._ssh(known, _as_root(SWITCH))[0] == 0

    def _ssh(self, known: Path, command: str) -> tuple[int, str]:
        left = max(1, round(self.deadline - time.monotonic()))
        options = {
            "UserKnownHostsFile": known,
            "StrictHostKeyChecking": "yes",
            "HostKeyAlias": self.node["id"],
            "IdentitiesOnly": "yes",
            "BatchMode": "yes",
            "ConnectTimeout": min(10, left),
            "ControlPath": "none",
        }
        address = self.node["public"] or self.node["private"]
        argv = ["ssh", "-i", f"{self.params['state_dir']}/id_ed25519", "-l", self.node["user"]]
        argv += [f"-o{name}={value}" for name, value in options.items()]
        try:
            done = subprocess.run(
                [*argv, address, command], capture_output=True, text=True, check=False, timeout=left + 15
            )
        except subprocess.TimeoutExpired:
            self.said = "it did not answer in time"
            return 255, ""
        lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("Warning:")]
        self.said = lines[-1].strip() if lines else f"exit code {done.returncode}"
        return done.returncode, done.stdout


def _as_root(command: str) -> str:
    return f"sudo sh -c {shlex.quote(command)}"


def why(module: AnsibleAWSModule, meeting: Meeting) -> str:
    """Return one line: why a node is not to be reached."""
    node, params = meeting.node, module.params
    ec2 = module.client("ec2", retry_decorator=AWSRetry.jittered_backoff(retries=8))
    answer = ec2.describe_instances(aws_retry=True, InstanceIds=[node["id"]])
    found = aws_instances.in_order(item for group in answer["Reservations"] for item in group["Instances"])
    head = f"{node['name']} ({node['id']})"
    if not found or found[0]["state"] != "running":
        state, reason = (found[0]["state"], found[0]["reason"]) if found else ("gone", "")
        return f"{head} is {state}: {reason or 'no reason told'}"
    if "verification failed" in meeting.said:
        return f"{head}: its host key is not the one that it was given; somebody else may answer at {node['public']}"
    if "Permission denied" in meeting.said:
        return (
            f"{head}: the user '{node['user']}' is not let in; is it the image's? "
            f"Destroy the cluster, then give the right aws_ami_user [{meeting.said}]"
        )
    if not node["public"]:
        return f"{head} has no public address (aws_subnet_id), and its private one does not answer: {node['private']}"
    wanted = f"tcp 22-22 {params['ssh_cidr']}"
    if params["ssh_cidr"] and wanted not in params["group_rules"]:
        return f"{head}: the security group lacks this controller's address ({params['ssh_cidr']})"
    return f"{head} at {node['public']} is not ready after {params['timeout']} s: {meeting.said}"


def restarted(module: AnsibleAWSModule) -> list[dict[str, Any]]:
    """Return the instances that were stopped, with their addresses of now."""
    ids = module.params["started"]
    if not ids:
        return []
    ec2 = module.client("ec2", retry_decorator=AWSRetry.jittered_backoff(retries=8))
    answer = ec2.describe_instances(aws_retry=True, InstanceIds=ids)
    return aws_instances.in_order(item for group in answer["Reservations"] for item in group["Instances"])


def main() -> None:
    """Run the module."""
    module = AnsibleAWSModule(
        argument_spec={
            "nodes": {"type": "list", "elements": "dict", "required": True},
            "state_dir": {"type": "path", "required": True},
            "started": {"type": "list", "elements": "str", "default": []},
            "group_rules": {"type": "list", "elements": "str", "default": []},
            "ssh_cidr": {"type": "str", "default": ""},
            "timeout": {"type": "int", "default": 300},
        },
    )
    state, nodes = Path(module.params["state_dir"]), module.params["nodes"]
    known = state / "known_hosts"
    before, keys = aws_keys.read_known(known), {}
    for node in nodes:
        one_time = aws_keys.one_time_key(state, node["name"])
        keys[node["id"]] = before.get(node["id"], []) + ([one_time] if one_time else [])
        if not keys[node["id"]]:
            module.fail_json(
                msg=f"{node['name']} ({node['id']}): its host key is not known here; the cluster was made from "
                "elsewhere. Work with it there, or run destroy.yml"
            )
    changed = aws_keys.write_known(known, keys)
    deadline = time.monotonic() + module.params["timeout"]
    # Who has been met and has no key to renew is met by Ansible itself.
    fresh = [Meeting(module.params, node, deadline) for node in nodes if aws_keys.is_launched(state, node["name"])]
    back = [Meeting(module.params, node, deadline) for node in restarted(module)]
    going = fresh
    with ThreadPoolExecutor(max_workers=16) as pool:
        came_back = pool.map(lambda meeting: meeting.wait(known), back)
        for step in (Meeting.wait, Meeting.make_key, Meeting.switch):
            went = list(pool.map(lambda meeting, step=step: step(meeting, known), going))
            going = [meeting for meeting, well in zip(going, went, strict=True) if well]
            if step is Meeting.make_key:
                both = {meeting.node["id"]: [*keys[meeting.node["id"]], meeting.new_key] for meeting in going}
                changed = aws_keys.write_known(known, {**keys, **both}) or changed
                keys.update(both)
    keys.update({meeting.node["id"]: [meeting.new_key] for meeting in going})
    changed = aws_keys.write_known(known, keys) or changed
    for meeting in going:
        aws_keys.forget(state, meeting.node["name"])
    failed = [meeting for meeting in fresh if meeting not in going]
    failed += [meeting for meeting, well in zip(back, came_back, strict=True) if not well]
    if failed:
        module.fail_json(msg="\n".join(why(module, meeting) for meeting in failed))
    module.exit_json(changed=changed, met=[meeting.node["name"] for meeting in fresh])


if __name__ == "__main__":
    main()
