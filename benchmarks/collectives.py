"""All-reduce by size over gloo and over oneCCL, side by side.

``--ranks 2`` alone measures this machine's loopback; ``--namespaces`` (root) gives each rank a network namespace with a
link of its own, ``--mbit 1000`` shapes that link.

Both back ends take turns within the same processes, so that what else the machine does meets both alike. Printed are
medians in milliseconds and gloo's time / oneCCL's time: above 1, oneCCL is faster.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "training/native"))

KB, MB = 1024, 1024 * 1024
SIZES = (4 * KB, 64 * KB, 256 * KB, MB, 4 * MB, 25 * MB, 90 * MB)
NETWORK = "198.19.250"


def measure(rank: int, size: int, address: str, port: int, interface: str) -> None:
    """Be one rank; rank 0 prints."""
    import torch
    import torch.distributed as dist

    import icefield_ccl

    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR=address, MASTER_PORT=str(port), GLOO_SOCKET_IFNAME=interface)
    icefield_ccl.register(interface=interface)
    timeout = timedelta(seconds=120)
    dist.init_process_group("gloo", rank=rank, world_size=size, timeout=timeout)
    groups = {"gloo": dist.group.WORLD, "ccl": dist.new_group(backend="ccl", timeout=timeout)}
    if rank == 0:
        print("| size | gloo, ms | oneCCL, ms | gloo / oneCCL |\n| --- | --- | --- | --- |")
    for num_bytes in SIZES:
        tensor = torch.ones(num_bytes // 4)
        # Some 3 s for each size on a machine that moves 1 GB/s.
        rounds, calls = (15, 20) if num_bytes <= MB else (9, 3)
        times: dict[str, list[float]] = {"gloo": [], "ccl": []}
        for number in range(rounds + 1):
            for name, group in groups.items():
                dist.barrier(group=group)
                begin = time.perf_counter()
                for _ in range(calls):
                    dist.all_reduce(tensor, group=group)
                if number > 0:  # the first warms up
                    times[name].append((time.perf_counter() - begin) / calls * 1000)
                tensor.fill_(1)
        gloo, ccl = statistics.median(times["gloo"]), statistics.median(times["ccl"])
        if rank == 0:
            label = f"{num_bytes // MB} MB" if num_bytes >= MB else f"{num_bytes // KB} KB"
            print(f"| {label} | {gloo:.3f} | {ccl:.3f} | {gloo / ccl:.2f} |", flush=True)
    dist.destroy_process_group()


def ip(*words: str) -> None:
    """Run one command of iproute2."""
    subprocess.run(["ip", *words], check=True)


def make_namespaces(names: list[str], mbit: int | None) -> None:
    """Make one network namespace per rank, all on one bridge."""
    bridge = f"{names[0][:-2]}-br"
    ip("link", "add", bridge, "type", "bridge")
    ip("link", "set", bridge, "up")
    for number, name in enumerate(names):
        outer = f"{name}-o"
        ip("netns", "add", name)
        ip("link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("link", "set", outer, "master", bridge, "up")
        for words in (["addr", "add", f"{NETWORK}.{number + 1}/24", "dev", "eth0"], ["link", "set", "eth0", "up"]):
            ip("-n", name, *words)
        ip("-n", name, "link", "set", "lo", "up")
        if mbit is not None:
            shape = ["root", "tbf", "rate", f"{mbit}mbit", "burst", "256kb", "latency", "100ms"]
            subprocess.run(["ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", "eth0", *shape], check=True)


def remove_namespaces(names: list[str]) -> None:
    """Remove what make_namespaces made, as far as it came."""
    for name in names:
        subprocess.run(["ip", "netns", "del", name], check=False)
    subprocess.run(["ip", "link", "del", f"{names[0][:-2]}-br"], check=False)


def main() -> int:
    """Start the ranks and wait for them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--namespaces", action="store_true", help="each rank in a network namespace of its own")
    parser.add_argument("--mbit", type=int, help="rate of each namespace's link, Mbit/s; unlimited where not given")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=29571)
    arguments = parser.parse_args()
    interface = "eth0" if arguments.namespaces else "lo"
    address = f"{NETWORK}.1" if arguments.namespaces else "127.0.0.1"
    if arguments.rank is not None:
        measure(arguments.rank, arguments.ranks, address, arguments.port, interface)
        return 0
    names = [f"ib{os.getpid() % 10000}-{rank}" for rank in range(arguments.ranks)]
    command = [sys.executable, *sys.argv, "--rank"]
    inside = [["ip", "netns", "exec", name] for name in names]
    ranks: list[subprocess.Popen[bytes]] = []
    # So that what was made is removed also when somebody ends this early.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        if arguments.namespaces:
            make_namespaces(names, arguments.mbit)
        for rank, prefix in enumerate(inside if arguments.namespaces else [[] for _ in names]):
            ranks.append(subprocess.Popen([*prefix, *command, str(rank)]))
        return max(abs(process.wait()) for process in ranks)
    finally:
        # timeout(1) says it twice.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for process in ranks:
            process.kill()
        if arguments.namespaces:
            remove_namespaces(names)


if __name__ == "__main__":
    sys.exit(main())
