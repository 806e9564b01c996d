"""The inventories that are shipped: which groups and addresses their hosts get."""

import json
import os
import re
import shutil
import subprocess

import pytest

from tests.conftest import ROOT


def read(*files, arguments=(), path=""):
    """Return groups (name -> hosts) and host variables of inventory files, as Ansible sees them."""
    command = ["ansible-inventory", "--list", *arguments]
    for file in files:
        command += ["-i", str(file)]
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "PATH": f"{path}:{os.environ['PATH']}"}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "Failed to parse" not in done.stderr, done.stderr
    listed = json.loads(done.stdout)
    groups = {name: sorted(group.get("hosts", [])) for name, group in listed.items() if name != "_meta"}
    return groups, plain(listed["_meta"]["hostvars"])


def plain(value):
    """Return variables without the mark that Ansible puts on text from programs."""
    if isinstance(value, dict):
        return (
            value["__ansible_unsafe"] if set(value) == {"__ansible_unsafe"} else {k: plain(v) for k, v in value.items()}
        )
    return value


def container(cluster, number, kind="node"):
    labels = {
        "icefield.kind": kind,
        "icefield.cluster": cluster,
        "icefield.node_rank": str(number - 1),
        "icefield.address": f"198.18.0.{10 + number}",
    }
    return {
        "Names": [f"{cluster}-{number}"],
        "Id": f"{cluster}{number}",
        "Image": "i",
        "State": "running",
        "Labels": labels,
    }


@pytest.fixture
def containers(tmp_path):
    """Let podman list two clusters, a builder and a container of somebody else; return where this podman is."""
    rows = [container("first", 1), container("first", 2), container("second", 1), container("first", 0, kind="builder")]
    rows.append({"Names": ["database"], "Id": "d", "Image": "i", "State": "running", "Labels": None})
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    program = tmp_path / "bin/podman"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/rows.json\n")
    program.chmod(0o755)
    return program.parent


@pytest.fixture
def inventory(tmp_path):
    """Copy the inventory of containers, with another cluster name in its settings."""
    target = tmp_path / "inventory"
    shutil.copytree(ROOT / "inventory", target)
    settings = target / "group_vars/all/cluster.yml"
    settings.write_text(re.sub(r"(?m)^cluster_name: .*$", "cluster_name: first", settings.read_text()))
    return target / "local.yml", target / "local_groups.yml"


def test_containers_are_sorted_by_the_cluster_name_of_the_settings(containers, inventory):
    groups, variables = read(*inventory, path=containers)
    assert groups["head"] == ["first-1"]
    assert groups["workers"] == ["first-2"]
    assert groups["cluster"] == groups["backend_local"] == ["first-1", "first-2"]
    assert variables["first-2"]["ansible_host"] == variables["first-2"]["icefield_address"] == "198.18.0.12"


def test_a_cluster_name_of_the_command_line_goes_before(containers, inventory):
    groups, _ = read(*inventory, arguments=["-e", "cluster_name=second"], path=containers)
    assert groups["cluster"] == groups["head"] == ["second-1"]
    assert "workers" not in groups


def test_the_example_of_own_servers_is_valid_and_names_none():
    groups, variables = read(ROOT / "inventory/onprem.yml")
    assert not any(groups.values())
    assert variables == {}


def test_the_example_works_once_its_comment_signs_are_taken_away(tmp_path):
    text = (ROOT / "inventory/onprem.yml").read_text().replace("hosts: {}", "hosts:")
    # Settings and names, not the sentences that explain them.
    text = re.sub(r"(?m)^( *)# ((?:  )?[a-z_-]+:(?: |$))", r"\1\2", text)
    (tmp_path / "onprem.yml").write_text(text)
    groups, variables = read(tmp_path / "onprem.yml")
    assert (groups["head"], groups["workers"]) == (["server-a"], ["server-b"])
    assert {"cluster", "backend_onprem"} <= set(groups)
    assert variables["server-a"]["icefield_address"] == "10.0.0.11"
    assert variables["server-b"]["ansible_host"] == "192.0.2.12"
    assert variables["server-b"]["ansible_user"] == "admin"
    assert "StrictHostKeyChecking=yes" in variables["server-b"]["ansible_ssh_common_args"]
