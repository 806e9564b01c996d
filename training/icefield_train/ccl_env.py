"""The variables by which a rank finds oneCCL, and by which oneCCL is told what to do."""

from __future__ import annotations

from icefield_ccl import settings
from icefield_train.plan import OWN_BACKEND, Node, Plan

# The module that makes torch's backend "ccl" known; see ``ccl`` and ``script_shim``.
MODULE = "ICEFIELD_CCL_MODULE"


def variables(plan: Plan, node: Node, local_rank: int) -> dict[str, str]:
    """Return the variables of oneCCL that a rank gets; none where its collectives are gloo's.

    Our own backend sets oneCCL's itself, by the same module ``settings``, once its group is made.
    """
    if plan.ccl is None:
        return {}
    # On one node ranks talk over its loopback, whatever else the node has.
    interface = node.interface if len(plan.nodes) > 1 else settings.LOOPBACK
    found = {MODULE: plan.ccl.module}
    if plan.ccl.module == OWN_BACKEND:
        return found | {
            "PYTHONPATH": f"{plan.code}:{plan.ccl.folder}/python",
            "ICEFIELD_CCL_PREFIX": plan.ccl.folder,
            "ICEFIELD_CCL_INTERFACE": interface,
        }
    return found | settings.environment(interface, local_rank, plan.nproc_per_node, worker_cpus=node.ccl_cpus)
