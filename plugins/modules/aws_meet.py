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
# sshd reads its keys again on SIGHUP; the connection over which this runs stays.
RENEW = (
    "rm -f /etc/ssh/ssh_host_*key /etc/ssh/ssh_host_*key.pub"
    " && ssh-keygen -q -t ed25519 -N '' -C '' -f /etc/ssh/ssh_host_ed25519_key"
    " && kill -HUP $(cat /run/sshd.pid 2>/dev/null || systemctl show -p MainPID --value ssh sshd | grep -v '^0*$' | head -1)"
    " && cat /etc/ssh/ssh_host_ed25519_key.pub"
)


class Meeting:
    """One node, its key as far as it is known, and how it went."""

    def __init__(self, params: dict[str, Any], node: dict[str, Any], key: str, deadline: float) -> None:
        self.params, self.node, self.key, self.deadline = params, node, key, deadline
        self.fresh = aws_keys.launch_folder(Path(params["state_dir"]), node["name"]).is_dir()
        self.said = ""

    def hold(self, known: Path) -> bool:
        """Connect, wait, and renew the key of a new node; tell whether it went well. ``said`` is ssh's last word."""
        while True:
            code, out = self._ssh(known, READY)
            if code == 0:
                break
            if code != 255 or "Permission denied" in self.said or "verification failed" in self.said:
                return False
            if time.monotonic() > self.deadline:
                return False
            time.sleep(1)
        if self.fresh:
            code, out = self._ssh(known, f'sudo sh -c "{RENEW}"'.replace("$", r"\$"))
            if code != 0 or not out.startswith("ssh-ed25519 "):
                return False
            self.key = " ".join(out.split()[:2])
        return True

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
        return f"{head}: the user '{node['user']}' is not let in; is it the image's? (aws_ami_user) [{meeting.said}]"
    if not node["public"]:
        return f"{head} has no public address; its subnet gives none (aws_subnet_id), so that {node['private']} must be routed"
    wanted = f"tcp 22-22 {params['ssh_cidr']}"
    if params["ssh_cidr"] and wanted not in params["group_rules"]:
        return f"{head}: the security group lacks this controller's address ({params['ssh_cidr']})"
    return f"{head} at {node['public']} is not ready after {params['timeout']} s: {meeting.said}"


def main() -> None:
    """Run the module."""
    module = AnsibleAWSModule(
        argument_spec={
            "nodes": {"type": "list", "elements": "dict", "required": True},
            "state_dir": {"type": "path", "required": True},
            "group_rules": {"type": "list", "elements": "str", "default": []},
            "ssh_cidr": {"type": "str", "default": ""},
            "timeout": {"type": "int", "default": 300},
        },
    )
    state, nodes = Path(module.params["state_dir"]), module.params["nodes"]
    known = state / "known_hosts"
    before, keys = aws_keys.read_known(known), {}
    for node in nodes:
        public = aws_keys.launch_folder(state, node["name"]) / "host_key.pub"
        one_time = " ".join(public.read_text().split()[:2]) if public.exists() else ""
        keys[node["id"]] = before.get(node["id"]) or one_time
        if not keys[node["id"]]:
            module.fail_json(
                msg=f"{node['name']} ({node['id']}): its host key is not known here; the cluster was made from elsewhere. "
                "Work with it there, or run destroy.yml"
            )
    changed = aws_keys.write_known(known, keys)
    deadline = time.monotonic() + module.params["timeout"]
    # Who has been met and has no key to renew is met by Ansible itself.
    meetings = [Meeting(module.params, node, keys[node["id"]], deadline) for node in nodes]
    fresh = [meeting for meeting in meetings if meeting.fresh]
    with ThreadPoolExecutor(max_workers=16) as pool:
        went = list(pool.map(lambda meeting: meeting.hold(known), fresh))
    for meeting, well in zip(fresh, went, strict=True):
        if well:
            keys[meeting.node["id"]] = meeting.key
    changed = aws_keys.write_known(known, keys) or changed
    for meeting, well in zip(fresh, went, strict=True):
        if well:
            aws_keys.forget(state, meeting.node["name"])
    failed = [meeting for meeting, well in zip(fresh, went, strict=True) if not well]
    if failed:
        module.fail_json(msg="\n".join(why(module, meeting) for meeting in failed))
    module.exit_json(changed=changed, met=[meeting.node["name"] for meeting in fresh])


if __name__ == "__main__":
    main()
