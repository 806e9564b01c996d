"""The backend "ccl" of torch.distributed for CPU tensors, over oneCCL.

    import icefield_ccl
    icefield_ccl.register(interface="eth0")
    torch.distributed.init_process_group("ccl", ...)
"""

from icefield_ccl.backend import register

__all__ = ["register"]
