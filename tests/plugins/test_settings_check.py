from pathlib import Path

import pytest
import yaml

from icefield_train.tasks import TASKS
from plugins.module_utils import settings_check, settings_machine, stack_file

ROOT = Path(__file__).parents[2]
SETTINGS = settings_check.settings_of(yaml.safe_load((ROOT / "roles/settings/meta/argument_specs.yml").read_text()))


SUBNETS = (
    "an IPv4 network such as 198.18.7.0/24, in 198.18.0.0/15, 10.0.0.0/8, 100.64.0.0/10, 172.16.0.0/12, "
    "192.168.0.0/16, or nothing for a free one"
)


def refused(name, value):
    with pytest.raises(ValueError) as error:
        settings_check.convert(SETTINGS[name], value)
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("nodes", "0", "a whole number of at least 1"),
        ("nodes", "-1", "a whole number of at least 1"),
        ("nodes", "abc", "a whole number of at least 1"),
        ("nodes", "2.5", "a whole number of at least 1"),
        ("nproc_per_node", "0", "a whole number of at least 1, or auto"),
        ("threads_per_process", "many", "a whole number of at least 1, or auto"),
        ("bucket_mb", 2000, "a whole number from 1 to 1024, or auto"),
        ("bucket_mb", True, "a whole number from 1 to 1024, or auto"),
        ("autotune_budget", "29", "a whole number from 30 to 36000"),
        ("autotune", "perhaps", "true or false"),
        ("nodes", True, "a whole number of at least 1"),
        ("epochs", 0, "a whole number of at least 1"),
        ("precision", "fp8", "one of auto, fp32, bf16"),
        ("task", "mprc", f"one of {', '.join(TASKS)}"),
        ("launcher", "slurm", "one of torchrun, mpirun"),
        ("learning_rate", "nan", "a number above 0"),
        ("learning_rate", 0, "a number above 0"),
        ("warmup_ratio", "1", "a number of at least 0 and below 1"),
        ("length_grouping", "maybe", "true or false"),
        ("local_memory", "4", "a size such as 4g or 1536m, or nothing for a share"),
        ("local_bandwidth", "fast", "a rate such as 400mbit or 1gbit, or nothing for no limit"),
        ("local_subnet", "198.18.0.1/24", SUBNETS),
        ("local_subnet", "127.0.0.0/8", SUBNETS),
        ("local_subnet", "224.0.0.0/24", SUBNETS),
        ("local_subnet", "8.8.8.0/24", SUBNETS),
        ("run_id", "../x", "up to 100 letters, digits, '.', '_' or '-', or nothing"),
        ("rendezvous_port", 80, "a whole number from 1024 to 65534"),
        ("timezone", "Mars/Base", "the name of a time zone, such as Etc/UTC or Europe/Berlin"),
        ("torch_index_url", "download.pytorch.org", "an address that begins with http:// or https://"),
    ],
)
def test_a_refusal_names_setting_value_and_what_is_accepted(name, value, words):
    assert refused(name, value) == f"setting '{name}': value '{value}' is not accepted; give {words}"


def test_a_cluster_s_name_is_checked_as_all_names_derive_from_it():
    assert "a lower-case letter" in refused("cluster_name", "My_Cluster")
    assert settings_check.convert(SETTINGS["cluster_name"], "a-2") == "a-2"


@pytest.mark.parametrize(
    ("name", "value", "converted"),
    [
        ("nodes", "4", 4),
        ("local_cpus", "0.5", 0.5),
        ("purge", "yes", True),
        ("purge", "False", False),
        ("learning_rate", "5e-5", 5e-5),
        ("local_subnet", "", ""),
        ("seed", "0", 0),
        ("nproc_per_node", "2", 2),
        ("bucket_mb", "Auto", "auto"),
        ("autotune", "false", False),
    ],
)
def test_text_of_the_command_line_becomes_the_setting_s_type(name, value, converted):
    result = settings_check.convert(SETTINGS[name], value)
    assert result == converted
    assert type(result) is type(converted)


def test_unknown_settings_are_refused_with_the_nearest_name():
    lines = settings_check.unknown_names(
        {"node": "4", "epoch": 3, "nodes": 2, "ansible_user": "x", "zzz": 1, "_raw_params": "oops"}, SETTINGS
    )
    assert lines[0] == "unknown setting 'node' (value 4); did you mean 'nodes'?"
    assert lines[1] == "unknown setting 'epoch' (value 3); did you mean 'epochs'?"
    assert lines[2].startswith("unknown setting 'zzz' (value 1); settings are: ")
    assert lines[3] == "'oops' is not a setting; write NAME=VALUE, such as -e nodes=2"
    assert len(lines) == 4


