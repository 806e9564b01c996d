"""Network namespaces of this machine behind a switch, each with a rate limit, in place of nodes. Needs root."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

INTERFACE = "eth0"
# Of a range for tests of devices; seen by no other interface, the switch being in a namespace as well.
_ADDRESS = "198.19.255.{}"
# Data that may leave at once: what the rate lets through between two ticks of a kernel of 100 Hz, and some.
_BURST_SECONDS = 0.02
_SMALLEST_BURST = 256 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Namespace:
    """One of them."""

    name: str
    address: str

    @property
    def command(self) -> list[str]:
        """What goes in front of a command that is to run in it."""
        return ["ip", "netns", "exec", self.name]

    def limit(self, rate: float) -> None:
        """Limit what it sends, in bits per second; 0 = no limit."""
        tc = ["tc", "-n", self.name, "qdisc"]
        subprocess.run([*tc, "del", "dev", INTERFACE, "root"], capture_output=True, check=False)
        if rate:
            burst = max(_SMALLEST_BURST, int(rate / 8 * _BURST_SECONDS))
            limit = ["tbf", "rate", f"{rate:.0f}bit", "burst", str(burst), "latency", "100ms"]
            subprocess.run([*tc, "add", "dev", INTERFACE, "root", *limit], check=True)


@contextlib.contextmanager
def namespaces(count: int) -> Iterator[list[Namespace]]:
    """Make so many and remove them in the end.

    Raises:
        subprocess.CalledProcessError: not root, or the kernel has no namespaces.
    """
    prefix = f"bench{os.getpid()}"
    switch = f"{prefix}-switch"
    nodes = [Namespace(name=f"{prefix}-{node}", address=_ADDRESS.format(node + 1)) for node in range(count)]
    try:
        _ip("netns", "add", switch)
        _ip("-n", switch, "link", "add", "switch", "type", "bridge")
        _ip("-n", switch, "link", "set", "switch", "up")
        for number, node in enumerate(nodes):
            port = f"port{number}"
            _ip("netns", "add", node.name)
            _ip("-n", switch, "link", "add", port, "type", "veth", "peer", "name", INTERFACE, "netns", node.name)
            _ip("-n", switch, "link", "set", port, "master", "switch", "up")
            _ip("-n", node.name, "address", "add", f"{node.address}/24", "dev", INTERFACE)
            _ip("-n", node.name, "link", "set", INTERFACE, "up")
            _ip("-n", node.name, "link", "set", "lo", "up")
        yield nodes
    finally:
        for name in (switch, *(node.name for node in nodes)):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def bytes_sent() -> int:
    """Return the bytes that this process's namespace has sent, headers of the network included."""
    with Path("/proc/self/net/dev").open() as lines:
        for line in lines:
            name, _, counters = line.partition(":")
            if name.strip() == INTERFACE:
                # Eight counters of what came in, then bytes sent.
                return int(counters.split()[8])
    return 0


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)
