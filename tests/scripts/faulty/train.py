# Goes wrong in the way that its argument names. Knows nothing of Icefield.
import itertools
import sys
import time

import torch
import torch.distributed as dist

how = sys.argv[1]
dist.init_process_group()
rank = dist.get_rank()


def step(number):
    if rank == 1 and number == 3 and how == "error":
        raise KeyError(f"no row {number}")
    if rank == 1 and number == 3 and how == "hang":
        print("waiting for a lock", flush=True)
        time.sleep(3600)
    dist.all_reduce(torch.ones(1))


for number in itertools.count(1):
    step(number)
    if rank == 0:
        print("step", number)
    time.sleep(0.1)