GIB = 1 << 30
MACHINE = settings_machine.Machine(cores=2, memory=24 * GIB, disk_free=50 * GIB, disk_path="/var", have_image=True)
CURRENT = stack_file.read(ROOT / "requirements/stacks/current.txt")
LOCAL = {"local_cpus": 0.0, "local_subnet": "", "local_memory": ""}


def local_faults(nodes, existing=0, machine=MACHINE, stack=CURRENT, **changes):
    return list(settings_machine.check_local({**LOCAL, **changes}, nodes, existing, machine, stack))


def test_nodes_that_fit_are_let_through():
    assert local_faults(4) == []


def test_too_little_memory_says_how_many_nodes_fit():
    assert local_faults(20) == [
        "setting 'nodes': not enough memory for 20 nodes: 30.0 GiB needed (1.5 GiB each), 21.6 GiB of this machine's "
        "24.0 GiB usable; give at most 14"
    ]


def test_too_many_nodes_are_one_line():
    assert len(local_faults(500)) == 1


def test_too_little_disk_counts_only_what_is_new():
    small = settings_machine.Machine(cores=2, memory=24 * GIB, disk_free=3 * GIB, disk_path="/var", have_image=True)
    assert local_faults(4, existing=4, machine=small) == []
    assert local_faults(4, existing=1, machine=small) == []
    assert "4.0 GiB needed in /var, 3.0 GiB free" in local_faults(4, machine=small)[0]


def test_sizes_of_the_user_are_compared_with_the_machine():
    assert "at most the 2 cores of this machine" in local_faults(1, local_cpus=3.0)[0]
    assert "at least 1.5 GiB" in local_faults(1, local_memory="512m")[0]
    assert "at most 6.0 GiB" in local_faults(4, local_memory="8g")[0]
    assert "a network with room for 14 nodes" in local_faults(14, local_subnet="198.18.0.0/28")[0]


@pytest.mark.parametrize(
    ("backend", "existing", "nodes", "words"),
    [
        ("local", 4, 9, "at most the 4 of this cluster, or run first: ansible-playbook provision.yml -e nodes=9"),
        ("local", 0, None, "the cluster has no nodes; run: ansible-playbook provision.yml -e nodes=2"),
        ("onprem", 0, None, "the inventory lists no servers"),
        ("onprem", 2, 3, "at most the 2 that the inventory lists"),
    ],
)
def test_training_needs_the_nodes_to_be_there(backend, existing, nodes, words):
    cluster = settings_machine.Cluster(backend=backend, nodes=existing)
    lines = list(settings_machine.check_cluster("train", nodes, cluster))
    assert len(lines) == 1
    assert words in lines[0]
    assert list(settings_machine.check_cluster("train", 1, settings_machine.Cluster(backend="local", nodes=1))) == []


def test_own_servers_need_one_head_and_addresses():
    cluster = settings_machine.Cluster(
        backend="onprem", nodes=2, heads=0, addresses={"server-a": "10.0.0.1", "server-b": "b.example.com"}
    )
    assert list(settings_machine.check_cluster("provision", None, cluster)) == [
        "the group 'head' of the inventory has 0 servers; give it exactly 1",
        "server-b: icefield_address 'b.example.com' is not accepted; give the IP address where nodes reach it",
    ]


def test_files_that_settings_name_have_to_be_there(tmp_path):
    (tmp_path / "current.txt").write_text((ROOT / "requirements/stacks/current.txt").read_text())
    (tmp_path / "no.crt").write_text("no certificate")
    (tmp_path / "file").touch()

    def faults(**values):
        return list(settings_machine.check_files(values, tmp_path, tmp_path))

    assert faults(stack="current", data_dir="", task="paraphrase") == []
    assert faults(stack="ipex") == ["setting 'stack': value 'ipex' is not accepted; give one of current"]
    assert f"({tmp_path}/gone is not there)" in faults(data_dir="gone")[0]
    assert f"({tmp_path}/file is a file)" in faults(data_dir="file")[0]
    assert faults(data_dir="~nosuchuser/x") == [
        "setting 'data_dir': value '~nosuchuser/x' is not accepted; give a folder on this machine "
        "(could not determine home directory)"
    ]
    assert faults(data_dir="x" * 300)[0].endswith("give a folder on this machine (file name too long)")
    assert "(not a certificate)" in faults(extra_ca_files=[str(tmp_path / "no.crt")])[0]
    assert "(no such file or directory)" in faults(extra_ca_files=["/gone.crt"])[0]
