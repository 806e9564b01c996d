"""What podman is told on which machine, and how limits are read."""

import json

import pytest

from plugins.module_utils import podman


def info(version, runtime):
    return {"host": {"cgroupVersion": version, "ociRuntime": {"name": runtime}}}


def test_the_default_runtime_stays_where_it_works():
    assert podman.runtime_args(info("v2", "crun"), have_runc=True) == []
    assert podman.runtime_args(info("v1", "runc"), have_runc=True) == []


def test_crun_is_replaced_on_version_1_of_control_groups():
    assert podman.runtime_args(info("v1", "crun"), have_runc=True) == ["--runtime", "runc"]
    with pytest.raises(ValueError, match="crun cannot use this machine's cgroup v1; install runc"):
        podman.runtime_args(info("v1", "crun"), have_runc=False)


def test_a_capability_is_one_bit_of_the_effective_ones():
    assert podman.has_capability("Name:\tx\nCapPrm:\t0\nCapEff:\t0000000001000000\n", 24)
    assert not podman.has_capability("CapPrm:\t0000000001000000\nCapEff:\t0000000000800000\n", 24)
    assert not podman.has_capability("", 24)


def test_ulimits_are_set_only_where_podmans_own_would_fail():
    hard = {"nofile": 16384, "nproc": -1}
    assert podman.ulimit_args(True, hard, 32768) == []
    assert podman.ulimit_args(False, hard, 32768) == ["nofile=16384:16384", "nproc=32768:32768"]
    assert podman.ulimit_args(False, {"nofile": -1, "nproc": 99}, 32768) == ["nofile=1048576:1048576", "nproc=99:99"]


@pytest.mark.parametrize(
    ("rate", "bytes_per_second"), [("400mbit", 5e7), ("1gbit", 1.25e8), ("1.5mbit", 187500), ("8kbit", 1000)]
)
def test_rates_are_decimal_bits(rate, bytes_per_second):
    assert podman.parse_rate(rate) == bytes_per_second


@pytest.mark.parametrize("rate", ["", "1", "1g", "0mbit", "-1mbit", "1 gbit", "1gbitx", "1Gbit"])
def test_what_is_no_rate_is_refused_with_an_example(rate):
    with pytest.raises(ValueError, match=f"setting 'local_bandwidth': value '{rate}' is not accepted.*400mbit"):
        podman.parse_rate(rate)


@pytest.mark.parametrize(("size", "count"), [("4g", 4 << 30), ("1536M", 1536 << 20), ("1.5g", 3 << 29), ("2k", 2048)])
def test_sizes_are_binary_bytes(size, count):
    assert podman.parse_size(size) == count


@pytest.mark.parametrize("size", ["", "4", "0g", "-4g", "4gb", "4 g", "g"])
def test_what_is_no_size_is_refused_with_an_example(size):
    with pytest.raises(ValueError, match=f"setting 'local_memory': value '{size}' is not accepted.*4g"):
        podman.parse_size(size)


def test_only_the_queue_at_the_root_limits_the_rate():
    tbf = {"kind": "tbf", "root": True, "options": {"rate": 50000000, "burst": 1}}
    assert podman.tbf_rate(json.dumps([{"kind": "noqueue", "root": True, "options": {}}])) == 0.0
    assert podman.tbf_rate(json.dumps([{**tbf, "root": False}, tbf | {"options": {"rate": 25}}])) == 25.0
    assert podman.tbf_rate("") == 0.0


def test_limits_are_read_from_either_version(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    for controller in ("cpu", "memory"):
        (one / controller / "machine/a").mkdir(parents=True)
    (one / "cpu/machine/a/cpu.cfs_quota_us").write_text("50000\n")
    (one / "cpu/machine/a/cpu.cfs_period_us").write_text("100000\n")
    (one / "memory/machine/a/memory.limit_in_bytes").write_text("4096\n")
    (two / "machine/a").mkdir(parents=True)
    (two / "machine/a/cpu.max").write_text("150000 100000\n")
    (two / "machine/a/memory.max").write_text("8192\n")
    assert podman.read_limits("/machine/a", one) == (0.5, 4096)
    assert podman.read_limits("/machine/a", two) == (1.5, 8192)


def test_no_limit_reads_as_zero(tmp_path):
    (tmp_path / "cpu/a").mkdir(parents=True)
    (tmp_path / "memory/a").mkdir(parents=True)
    (tmp_path / "cpu/a/cpu.cfs_quota_us").write_text("-1\n")
    (tmp_path / "memory/a/memory.limit_in_bytes").write_text("9223372036854771712\n")
    (tmp_path / "b").mkdir()
    (tmp_path / "b/cpu.max").write_text("max 100000\n")
    (tmp_path / "b/memory.max").write_text("max\n")
    assert podman.read_limits("/a", tmp_path) == (0.0, 0)
    assert podman.read_limits("/b", tmp_path) == (0.0, 0)


def test_nodes_that_do_not_run_are_told_from_builders_and_running_ones():
    def row(name, state, kind="node", rank="0"):
        labels = {"icefield.kind": kind, "icefield.node_rank": rank, "icefield.address": f"at {name}"}
        return {"Names": [name], "State": state, "Labels": labels}

    rows = [row("c-10", "exited", rank="9"), row("c-2", "exited", rank="1"), row("c-1", "running")]
    rows += [row("c-builder", "exited", kind="builder"), {"Names": ["x"], "State": "exited", "Labels": None}]
    assert podman.stopped_nodes(rows) == [{"name": "c-2", "address": "at c-2"}, {"name": "c-10", "address": "at c-10"}]
