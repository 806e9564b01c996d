"""What a group of this backend tells and takes beside operations."""

from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

from icefield_ccl import build, doing, set_timeout
from tests.ccl.pool import Pool


def wait_for_nobody(groups):
    """Have rank 0 wait for rank 1, which does not come; return what it was in before and then, and why that ended."""
    group = groups["ccl"]
    idle = doing(group)
    set_timeout(group, timedelta(seconds=2))
    tensor = torch.ones(300_000)
    if dist.get_rank() == 1:
        dist.barrier(group=groups["gloo"])
        return "", "", ""
    work = dist.all_reduce(tensor, group=group, async_op=True)
    busy, message = doing(group), ""
    try:
        work.wait()
    except RuntimeError as error:
        message = str(error)
    dist.barrier(group=groups["gloo"])
    return idle, busy, message


def test_a_new_timeout_counts_and_the_operation_under_way_is_told(extension):
    pool = Pool(2)
    (idle, busy, message), _ = pool.run(wait_for_nobody)
    pool.close()
    assert idle == ""
    assert busy.startswith("ALLREDUCE (operation ")
    assert f"timed out waiting in {busy}; behind: rank 1 on " in message


def test_packages_are_looked_for_where_they_are_said_to_be(extension, monkeypatch, tmp_path):
    build.check_packages()
    monkeypatch.setenv("ICEFIELD_CCL_PREFIX", str(tmp_path))
    assert build.library_dir() == tmp_path / "lib"
    with pytest.raises(build.BuildError, match=r"impi-rt==[0-9.]+ is needed, none is installed|oneccl-cpu==.* none is"):
        build.check_packages()
