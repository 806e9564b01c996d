import pytest
import torch
import torch.distributed as dist
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.ccl.pool import Pool


@pytest.fixture(scope="module")
def pool(extension):
    pool = Pool(3)
    yield pool
    pool.close()


def shuffled(groups, sizes, order, any_source):
    """Rank 0 gets messages with tags from rank 1, in another order than they were sent."""
    rank, group = dist.get_rank(), groups["ccl"]
    if rank == 1:
        works = [dist.isend(torch.arange(size) + tag, 0, group=group, tag=tag) for tag, size in enumerate(sizes)]
        for work in works:
            work.wait()
    if rank != 0:
        return True
    for tag in order:
        room = torch.full((sizes[tag],), -1)
        source = dist.recv(room, None if any_source else 1, group=group, tag=tag)
        if source != 1 or not torch.equal(room, torch.arange(sizes[tag]) + tag):
            return f"tag {tag} brought {room} from {source}"
    return True


@given(sizes=st.lists(st.integers(0, 3000), min_size=1, max_size=5), any_source=st.booleans(), data=st.data())
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_messages_are_told_apart_by_tag(pool, sizes, any_source, data):
    order = data.draw(st.permutations(range(len(sizes))))
    assert pool.run(shuffled, sizes, order, any_source) == [True] * 3


def ring(groups):
    rank, size = dist.get_rank(), dist.get_world_size()
    room = torch.empty(5)
    calls = [
        dist.P2POp(dist.isend, torch.full((5,), float(rank)), (rank + 1) % size, groups["ccl"]),
        dist.P2POp(dist.irecv, room, (rank - 1) % size, groups["ccl"]),
    ]
    for work in dist.batch_isend_irecv(calls):
        work.wait()
    return room.tolist()


def test_a_ring_of_batched_messages(pool):
    assert pool.run(ring) == [[2.0] * 5, [0.0] * 5, [1.0] * 5]


def crossed(groups):
    """Two groups whose operations are begun in another order on rank 1."""
    other = dist.new_group([0, 1, 2], backend="ccl")
    first, second = torch.ones(1000), torch.full((1000,), 2.0)
    begun = [(first, groups["ccl"]), (second, other)]
    if dist.get_rank() == 1:
        begun.reverse()
    works = [dist.all_reduce(tensor, group=group, async_op=True) for tensor, group in begun]
    for work in works:
        work.wait()
    dist.destroy_process_group(other)
    return first.sum().item(), second.sum().item()


def test_groups_do_not_wait_for_each_other(pool):
    assert pool.run(crossed) == [(3000.0, 6000.0)] * 3


def part_of_ranks(groups):
    some = dist.new_group([0, 2], backend="ccl")
    tensor = torch.tensor([float(dist.get_rank())])
    if dist.get_rank() != 1:
        dist.all_reduce(tensor, group=some)
        dist.destroy_process_group(some)
    return tensor.item()


def test_a_group_of_some_ranks(pool):
    assert pool.run(part_of_ranks) == [2.0, 1.0, 2.0]


def future(groups):
    tensor = torch.ones(3)
    begun = dist.all_reduce(tensor, group=groups["ccl"], async_op=True).get_future()
    return begun.then(lambda done: done.value()[0] * 10).wait().tolist()


def test_a_future_goes_on_with_the_result(pool):
    assert pool.run(future) == [[30.0] * 3] * 3


def too_long(groups):
    if dist.get_rank() == 1:
        dist.send(torch.ones(3), 0, group=groups["ccl"], tag=77)
    if dist.get_rank() == 0:
        try:
            dist.recv(torch.ones(2), 1, group=groups["ccl"], tag=77)
        except RuntimeError as error:
            return str(error)
    return ""


def test_a_message_of_the_wrong_size_is_an_error(extension):
    pool = Pool(2)
    message = pool.run(too_long)[0]
    pool.close()
    assert "rank 0 on" in message and "a message of 12 bytes came for a tensor of 8" in message
