"""What the others do when a rank dies: each test ends ranks for real."""

import os
import signal
import socket
import time
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

DEADLINE = 2


def run_until_end(size, victim, how, timeout=40):
    """Return the exit codes of the ranks and what they say, None of the victim."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    context = torch.multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(size)]
    processes = [
        context.Process(target=_rank, args=(rank, size, port, victim, how, timeout, pipes[rank][1]))
        for rank in range(size)
    ]
    for process in processes:
        process.start()
    until = time.monotonic() + 60
    for rank, process in enumerate(processes):
        if rank != victim:
            process.join(max(0, until - time.monotonic()))
    codes = [process.exitcode for process in processes]
    for process in processes:
        process.kill()
    said = [pipe[0].recv() if rank != victim and pipe[0].poll() else None for rank, pipe in enumerate(pipes)]
    return codes, said


def _rank(rank, size, port, victim, how, timeout, pipe):
    import icefield_ccl

    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    icefield_ccl.register(deadline=DEADLINE)
    dist.init_process_group("ccl", rank=rank, world_size=size, timeout=timedelta(seconds=timeout))
    tensor = torch.ones(300_000)
    dist.all_reduce(tensor)
    if rank == victim:
        if how == "leave":
            dist.destroy_process_group()
            os._exit(0)
        if how == "late":
            time.sleep(50)
        os.kill(os.getpid(), how)
    message = "no error"
    try:
        for _ in range(3):
            dist.all_reduce(tensor)
    except RuntimeError as error:
        message = str(error)
    pipe.send(message)
    # Must come back: nobody is there to end it together with.
    dist.destroy_process_group()
    os._exit(0)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("size", [2, 3])
def test_a_rank_that_gives_no_sign_of_life_is_named(extension, how, size):
    codes, said = run_until_end(size, size - 1, how)
    assert codes[:-1] == [0] * (size - 1)
    for message in said[:-1]:
        assert f"timed out waiting for rank {size - 1} on {socket.gethostname()}" in message
        assert "no sign of life for 2000 ms, in ALLREDUCE (operation 2)" in message


def test_the_end_of_the_store_is_noticed(extension):
    codes, said = run_until_end(3, 0, signal.SIGKILL)
    assert codes[1:] == [0, 0]
    for message in said[1:]:
        assert "the store is gone, which rank 0 on" in message and "in ALLREDUCE (operation 2)" in message


def test_a_rank_that_left_is_named(extension):
    codes, said = run_until_end(2, 1, "leave")
    assert codes[0] == 0
    assert f"rank 1 on {socket.gethostname()} left the group" in said[0]


def test_a_rank_that_lives_but_does_not_come_is_named_after_the_timeout(extension):
    codes, said = run_until_end(2, 1, "late", timeout=4)
    assert codes[0] == 0
    assert f"behind: rank 1 on {socket.gethostname()} at operation 1" in said[0]
