import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from tests.ccl.pool import Pool


def train(groups, kind):
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 8)).to(kind)
    wrapped = DistributedDataParallel(model, process_group=groups, bucket_cap_mb=0.05, gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(5):
        rows = torch.randn(16, 64, generator=generator).to(kind)
        optimizer.zero_grad()
        wrapped(rows).square().mean().backward()
        optimizer.step()
    return [parameter.detach().float() for parameter in model.parameters()]


def train_on_both(groups, kind):
    return train(groups["ccl"], kind), train(groups["gloo"], kind)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_ddp_trains_to_the_same_bits_on_two_ranks(extension, kind):
    pool = Pool(2)
    results = pool.run(train_on_both, kind)
    pool.close()
    for mine, theirs in results:
        assert all(torch.equal(one, other) for one, other in zip(mine, theirs, strict=True))
    for one, other in zip(results[0][0], results[1][0], strict=True):
        assert torch.equal(one, other)
