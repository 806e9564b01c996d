"""oneCCL on a node: when it is built again, and what stays of its packages."""

import sys
from types import SimpleNamespace

import pytest

from icefield_ccl import build
from plugins.module_utils import ccl_marker
from plugins.modules import ccl_build

LOCK = "# why\nimpi-rt==1\noneccl-cpu==2\n"


@pytest.fixture
def env(tmp_path):
    (tmp_path / "env/lib/python3.11/site-packages/torch-2.13.0+cpu.dist-info").mkdir(parents=True)
    return tmp_path / "env"


def test_it_is_built_again_for_another_torch_other_sources_and_another_oneccl_alone(env):
    want = ccl_marker.wanted(env, LOCK, "sources")
    assert ccl_marker.wanted(env, "oneccl-cpu==2\nimpi-rt==1 # because\n", "sources") == want
    others = {ccl_marker.wanted(env, LOCK, "other"), ccl_marker.wanted(env, LOCK.replace("2", "3"), "sources")}
    packages = env / "lib/python3.11/site-packages"
    (packages / "torch-2.13.0+cpu.dist-info").rename(packages / "torch-2.14.0+cpu.dist-info")
    others.add(ccl_marker.wanted(env, LOCK, "sources"))
    assert len(others | {want}) == 4


def test_an_environment_without_torch_is_named(tmp_path):
    with pytest.raises(ValueError, match=f"there is no torch in {tmp_path}"):
        ccl_marker.wanted(tmp_path, LOCK, "sources")


def test_only_a_marker_of_what_is_wanted_counts(tmp_path):
    assert not ccl_marker.is_ready(tmp_path, "a")
    (tmp_path / ccl_marker.NAME).write_text("a\n")
    assert ccl_marker.is_ready(tmp_path, "a")
    assert not ccl_marker.is_ready(tmp_path, "b")


def test_what_ranks_load_stays_with_its_terms_and_an_earlier_build_goes_whole(tmp_path):
    kept = {
        *("lib/libccl.so.1", "lib/libfabric.so.1", "lib/libtcp-fi.so", "lib/icefield_ccl/1a/icefield_ccl_native.so"),
        *("lib/python3.11/site-packages/impi_rt-1.dist-info/METADATA", "share/doc/ccl/licensing/license.txt"),
        *("python/icefield_ccl/backend.py", "python/icefield_ccl/csrc/module.cpp"),
    }
    for name in (*kept, "bin/mpiexec", "lib/libmpi.so.12", "lib/libccl.a", "include/oneapi/ccl.hpp", "opt/mpi/etc/a"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "lib/libccl.so").symlink_to("libccl.so.1")
    ccl_build.prune(tmp_path)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if not path.is_dir()}
    assert left == kept | {"lib/libccl.so"}
    assert {path.name for path in tmp_path.iterdir()} == {"lib", "python", "share"}
    ccl_build.clear(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"python"}


@pytest.mark.parametrize(
    ("told", "names"),
    [
        ({"_PYBIND11_COMPILER_TYPE": "_gcc", "_PYBIND11_BUILD_ABI": "_cxxabi1018"}, ["_gcc", "_cxxabi1018"]),
        # As torch 2.13 has it.
        ({}, []),
    ],
)
def test_types_have_the_names_that_torch_tells(monkeypatch, told, names):
    monkeypatch.setitem(sys.modules, "torch._C", SimpleNamespace(**told))
    assert list(build.type_names().values()) == names
