"""What of processors and memory a node may use, on the file trees that kernels show."""

import os

import pytest

from plugins.module_utils import node_cpu

V1 = "4:memory:/libpod/abc\n3:cpu,cpuacct:/libpod/abc\n1:name=systemd:/libpod/abc\n"
V2 = "0::/user.slice/session.scope\n"


def v1_group(folder, quota="-1", period="100000", memory="9223372036854771712"):
    for controller in ("cpu", "memory"):
        folder(controller).mkdir(parents=True, exist_ok=True)
    (folder("cpu") / "cpu.cfs_quota_us").write_text(f"{quota}\n")
    (folder("cpu") / "cpu.cfs_period_us").write_text(f"{period}\n")
    (folder("memory") / "memory.limit_in_bytes").write_text(f"{memory}\n")


def v2_group(folder, cpu="max 100000", memory="max"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cpu.max").write_text(f"{cpu}\n")
    (folder / "memory.max").write_text(f"{memory}\n")


def test_version_1_limits_are_read_from_each_controllers_tree(tmp_path):
    v1_group(lambda name: tmp_path / name / "libpod/abc", quota="50000", memory="1073741824")
    assert node_cpu.cpu_quota(V1, tmp_path) == 0.5
    assert node_cpu.memory_limit(V1, tmp_path) == 1 << 30


def test_version_1_in_a_container_mounts_the_own_group_as_the_root(tmp_path):
    v1_group(lambda name: tmp_path / name, quota="150000", memory="536870912")
    assert node_cpu.cpu_quota(V1, tmp_path) == 1.5
    assert node_cpu.memory_limit(V1, tmp_path) == 512 << 20


def test_version_1_without_limits_has_none(tmp_path):
    v1_group(lambda name: tmp_path / name)
    assert node_cpu.cpu_quota(V1, tmp_path) is None
    assert node_cpu.memory_limit(V1, tmp_path) is None


def test_version_2_limits_are_read_from_the_one_tree(tmp_path):
    v2_group(tmp_path / "user.slice/session.scope", cpu="200000 100000", memory="2147483648")
    assert node_cpu.cpu_quota(V2, tmp_path) == 2.0
    assert node_cpu.memory_limit(V2, tmp_path) == 2 << 30


def test_version_2_without_limits_has_none(tmp_path):
    v2_group(tmp_path / "user.slice/session.scope")
    assert node_cpu.cpu_quota(V2, tmp_path) is None
    assert node_cpu.memory_limit(V2, tmp_path) is None


def test_the_tightest_group_above_the_process_counts(tmp_path):
    v2_group(tmp_path / "user.slice", cpu="50000 100000", memory="1000")
    v2_group(tmp_path / "user.slice/session.scope", cpu="300000 100000", memory="2000")
    assert node_cpu.cpu_quota(V2, tmp_path) == 0.5
    assert node_cpu.memory_limit(V2, tmp_path) == 1000


def test_hybrid_machines_keep_limits_in_the_trees_of_version_1(tmp_path):
    # The tree of version 2 is mounted beside, and the process is in it too, but it has no controllers.
    (tmp_path / "unified/libpod/abc").mkdir(parents=True)
    v1_group(lambda name: tmp_path / name / "libpod/abc", quota="25000", memory="4096")
    assert node_cpu.cpu_quota(V1 + "0::/libpod/abc\n", tmp_path) == 0.25
    assert node_cpu.memory_limit(V1 + "0::/libpod/abc\n", tmp_path) == 4096


def test_a_path_that_leads_out_of_the_mount_is_not_followed(tmp_path):
    v2_group(tmp_path / "inside", cpu="10000 100000")
    v2_group(tmp_path / "outside", cpu="90000 100000")
    assert node_cpu.cpu_quota("0::/../../outside\n", tmp_path / "inside") == 0.1


def test_hyper_threads_of_a_core_count_once(tmp_path):
    for cpu, (package, core) in enumerate([(0, 0), (0, 0), (0, 1), (1, 0)]):
        topology = tmp_path / f"cpu{cpu}/topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text(f"{package}\n")
        (topology / "core_id").write_text(f"{core}\n")
    assert node_cpu.physical_cores([0, 1, 2, 3], tmp_path) == 3
    assert node_cpu.physical_cores([0, 1], tmp_path) == 1


def test_without_a_topology_every_cpu_is_a_core(tmp_path):
    assert node_cpu.physical_cores([0, 5, 7], tmp_path) == 3


@pytest.mark.parametrize(("cores", "quota", "cpus"), [(8, None, 8.0), (8, 0.5, 0.5), (2, 16.0, 2.0)])
def test_usable_cpus_are_the_tighter_of_cores_and_quota(cores, quota, cpus):
    assert node_cpu.usable_cpus(cores, quota) == cpus


@pytest.mark.parametrize(
    ("cpus", "ranks", "threads"),
    [
        (0.5, 1, 1),
        (1.0, 1, 1),
        (1.9, 1, 1),
        (2.0, 1, 2),
        (8.0, 2, 4),
        (8.0, 3, 2),
        (2.0, 4, 1),
        ((0.7 + 0.1) * 10, 1, 8),
    ],
)
def test_ranks_share_the_cpus_and_have_one_thread_at_least(cpus, ranks, threads):
    assert node_cpu.threads_per_rank(cpus, ranks) == threads


def test_a_rank_alone_has_what_affinity_and_quota_leave(tmp_path):
    assert node_cpu.threads_alone(tmp_path) == len(os.sched_getaffinity(0))
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(V2)
    v2_group(tmp_path / "sys/fs/cgroup/user.slice", cpu="150000 100000")
    assert node_cpu.threads_alone(tmp_path) == 1


def test_instruction_sets_are_whole_words_of_the_flags():
    cpuinfo = "processor\t: 0\nflags\t\t: fpu avx2 avx512f avx512_vnni_like\nbogomips : 1\n"
    assert node_cpu.isa_flags(cpuinfo, ["avx512_vnni", "avx512f", "avx2"]) == ["avx2", "avx512f"]
    assert node_cpu.isa_flags("Features\t: asimd bf16\n", ["bf16", "avx2"]) == ["bf16"]
    assert node_cpu.isa_flags("", ["avx2"]) == []


def test_a_library_that_ldconfig_lists_and_that_is_gone_is_not_used(tmp_path):
    there, gone = tmp_path / "libtcmalloc.so.4", tmp_path / "libtcmalloc_minimal.so.4"
    there.write_text("")
    listed = (
        "2 libs found in cache `/etc/ld.so.cache'\n"
        f"\tlibtcmalloc_minimal.so.4 (libc6,x86-64) => {gone}\n\tlibtcmalloc.so.4 (libc6,x86-64) => {there}\n"
    )
    names = ("libtcmalloc_minimal.so.4", "libtcmalloc.so.4")
    assert node_cpu.allocator_path(listed, names) == str(there)
    gone.write_text("")
    assert node_cpu.allocator_path(listed, names) == str(gone)
    assert node_cpu.allocator_path(listed, ("libjemalloc.so.2",)) == ""
    assert node_cpu.allocator_path("", names) == ""
