"""What the article changes in a training script by hand, done before a user's unmodified script starts.

It imports Intel's extension and the bindings of oneCCL, and has the script's process group use them. Loaded by its
path, into a process that is not ours. (Rank, world size and the head's address, which the article's change takes from
MPI's variables, every rank has anyway.)
"""

import importlib
import os
import sys
from importlib.util import find_spec

BINDINGS = "oneccl_bindings_for_pytorch"
# What a script on CPUs names where it was not written for oneCCL.
REPLACED = (None, "gloo", "mpi", "cpu:gloo")


def install(names: str, collectives: str) -> None:
    """Import the extensions that are there (names with colons between them), and put the backend "ccl" in its place."""
    found = [name for name in names.split(":") if name and find_spec(name) is not None]
    for name in found:
        importlib.import_module(name)
    if collectives != "ccl":
        return
    if BINDINGS in found:
        use_ccl()
    elif os.environ.get("RANK", "0") == "0":
        print(f"{BINDINGS} is not in this environment: collectives are gloo's", file=sys.stderr)


def use_ccl() -> None:
    """Have ``torch.distributed.init_process_group`` take "ccl" where it is asked for what it would take on CPUs."""
    import torch.distributed as dist

    original = dist.init_process_group

    def init_process_group(backend=None, *args, **options):  # type: ignore[no-untyped-def]
        return original("ccl" if backend in REPLACED else backend, *args, **options)

    dist.init_process_group = init_process_group
