"""Which versions go together, and what a stack needs of a node. Standard library only.

Packages do not say it themselves: the metadata of Intel's extension asks for no version of torch, and on a torch of
another minor version its own check ends in an error of another kind. Found by trying.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

try:
    from ansible.module_utils.stack_file import Stack
except ImportError:  # imported by the controller's code and by tests, from the checkout
    from plugins.module_utils.stack_file import Stack

# Package -> packages that have to be of the same minor version.
SAME_MINOR = {"intel-extension-for-pytorch": ("torch",), "oneccl-bind-pt": ("torch",)}
# Package -> what another's major version has to be below.
BELOW_MAJOR = {"intel-extension-for-pytorch": (("transformers", 5),)}
# Flag of /proc/cpuinfo -> what people call it.
_FAMILIES = {"avx512": "AVX-512", "avx2": "AVX2", "amx": "AMX"}


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version.partition("+")[0])]


def conflicts(packages: Mapping[str, str]) -> list[str]:
    """Return a line for each two of these packages (versions by normalised name) that do not go together."""
    lines = []
    for name, others in SAME_MINOR.items():
        for other in others:
            if {name, other} <= set(packages) and _numbers(packages[name])[:2] != _numbers(packages[other])[:2]:
                minor = ".".join(map(str, _numbers(packages[name])[:2]))
                lines.append(f"{name} {packages[name]} works with {other} {minor} alone, not {packages[other]}")
    for name, limits in BELOW_MAJOR.items():
        for other, major in limits:
            if {name, other} <= set(packages) and _numbers(packages[other])[0] >= major:
                lines.append(f"{name} {packages[name]} works with {other} below {major}, not {packages[other]}")
    return lines


def node_faults(stack: Stack, where: str, *, python: str = "", isa: list[str] | None = None) -> list[str]:
    """Return a line for each reason why a node cannot run a stack, which names node and fact.

    Args:
        stack: the stack.
        where: name of the node.
        python: version of the Python that its environment is made with; "" = not known.
        isa: flags of its processors; None = not known.
    """
    lines = []
    if python and not stack.takes_python(python):
        lines.append(f"{where} has Python {python}; the stack '{stack.name}' takes {stack.python}")
    if isa is not None and (lacking := [flag for flag in stack.needs if flag not in isa]):
        families = {words for prefix, words in _FAMILIES.items() if any(flag.startswith(prefix) for flag in lacking)}
        words = f"{', '.join(sorted(families))} ({', '.join(lacking)})" if families else ", ".join(lacking)
        lines.append(f"{where}: its processors lack {words}, which the stack '{stack.name}' needs")
    return lines


def pin_faults(stack: Stack, where: str, packages: Mapping[str, str]) -> list[str]:
    """Return a line for each package of a stack that a node has in another version, or not at all.

    What does not go together comes first: it tells more than that a version differs.

    Args:
        stack: the stack.
        where: name of the node.
        packages: what its environment has, versions by normalised name.
    """
    lines = [f"{where}: {line}" for line in conflicts(packages)]
    for name, wanted in stack.pins.items():
        found = packages.get(name, "")
        if not _same(wanted, found):
            has = f"{name} {found}" if found else f"no {name}"
            lines.append(f"{where} has {has}; the stack '{stack.name}' has {name} {wanted}")
    return lines


def _same(wanted: str, found: str) -> bool:
    # A pin without a local version, such as +cpu, is met by any.
    return wanted == found or ("+" not in wanted and wanted == found.partition("+")[0])
