import pytest
import torch
import torch.distributed as dist
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.ccl.pool import Pool

FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTEGERS = ["int8", "uint8", "int32", "int64"]
OPS = ["SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"]
SHAPES = st.lists(st.integers(0, 9), min_size=1, max_size=3).map(tuple) | st.sampled_from([(), (4099,), (70001,)])
REDUCED = st.tuples(st.sampled_from(OPS[:4]), st.sampled_from(FLOATS)) | st.tuples(
    st.sampled_from(OPS), st.sampled_from(INTEGERS)
)
SEEDS = st.integers(0, 2**20)


@pytest.fixture(scope="module", params=[1, 2, 3, 4])
def pool(request, extension):
    pool = Pool(request.param)
    yield pool
    pool.close()


def many(count):
    return settings(
        max_examples=count, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )


def values(shape, dtype, seed, rank, *, strided=False):
    """Values of one rank; strided ones lie in memory with gaps."""
    generator = torch.Generator().manual_seed(seed * 16 + rank)
    kind = getattr(torch, dtype)
    if strided and len(shape) > 0:
        return values((*shape[:-1], 2 * shape[-1]), dtype, seed, rank)[..., ::2]
    if kind.is_floating_point:
        return torch.randn(shape, generator=generator).to(kind)
    low = 0 if dtype in ("uint8", "bool") else -5
    high = 2 if dtype == "bool" else 6
    return torch.randint(low, high, shape, generator=generator).to(kind)


def assert_alike(found, expected, size):
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
        if size <= 2 or not mine.is_floating_point():
            assert torch.equal(mine, theirs)
        else:
            # Ranks are added in another order.
            tolerance = {torch.float16: 4e-3, torch.bfloat16: 3e-2}.get(mine.dtype, 1e-5)
            torch.testing.assert_close(mine, theirs, rtol=tolerance, atol=tolerance * 8)


def compare(pool, scenario, *arguments):
    for found, expected in pool.run(both, scenario, arguments):
        assert_alike(found, expected, pool.size)


def both(groups, scenario, arguments):
    return [scenario(groups[name], *arguments) for name in ("ccl", "gloo")]


def all_reduce(group, shape, op, dtype, seed, strided, async_op):
    tensor = values(shape, dtype, seed, dist.get_rank(), strided=strided)
    if group is not dist.group.WORLD:
        tensor = tensor.contiguous()  # gloo takes nothing else
    work = dist.all_reduce(tensor, getattr(dist.ReduceOp, op), group=group, async_op=async_op)
    if async_op:
        work.wait()
    return [tensor.contiguous()]


@given(shape=SHAPES, reduced=REDUCED, seed=SEEDS, strided=st.booleans(), async_op=st.booleans())
@many(120)
def test_all_reduce(pool, shape, reduced, seed, strided, async_op):
    compare(pool, all_reduce, shape, *reduced, seed, strided, async_op)


def reduce(group, shape, op, dtype, seed, root):
    tensor = values(shape, dtype, seed, dist.get_rank())
    dist.reduce(tensor, root, getattr(dist.ReduceOp, op), group=group)
    return [tensor] if dist.get_rank() == root else []


@given(shape=SHAPES, reduced=REDUCED, seed=SEEDS, data=st.data())
@many(60)
def test_reduce(pool, shape, reduced, seed, data):
    compare(pool, reduce, shape, *reduced, seed, data.draw(st.integers(0, pool.size - 1)))


def reduce_scatter(group, shape, op, dtype, seed, flat):
    size, rank = dist.get_world_size(), dist.get_rank()
    whole = values((size, *shape), dtype, seed, rank)
    output = torch.empty(shape, dtype=whole.dtype)
    if flat:
        dist.reduce_scatter_single(output.view(-1), whole.view(-1), getattr(dist.ReduceOp, op), group=group)
    else:
        dist.reduce_scatter(output, list(whole), getattr(dist.ReduceOp, op), group=group)
    return [output]


@given(shape=SHAPES, reduced=REDUCED, seed=SEEDS, flat=st.booleans())
@many(60)
def test_reduce_scatter(pool, shape, reduced, seed, flat):
    # Gloo's reduce-scatter has sums and the like only; the sum of whole tensors is the same thing.
    for rank, (found, expected) in enumerate(pool.run(scattered_sums, shape, *reduced, seed, flat)):
        assert_alike(found, [expected[rank]], pool.size)


