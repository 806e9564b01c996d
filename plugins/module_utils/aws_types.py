"""What an EC2 instance type is, from its name and the table in roles/nodes_aws/vars/types.yml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_NAME = re.compile(
    r"(?P<family>[a-z][a-z0-9]*(?:-[a-z0-9]+)*)"
    r"\.(?P<size>nano|micro|small|medium|large|[1-9]\d*xlarge|xlarge|metal(?:-[1-9]\d*xl)?)"
)
# Graviton: a1, and every family with a 'g' after the digit of its generation (c7gn, x2gd, im4gn, t4g). A 'g' before
# that digit stands for a GPU (g5, gr6), and what follows a hyphen is no part of this (c7i-flex).
_ARM = re.compile(r"a1|[a-z]+\d+[a-z]*g[a-z]*")
# The price list has five decimals.
_USD_DECIMALS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class InstanceType:
    """An instance type; without ``known`` it is a name only, its figures are None and nothing is promised.

    Attributes:
        name: as EC2 has it, such as ``c6i.16xlarge``.
        vcpu: logical CPUs, as quotas count them.
        cores: physical cores.
        memory_gib: memory in GiB.
        network_gbit: Gbit/s that hold, each way.
        network_burst: whether there is more than ``network_gbit`` for a while.
        network_peak_gbit: Gbit/s in such a burst (AWS's "up to"); ``network_gbit`` where there are none.
        generation: of the CPU, such as ``Ice Lake``.
        isa: instruction sets, named as in /proc/cpuinfo.
        usd_hour: dollars per hour on demand with Linux, in the table's region.
        cluster_placement: whether EC2 takes it into a placement group of strategy cluster.
        known: whether the table has it.
    """

    name: str
    vcpu: int | None = None
    cores: int | None = None
    memory_gib: float | None = None
    network_gbit: float | None = None
    network_burst: bool = False
    network_peak_gbit: float | None = None
    generation: str | None = None
    isa: tuple[str, ...] = ()
    usd_hour: float | None = None
    cluster_placement: bool = False
    known: bool = False


def describe(name: str, families: Mapping[str, Any]) -> InstanceType:
    """Return what ``families`` (``nodes_aws_families``) says of the instance type ``name``.

    A family or size that the table has not gives an InstanceType with ``known`` False.

    Raises:
        ValueError: ``name`` is no instance type, or one with an Arm CPU.
        KeyError: the table is not complete for this family.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"'{name}' is not an EC2 instance type; one is written like c6i.16xlarge")
    if _ARM.fullmatch(match["family"]):
        raise ValueError(f"'{name}' is an Arm type (Graviton); Icefield's stack is for x86_64 Intel CPUs")
    family: Mapping[str, Any] = families.get(match["family"], {"sizes": {}})
    size = family["sizes"].get(match["size"])
    if size is None:
        return InstanceType(name=name)
    vcpu, gbit = int(size[0]), float(size[1])
    return InstanceType(
        name=name,
        vcpu=vcpu,
        cores=vcpu // int(family["threads_per_core"]),
        memory_gib=float(vcpu * family["gib_per_vcpu"]),
        network_gbit=gbit,
        network_burst=len(size) > 2,
        network_peak_gbit=float(size[-1]) if len(size) > 2 else gbit,
        generation=str(family["generation"]),
        isa=tuple(family["isa"]),
        usd_hour=round(vcpu * float(family["usd_per_vcpu_hour"]), _USD_DECIMALS),
        cluster_placement=bool(family["cluster_placement"]),
        known=True,
    )


def usd_beside(disk_gb: int, table: Mapping[str, Any]) -> float:
    """Return dollars per hour for a node's disk and public address, by the table of types."""
    return float(
        disk_gb * table["nodes_aws_disk_usd_gb_month"] / table["nodes_aws_hours_a_month"]
        + table["nodes_aws_address_usd_hour"]
    )
