"""A conda environment in a folder: how it is told, emptied, and activated without a shell's start-up file."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

MARKER = ".icefield-conda"

# Of a prefix alone conda makes no script to source; this does what `conda activate` does, for any shell of POSIX.
ACTIVATE = """\
# Source this file to use the conda environment: . {prefix}/bin/activate
export CONDA_PREFIX={prefix}
export CONDA_DEFAULT_ENV={prefix}
export PATH={prefix}/bin:$PATH
for __script in {prefix}/etc/conda/activate.d/*.sh; do
    [ ! -f "$__script" ] || . "$__script"
done
unset __script
"""


def is_conda(prefix: Path) -> bool:
    """Tell whether a conda environment, even an unfinished one, is in the folder."""
    return (prefix / "conda-meta").is_dir() or (prefix / MARKER).exists()


def empty(folder: Path) -> None:
    """Remove all that is in a folder, and keep the folder: it may be where a volume is mounted."""
    if not folder.is_dir():
        return
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def activation_text(prefix: Path) -> str:
    """Return the script that activates the environment in the shell that sources it."""
    return ACTIVATE.format(prefix=shlex.quote(str(prefix)))


def activated(prefix: Path, env: dict[str, str]) -> dict[str, str]:
    """Return an environment as activation leaves it; that of a folder which conda has not made stays as it is.

    Raises:
        ValueError: a script of a package failed; the text is its last line.
    """
    if not is_conda(prefix):
        return env
    script = f". {shlex.quote(str(prefix / 'bin' / 'activate'))} >&2 && exec env -0"
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise ValueError(f"activating {prefix} failed: {said[-1]}")
    pairs = (entry.partition("=") for entry in done.stdout.split("\0") if entry)
    left = {name: value for name, _, value in pairs}
    return {name: value for name, value in left.items() if name in env or name not in ("PWD", "OLDPWD", "SHLVL", "_")}


def write_activation(prefix: Path) -> None:
    """Write ``bin/activate``."""
    path = prefix / "bin" / "activate"
    path.write_text(activation_text(prefix))
    os.chmod(path, 0o644)  # noqa: PTH101 - the same on every Python
