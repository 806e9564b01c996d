"""Finds a model by its name - in a package, in a folder, on the hub - and stages the files that training needs."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from icefield_train import hub
from icefield_train.kinds import DEFAULT_KIND
from icefield_train.model_files import TOKENIZER_FILES, WEIGHTS_INDEX, most_tokens, needed_files
from icefield_train.model_wheel import KNOWN, PREFIX, from_package, from_wheelhouse, publish
from icefield_train.rules import refusal, user_path
from icefield_train.showing import SETTING_WIDTH, shown

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_ACCEPTED = "all-MiniLM-L6-v2, a folder with a model, pip:PACKAGE, or a model's name on the hub"


@dataclass(frozen=True, kw_only=True, slots=True)
class StagedModel:
    """Where a model was staged, and what it is."""

    name: str
    path: Path
    digest: str
    """First 12 hex digits of the SHA-256 of its files."""
    bytes: int
    most_tokens: int
    """Most tokens in one row that it takes; 0 = no limit."""


def stage_model(name: str, cache: Path, wheelhouse: Path, kind: str = DEFAULT_KIND) -> StagedModel:
    """Find a model for a kind of task and put the files that training needs into the cache, if they are not there yet.

    Raises:
        ValueError: there is no such model, or it can't be trained.
        OSError: the cache can't be written.
    """
    folder = _find(name, cache, wheelhouse)
    try:
        files = needed_files(folder, kind)
    except ValueError as error:
        raise ValueError(f"setting 'model': value '{shown(name, SETTING_WIDTH)}' is not accepted; {error}") from None
    digest = _digest_of(files)
    short = re.sub(r"[^A-Za-z0-9._-]", "-", Path(name).name) or "model"
    path = cache / "models" / f"{short}-{digest}"
    sizes = {file.name: file.stat().st_size for file in files}
    if not path.is_dir() or {file.name: file.stat().st_size for file in path.iterdir()} != sizes:
        _copy(files, path)
    return StagedModel(
        name=name, path=path.resolve(), digest=digest, bytes=sum(sizes.values()), most_tokens=most_tokens(folder)
    )


def _find(name: str, cache: Path, wheelhouse: Path) -> Path:
    if name.startswith(PREFIX):
        return from_package(name, cache)
    folder = user_path("model", name, _ACCEPTED)
    if name.lower() in KNOWN and not folder.is_dir():
        return from_wheelhouse(name, cache, wheelhouse)
    if folder.is_dir():
        return folder
    if name.startswith(("/", "./", "../", "~")) or folder.exists():
        raise ValueError(refusal("model", name, f"{_ACCEPTED} (there is no such folder)"))
    if not _HUB_NAME.fullmatch(name):
        raise ValueError(refusal("model", name, _ACCEPTED))
    return _from_hub(name, cache)


def _from_hub(name: str, cache: Path) -> Path:
    try:
        hub.ask("model", name)
        return hub.snapshot("model", name, ["config.json", "*.safetensors", WEIGHTS_INDEX, *TOKENIZER_FILES], cache)
    except hub.HubError as fault:
        words = f"{_ACCEPTED if fault.missing else 'a folder with the model'} ({fault})"
        raise ValueError(refusal("model", name, words)) from None


def _digest_of(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:12]


def _copy(files: list[Path], folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for file in files:
            shutil.copyfile(file, aside / file.name)
        shutil.rmtree(folder, ignore_errors=True)
        publish(aside, folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
