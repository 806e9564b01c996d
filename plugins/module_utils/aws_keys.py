"""Host keys of instances: one for the first connection, given by user data, then the node's own."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

# User data is kept for so long that a repeated call is the same call; later the times in it would be wrong.
KEEP_SECONDS = 900


def launch_folder(state: Path, name: str) -> Path:
    """Return where the controller keeps what a node was launched with, until it has made a key of its own."""
    return state / "launch" / name


def is_kept(state: Path, name: str) -> bool:
    """Tell whether there is user data of an earlier call, not too old to make the same call again."""
    data = launch_folder(state, name) / "user-data"
    return data.exists() and time.time() - data.stat().st_mtime < KEEP_SECONDS


def one_time(state: Path, name: str, files: Mapping[str, str], commands: Iterable[list[str]]) -> str:
    """Return user data (cloud-config) for the launch of a node, which gives it a host key; the public half is kept too.

    It is returned again for a while, so that a launch whose answer was lost can be repeated as the very same call.
    User data can be read by whoever may describe the instance and by any process on it: hence one time.

    Args:
        state: folder of the cluster's state.
        name: of the node.
        files: content by path, written on the node when it first boots.
        commands: run on the node after that.
    """
    folder = launch_folder(state, name)
    data, public = folder / "user-data", folder / "host_key.pub"
    if is_kept(state, name):
        return data.read_text()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    private = folder / "host_key"
    for old in (private, public, data):
        old.unlink(missing_ok=True)
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "one-time", "-f", str(private)],
        check=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    config: dict[str, Any] = {
        "ssh_deletekeys": True,
        "ssh_genkeytypes": [],
        "ssh_keys": {"ed25519_private": private.read_text(), "ed25519_public": public.read_text().strip()},
        "write_files": [{"path": path, "content": text, "permissions": "0644"} for path, text in files.items()],
        "runcmd": list(commands),
    }
    private.unlink()
    # JSON is YAML, and the controller's Python may lack a YAML library. Whole or not at all: it may be read again.
    unfinished = folder / "user-data.new"
    unfinished.touch(mode=0o600)
    unfinished.write_text("#cloud-config\n" + json.dumps(config, indent=1) + "\n")
    unfinished.replace(data)
    return data.read_text()


def forget(state: Path, name: str) -> None:
    """Remove what a node was launched with."""
    folder = launch_folder(state, name)
    for path in folder.glob("*"):
        path.unlink()
    if folder.is_dir():
        folder.rmdir()


def is_launched(state: Path, name: str) -> bool:
    """Tell whether a node was launched and has no key of its own yet."""
    return launch_folder(state, name).is_dir()


def one_time_key(state: Path, name: str) -> str:
    """Return the public key (type and key) that a node was launched with, '' where it has one of its own."""
    public = launch_folder(state, name) / "host_key.pub"
    return " ".join(public.read_text().split()[:2]) if public.exists() else ""


def strangers(state: Path, nodes: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the nodes (``id``, ``name``) whose host keys this controller never had."""
    known = read_known(state / "known_hosts")
    return [node for node in nodes if node["id"] not in known and not is_launched(state, node["name"])]


def read_known(path: Path) -> dict[str, list[str]]:
    """Return the keys by instance of a cluster's known_hosts."""
    keys: dict[str, list[str]] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        name, _, key = line.partition(" ")
        if key:
            keys.setdefault(name, []).append(key)
    return keys


def write_known(path: Path, keys: Mapping[str, Iterable[str]]) -> bool:
    """Write known_hosts; tell whether it is another one than before."""
    # A key may be told twice: as the one-time key, and by a file written before.
    text = "".join(f"{name} {key}\n" for name, own in sorted(keys.items()) for key in dict.fromkeys(own))
    if path.exists() and path.read_text() == text:
        return False
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text)
    temporary.replace(path)
    return True
