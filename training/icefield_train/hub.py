"""The hub of models and data sets: is it there, and copies of what it has. Used on the controller only."""

from __future__ import annotations

import os
import threading
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

Kind = Literal["model", "dataset"]
# The client itself takes a minute to give up where there is no way out, and looking a name up has no limit of its own.
_ASK_SECONDS = 3
_WORDS = {"model": "model", "dataset": "data set"}


class HubError(Exception):
    """What was asked for did not come; the message says why."""

    def __init__(self, why: str, *, missing: bool = False) -> None:
        super().__init__(why)
        self.missing = missing
        """True where the hub answered, and has no such thing."""


def ask(kind: Kind, name: str) -> None:
    """Return where the hub has a model or data set of this name.

    Raises:
        HubError: it has none, or does not answer within seconds.
    """
    faults: list[HubError | None] = []
    asking = threading.Thread(target=lambda: faults.append(_ask(kind, name)), daemon=True)
    asking.start()
    asking.join(_ASK_SECONDS + 0.5)
    fault = faults[0] if faults else HubError(f"{address()} can't be reached: it did not answer in time")
    if fault:
        raise fault


def address() -> str:
    """Return where the hub is."""
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")


def snapshot(kind: Kind, name: str, wanted: Sequence[str], cache: Path, *, cached_only: bool = False) -> Path:
    """Return the folder of a copy of the wanted files, which is made where it is not there yet.

    Args:
        kind: what it is.
        name: its name on the hub.
        wanted: names of files; ``*`` stands for anything but a folder's end.
        cache: folder for copies.
        cached_only: take a copy that is there, and ask nobody.

    Raises:
        HubError: the download failed, or there is no copy.
    """
    os.environ.setdefault("HF_HUB_ETAG_TIMEOUT", str(_ASK_SECONDS))
    os.environ.setdefault("HF_HUB_DOWNLOAD_TIMEOUT", "30")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise HubError("huggingface_hub is not installed") from None
    try:
        # Weights for other libraries and precisions lie in sub-folders of a model.
        return Path(
            snapshot_download(
                name,
                repo_type=kind,
                cache_dir=cache / "hub",
                allow_patterns=list(wanted),
                ignore_patterns=["*/*"] if kind == "model" else None,
                local_files_only=cached_only,
            )
        )
    except Exception as error:
        # The library raises errors of many kinds, its HTTP client's among them; to a user they are one.
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise HubError(f"the hub's download failed: {first}") from None


def _ask(kind: Kind, name: str) -> HubError | None:
    hub = address()
    request = urllib.request.Request(f"{hub}/api/{kind}s/{name}", headers={"User-Agent": "icefield"})
    if token := os.environ.get("HF_TOKEN"):
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=_ASK_SECONDS):
            return None
    except urllib.error.HTTPError as error:
        if error.code in (401, 403, 404):
            return HubError(f"{hub} has no such {_WORDS[kind]}, or asks for a token: set HF_TOKEN", missing=True)
        return HubError(f"{hub} answered with status {error.code}")
    except (OSError, ValueError) as error:
        return HubError(f"{hub} can't be reached: {getattr(error, 'reason', error)}")
