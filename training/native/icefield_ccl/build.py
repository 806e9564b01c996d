"""Builds the extension for this environment's torch, once for each torch, source and oneCCL.

``python -m icefield_ccl`` does it and says where.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

MODULE = "icefield_ccl_native"
PACKAGES = {"oneccl-cpu": "2021.16.2", "oneccl-cpu-devel": "2021.16.2", "impi-rt": "2021.18.1"}
SOURCES = Path(__file__).parent / "csrc"
_FLAGS = ("-std=c++20", "-O2", "-fPIC", "-shared", f"-DICEFIELD_CCL_MODULE={MODULE}", "-D_GLIBCXX_USE_CXX11_ABI=1")


class BuildError(RuntimeError):
    """The extension cannot be built here."""


def prefix() -> Path:
    """Return where oneCCL's packages are installed: ``ICEFIELD_CCL_PREFIX``, or this Python environment.

    A place of their own keeps the launcher and the libraries of MPI that come with them out of the environment.
    """
    return Path(os.environ.get("ICEFIELD_CCL_PREFIX") or sysconfig.get_path("data"))


def check_packages() -> None:
    """Refuse other versions of oneCCL than those that work together.

    Raises:
        BuildError: a package is missing or of another version.
    """
    variables = {"base": str(prefix()), "platbase": str(prefix())}
    places = [sysconfig.get_path("purelib", "posix_prefix", variables)]
    for name, version in PACKAGES.items():
        distribution = next(iter(importlib.metadata.distributions(name=name, path=places)), None)
        found = distribution.version if distribution else "none"
        if found != version:
            raise BuildError(f"collectives ccl: {name}=={version} is needed, {found} is installed")


def library_dir() -> Path:
    """Return the folder of libccl and libfabric."""
    return prefix() / "lib"


def fingerprint() -> str:
    """Return what a build depends on, as a short hash."""
    parts = [importlib.metadata.version("torch"), sys.implementation.cache_tag, *_FLAGS, str(library_dir())]
    parts += [f"{name}=={version}" for name, version in PACKAGES.items()]
    digest = hashlib.sha256("\n".join(parts).encode())
    for source in sorted(SOURCES.iterdir()):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]


def built() -> Path:
    """Return where the extension for this environment is, or will be."""
    base = os.environ.get("ICEFIELD_CCL_CACHE") or str(library_dir() / "icefield_ccl")
    return Path(base) / fingerprint() / f"{MODULE}.so"


def type_names() -> dict[str, str]:
    """Return what pybind11 puts into the names of torch's types, where torch tells it.

    Under other names, which another version of the compiler gives, torch's own objects are not taken by our functions.
    Newer torch has dropped these: there the names no longer depend on the compiler's version.
    """
    native = importlib.import_module("torch._C")
    found = {name: getattr(native, f"_PYBIND11_{name}", None) for name in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI")}
    return {name: str(value) for name, value in found.items() if value}


def command(output: Path) -> list[str]:
    """Return the compiler's command line.

    Raises:
        BuildError: there is no C++ compiler, or no torch.
    """
    compiler = shutil.which(os.environ.get("CXX") or "g++")
    if compiler is None:
        raise BuildError("collectives ccl: no C++ compiler (g++) here; Debian and Ubuntu have it as package g++")
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise BuildError("collectives ccl: torch is not installed here")
    torch = Path(spec.origin).parent
    defined = [f'-DPYBIND11_{name}="{value}"' for name, value in type_names().items()]
    headers = [
        torch / "include",
        torch / "include/torch/csrc/api/include",
        prefix() / "include",
        sysconfig.get_path("include"),
    ]
    libraries = library_dir()
    return [
        compiler,
        *_FLAGS,
        *defined,
        *(part for folder in headers for part in ("-isystem", str(folder))),
        str(SOURCES / "module.cpp"),
        "-o",
        str(output),
        f"-L{torch / 'lib'}",
        *("-ltorch", "-ltorch_cpu", "-lc10", "-ltorch_python"),
        str(libraries / "libccl.so.1"),
        f"-Wl,-rpath,{libraries}",
    ]


def build() -> Path:
    """Return the extension, built if it was not yet.

    Raises:
        BuildError: it cannot be built, with the compiler's first error.
    """
    check_packages()
    target = built()
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # Renamed into place: several ranks may build at once.
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        output = Path(scratch) / target.name
        done = subprocess.run(command(output), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
            raise BuildError(f"collectives ccl: the compiler failed: {lines[0] if lines else done.returncode}")
        output.rename(target)
    return target


def main() -> int:
    """Build and print where the extension is, with "built" or "there" before it."""
    try:
        check_packages()
        state = "there" if built().exists() else "built"
        print(state, build())
    except BuildError as error:
        print(error, file=sys.stderr)
        return 2
    return 0
