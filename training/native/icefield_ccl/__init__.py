"""The backend "ccl" of torch.distributed for CPU tensors, over oneCCL.

``icefield_ccl.register(interface="eth0")``, then ``torch.distributed.init_process_group("ccl", ...)``.
"""

from icefield_ccl.backend import doing, register, set_timeout

__all__ = ["doing", "register", "set_timeout"]
