"""What the article changes in a training script by hand, done before a user's unmodified script starts.

It imports Intel's extension, and has the script's process group go over oneCCL where that was asked for. Loaded by its
path, into a process that is not ours. (Rank, world size and the head's address, which the article's change takes from
MPI's variables, every rank has anyway.)
"""

import importlib
import os
import sys

# What a script on CPUs names where it was not written for oneCCL.
REPLACED = (None, "gloo", "mpi", "cpu:gloo")


def install(extensions: str, ccl: str) -> None:
    """Import a stack's extensions (names with colons between them), and put the backend "ccl" in gloo's place.

    Args:
        extensions: the extensions' modules.
        ccl: the module that makes "ccl" known to torch; "" leaves the process group alone.
    """
    for name in filter(None, extensions.split(":")):
        importlib.import_module(name)
    if ccl:
        register(ccl)
        use_ccl()


def register(module: str) -> None:
    """Make "ccl" known: Intel's bindings do it by being imported, our backend is told to."""
    folder = os.environ.get("ICEFIELD_CCL_PREFIX")
    if folder:
        # Last: nothing of the script's is hidden.
        sys.path.append(os.path.join(folder, "python"))  # noqa: PTH118
    found = importlib.import_module(module)
    if folder:
        found.register()


def use_ccl() -> None:
    """Have ``torch.distributed.init_process_group`` take "ccl" where it is asked for what it would take on CPUs."""
    import torch.distributed as dist

    original = dist.init_process_group

    def init_process_group(backend=None, *args, **options):  # type: ignore[no-untyped-def]
        return original("ccl" if backend in REPLACED else backend, *args, **options)

    dist.init_process_group = init_process_group