def scattered_sums(groups, shape, op, dtype, seed, flat):
    whole = values((dist.get_world_size(), *shape), dtype, seed, dist.get_rank())
    found = reduce_scatter(groups["ccl"], shape, op, dtype, seed, flat)
    dist.all_reduce(whole, getattr(dist.ReduceOp, op), group=groups["gloo"])
    return found, list(whole)


def moves(group, shape, dtype, seed, root):
    """All operations that only move values."""
    size, rank = dist.get_world_size(), dist.get_rank()
    mine = values(shape, dtype, seed, rank)
    rows = values((size, *shape), dtype, seed + 1, rank)
    is_root = rank == root
    sent = mine.clone()
    dist.broadcast(sent, root, group=group)
    listed = [torch.empty_like(mine) for _ in range(size)]
    dist.all_gather(listed, mine, group=group)
    gathered = [torch.empty_like(mine) for _ in range(size)]
    dist.gather(mine, gathered if is_root else None, root, group=group)
    part = torch.empty_like(mine)
    dist.scatter(part, list(rows) if is_root else None, root, group=group)
    joined = torch.empty(size * mine.numel(), dtype=mine.dtype)
    dist.all_gather_single(joined, mine.reshape(-1), group=group)
    swapped = torch.empty_like(rows)
    dist.all_to_all_single(swapped, rows, group=group)
    return [sent, *listed, *(gathered if is_root else []), part, joined, swapped]


@given(shape=SHAPES, dtype=st.sampled_from([*FLOATS, *INTEGERS, "bool"]), seed=SEEDS, data=st.data())
@many(60)
def test_movements(pool, shape, dtype, seed, data):
    compare(pool, moves, shape, dtype, seed, data.draw(st.integers(0, pool.size - 1)))


def uneven_swap(group, matrix, width, dtype, seed):
    rank = dist.get_rank()
    to, of = matrix[rank], [row[rank] for row in matrix]
    source = values((sum(to), width), dtype, seed, rank)
    target = torch.empty((sum(of), width), dtype=source.dtype)
    dist.all_to_all_single(target, source, of, to, group=group)
    return [target]


@given(width=st.integers(0, 5), dtype=st.sampled_from([*FLOATS, *INTEGERS]), seed=SEEDS, data=st.data())
@many(40)
def test_uneven_all_to_all(pool, width, dtype, seed, data):
    row = st.lists(st.integers(0, 4), min_size=pool.size, max_size=pool.size)
    matrix = data.draw(st.lists(row, min_size=pool.size, max_size=pool.size))
    compare(pool, uneven_swap, matrix, width, dtype, seed)


def coalesced(group, shapes, dtype, seed):
    rank = dist.get_rank()
    tensors = [values(shape, dtype, seed + number, rank) for number, shape in enumerate(shapes)]
    with dist._coalescing_manager(group=group, async_ops=True) as collected:
        for tensor in tensors:
            dist.all_reduce(tensor, group=group)
    collected.wait()
    return tensors


@given(shapes=st.lists(SHAPES, min_size=1, max_size=4), dtype=st.sampled_from(FLOATS), seed=SEEDS)
@many(30)
def test_coalesced_all_reduce(pool, shapes, dtype, seed):
    compare(pool, coalesced, shapes, dtype, seed)


def mean(groups):
    tensor = torch.full((3,), float(dist.get_rank()))
    dist.all_reduce(tensor, dist.ReduceOp.AVG, group=groups["ccl"])
    return tensor.tolist()


def test_mean_which_gloo_has_not(pool):
    assert pool.run(mean) == [[(pool.size - 1) / 2] * 3] * pool.size


def refused(groups):
    messages = []
    for call in (
        lambda: dist.all_reduce(torch.ones(2), dist.ReduceOp.BAND, group=groups["ccl"]),
        lambda: dist.all_reduce(torch.ones(2, dtype=torch.int32), dist.ReduceOp.AVG, group=groups["ccl"]),
        lambda: dist.all_gather_single(torch.ones(99), torch.ones(2), group=groups["ccl"]),
    ):
        try:
            call()
        except RuntimeError as error:
            messages.append(str(error).splitlines()[0])
    return messages


def test_refuses_what_makes_no_sense(pool):
    for messages in pool.run(refused):
        assert len(messages) == 3
        assert "does not go with tensors of type Float" in messages[0]
        assert "does not go with tensors of type Int" in messages[1]
