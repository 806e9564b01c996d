"""Icefield's own exchange of gradients over oneCCL, beside the same over gloo."""

from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

from icefield_train.collectives import BACKENDS, measure
from icefield_train.parallel import ParallelModel
from tests.ccl.pool import Pool

WORDS = "0.weight"
WAYS = {
    "dense fp32": {},
    "sparse fp32": {"embedding": WORDS},
    "dense bf16": {"wire_format": "bf16"},
    "sparse bf16": {"embedding": WORDS, "wire_format": "bf16"},
    "sparse fp16": {"embedding": WORDS, "wire_format": "fp16"},
}


def train(group, options):
    """Return the weights after some steps, and the bytes that this rank counted for them."""
    torch.manual_seed(5)
    # Several buckets of 1 MiB.
    layers = [torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 512), torch.nn.Linear(512, 4)]
    module = torch.nn.Sequential(torch.nn.EmbeddingBag(500, 256), *layers)
    model = ParallelModel(module, timeout=timedelta(seconds=30), group=group, bucket_mb=1, **options)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    for step in range(4):
        generator = torch.Generator().manual_seed(step)
        rows = torch.randint(0, 500, (dist.get_world_size(), 8, 6), generator=generator)
        model.begin_step(rows.unique())
        optimizer.zero_grad()
        with model.last_pass():
            model(rows[dist.get_rank()]).square().mean().backward()
        optimizer.step()
    return torch.cat([weight.detach().flatten() for weight in module.parameters()]), model.bytes_sent


def train_on_both(groups, options):
    return {backend: train(groups[backend], options) for backend in BACKENDS}


def measured(groups, wire_format):
    options = {"gradient_bytes": 3 << 20, "bucket_mb": 1, "wire_format": wire_format}
    return measure(groups, timeout=timedelta(seconds=30), touch=lambda: None, **options)


@pytest.fixture(scope="module", params=[2, 3])
def pool(request, extension):
    pool = Pool(request.param)
    yield pool
    pool.close()


@pytest.mark.parametrize("way", WAYS)
def test_weights_are_those_of_gloo_and_of_all_ranks(pool, way):
    found = pool.run(train_on_both, WAYS[way])
    for rank in found:
        (mine, my_bytes), (theirs, their_bytes) = rank["ccl"], rank["gloo"]
        assert my_bytes == their_bytes > 0
        assert torch.equal(mine, found[0]["ccl"][0])
        # Rounded to 16 bits before they are added up by rank, sums do not depend on the backend; nor do those of two.
        if pool.size == 2 or "fp32" not in way:
            assert torch.equal(mine, theirs)
        else:
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("wire_format", ["fp32", "bf16"])
def test_all_ranks_measure_the_same_times_of_the_buckets_of_a_step(pool, wire_format):
    found = pool.run(measured, wire_format)
    assert all(timings == found[0] for timings in found)
    bucket, small = found[0]
    assert (bucket.bytes, bucket.per_step) == (1 << 20, 3)
    assert (small.bytes, small.per_step) == (16, 1)
    assert all(min(timing.gloo_seconds, timing.ccl_seconds) > 0 for timing in (bucket, small))
