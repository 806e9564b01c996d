"""The variables by which a rank finds oneCCL, and by which oneCCL is told what to do."""

from __future__ import annotations

from icefield_train.plan import CCL_MODULE, OWN_BACKEND, Node, Plan


def variables(plan: Plan, node: Node, local_rank: int) -> dict[str, str]:
    """Return the variables of oneCCL that a rank gets; none where its collectives are gloo's.

    Our own backend sets oneCCL's itself, by the same module ``settings``, once its group is made.
    """
    if plan.ccl is None:
        return {}
    # On one node ranks talk over its loopback, whatever else the node has.
    interface = node.interface if len(plan.nodes) > 1 else "lo"
    found = {CCL_MODULE: plan.ccl.module}
    if plan.ccl.module == OWN_BACKEND:
        return found | {
            "PYTHONPATH": f"{plan.code}:{plan.ccl.folder}/python",
            "ICEFIELD_CCL_PREFIX": plan.ccl.folder,
            "ICEFIELD_CCL_INTERFACE": interface,
        }
    # Of the folder ``native`` beside this package, which only those who start ranks have on their path.
    from icefield_ccl import settings

    return found | settings.environment(interface, local_rank, plan.nproc_per_node, worker_cpus=node.ccl_cpus)
