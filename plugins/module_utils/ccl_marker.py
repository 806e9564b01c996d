"""What tells that oneCCL on a node is complete: a file that is written last, for this torch and these sources."""

from __future__ import annotations

import hashlib
from pathlib import Path

NAME = ".icefield-ccl"


def wanted(env: Path, lock: str, sources: str) -> str:
    """Return what the marker says where all is as it shall be: hex SHA-256.

    Args:
        env: the environment with the torch that the backend is built for.
        lock: pins of oneCCL's packages, one a line.
        sources: digest of the backend's sources.

    Raises:
        ValueError: the environment has no torch.
    """
    found = sorted(str(path.relative_to(env)) for path in env.glob("lib/python3*/site-packages/torch-*.dist-info"))
    if not found:
        raise ValueError(f"there is no torch in {env}")
    # The path has the version of Python in it, that of the folder the version of torch.
    lines = sorted(line.partition("#")[0].strip() for line in lock.splitlines())
    return hashlib.sha256("\n".join([*filter(None, lines), *found, sources]).encode()).hexdigest()


def is_ready(path: Path, want: str) -> bool:
    """Tell whether the folder of oneCCL is complete, and what is wanted."""
    marker = path / NAME
    return marker.is_file() and marker.read_text().strip() == want
