"""Serve EC2, SSM and STS on this machine.

python -m tests.ec2_server --port 0 --ready /tmp/endpoint --default-vpc 198.19.96.0/20 --containers mytest
"""

from __future__ import annotations

import argparse
import ipaddress
import logging
import os
import signal
import sys
from pathlib import Path
from types import FrameType

# moto reads these when it is imported; unknown images and types are refused as EC2 refuses them.
os.environ.setdefault("MOTO_ENABLE_AMI_VALIDATION", "true")
os.environ.setdefault("MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION", "true")


def vpc_range(text: str) -> str:
    """Return a VPC's range as given, if EC2 would take it."""
    if text in ("", "none"):
        return text
    network = ipaddress.IPv4Network(text)
    if not 16 <= network.prefixlen <= 26:
        raise argparse.ArgumentTypeError(f"{text}: give a range from /16 to /26")
    return str(network)


def parse_args(argv: list[str]) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="python -m tests.ec2_server", description="A test endpoint for EC2.")
    parser.add_argument("--port", type=int, default=0, help="0 = a free one (default)")
    parser.add_argument("--ready", type=Path, help="file to write the endpoint's URL into once it answers")
    parser.add_argument("--checkip", default="127.0.0.1", help="what /_icefield/checkip answers (%(default)s)")
    parser.add_argument(
        "--default-vpc", type=vpc_range, default="", metavar="CIDR|none", help="default VPC of us-east-1"
    )
    parser.add_argument("--containers", default="", metavar="NAME", help="run instances as containers of that name")
    return parser.parse_args(argv)


def _stop(signum: int, frame: FrameType | None) -> None:
    # A second signal must not interrupt the clean-up.
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)
    raise SystemExit(0)


def main(argv: list[str]) -> None:
    """Serve until a signal ends it."""
    args = parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s ec2_server: %(message)s", stream=sys.stderr)
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    from tests.ec2_server import server

    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    server.serve(
        port=args.port,
        ready=args.ready,
        checkip=args.checkip,
        default_vpc=args.default_vpc,
        containers=args.containers,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
