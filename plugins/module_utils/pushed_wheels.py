"""Wheels that were pushed to a node: none is used that is not the one of the manifest."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

# Nothing of what uv does once is needed again; certificates are those that the node trusts.
UV_ENVIRONMENT = {"UV_NO_CACHE": "1", "UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1"}


def sha256(path: Path) -> str:
    """Return the hex SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def verify(wheelhouse: Path) -> None:
    """Compare every wheel with the manifest.

    Raises:
        ValueError: a wheel is missing or its SHA-256 differs.
    """
    manifest = json.loads((wheelhouse / "manifest.json").read_text())
    for name, entry in manifest["wheels"].items():
        file = wheelhouse / name
        if not file.is_file():
            raise ValueError(f"{name} of the manifest is not in {wheelhouse}")
        if sha256(file) != entry["sha256"]:
            raise ValueError(f"{name} differs from its SHA-256 in the manifest; delete it on the controller and repeat")


def unpack_uv(wheelhouse: Path, folder: Path) -> Path:
    """Take the uv program out of its wheel.

    Raises:
        ValueError: there is no wheel of uv.
    """
    wheel = next(iter(wheelhouse.glob("uv-*.whl")), None)
    if wheel is None:
        raise ValueError(f"no wheel of uv in {wheelhouse}")
    with zipfile.ZipFile(wheel) as archive:
        member = next(name for name in archive.namelist() if name.endswith(".data/scripts/uv"))
        program = folder / "uv"
        program.write_bytes(archive.read(member))
    program.chmod(0o700)
    return program
