"""From where ssh is let in to nodes on EC2."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from icefield_train.rules import refusal


def ssh_network(settings: Mapping[str, Any], told_address: str) -> str:
    """Return the network that ssh is let in from, in the form in which EC2 tells it.

    Args:
        settings: the user's.
        told_address: what ``aws_checkip_url`` answered.

    Raises:
        ValueError: it answered no address.
    """
    if settings["aws_ssh_cidr"]:
        return str(ipaddress.IPv4Network(settings["aws_ssh_cidr"]))
    try:
        return str(ipaddress.IPv4Network(ipaddress.IPv4Address(told_address)))
    except ValueError:
        words = "an address that answers with the one of this controller, or give aws_ssh_cidr"
        raise ValueError(refusal("aws_checkip_url", settings["aws_checkip_url"], words)) from None
