"""The files of a user's script on the controller: checked, and copied into a folder that can be staged."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

from icefield_train.rules import refusal, user_path
from plugins.module_utils.staging import digest_of, files_below

# Every node gets a copy for each run; data has a setting of its own.
MOST_BYTES = 100 << 20
MOST_FILES = 10_000
# Histories, environments and caches are no part of a program.
LEFT_OUT = frozenset(
    {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__"}
    | {".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox", ".ipynb_checkpoints", ".DS_Store"}
)
_SCRIPT = "a Python script on this machine"
_FOLDER = "the folder on this machine that holds the script and what it imports"


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptSource:
    """A script, ready to be staged."""

    path: Path
    """Folder with its files, in the cache."""
    digest: str
    """Of that folder."""
    entry: str
    """The script, a path within that folder."""


def stage_script(script: str, script_dir: str, called_from: Path, cache: Path) -> ScriptSource:
    """Check a script, and copy it, or the folder it lies in, into the cache.

    Args:
        script: setting ``script``.
        script_dir: setting ``script_dir``; "" stages the script alone.
        called_from: folder that relative paths are meant from.
        cache: folder on the controller.

    Raises:
        ValueError: there is no such script, it is not Python, or its folder is too large.
        OSError: the cache can't be written.
    """
    path = called_from / user_path("script", script, _SCRIPT)
    _check(script, path)
    if not script_dir:
        return _keep({path.name: path}, path.name, cache)
    folder = (called_from / user_path("script_dir", script_dir, _FOLDER)).resolve()
    if not folder.is_dir():
        raise ValueError(refusal("script_dir", script_dir, f"{_FOLDER} ({folder} is {_is(folder)})"))
    # Not resolved at its end: a link in the folder that leads to the script is the script.
    entry = path.parent.resolve() / path.name
    if not entry.is_relative_to(folder):
        raise ValueError(refusal("script_dir", script_dir, f"{_FOLDER} ({entry} is not in {folder})"))
    return _keep(_files_of(script_dir, folder), str(entry.relative_to(folder)), cache)


def _is(path: Path) -> str:
    return "a folder" if path.is_dir() else "a file" if path.exists() else "not there"


def _check(script: str, path: Path) -> None:
    """Refuse what Python could not run.

    Raises:
        ValueError: it is no file, can't be read, or does not compile.
    """
    if not path.is_file():
        raise ValueError(refusal("script", script, f"{_SCRIPT} ({path.resolve()} is {_is(path)})"))
    try:
        text = path.read_bytes()
        with warnings.catch_warnings():
            # They are the user's own business, and would be printed here.
            warnings.simplefilter("ignore")
            compile(text, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        where = f"line {error.lineno}: " if error.lineno else ""
        raise ValueError(refusal("script", script, f"{_SCRIPT} ({where}{error.msg})")) from None
    except (ValueError, RecursionError, MemoryError) as error:
        # A zero byte is a ValueError; the parser gives up on endless nesting.
        raise ValueError(refusal("script", script, f"{_SCRIPT} ({error or type(error).__name__})")) from None
    except OSError as error:
        raise ValueError(refusal("script", script, f"{_SCRIPT} ({str(error.strerror).lower()})")) from None
    if not text.strip():
        raise ValueError(refusal("script", script, f"{_SCRIPT} (it is empty)"))


def _files_of(script_dir: str, folder: Path) -> dict[str, Path]:
    """Return the files to stage, by their paths within the folder.

    Raises:
        ValueError: they are too many or too large, or a link leads nowhere.
    """
    try:
        files = files_below(folder, LEFT_OUT)
        sizes = {name: path.stat().st_size for name, path in files.items()}
    except (ValueError, OSError) as error:
        raise ValueError(refusal("script_dir", script_dir, f"{_FOLDER} ({error})")) from None
    total = sum(sizes.values())
    if total > MOST_BYTES:
        largest = max(sizes, key=lambda name: sizes[name])
        words = (
            f"a folder of at most {MOST_BYTES >> 20} MiB (it has {total / (1 << 20):.0f}, of which {largest} "
            f"{sizes[largest] / (1 << 20):.0f}); give data by data_dir"
        )
        raise ValueError(refusal("script_dir", script_dir, words))
    if len(files) > MOST_FILES:
        words = f"a folder of at most {MOST_FILES} files (it has {len(files)}); give data by data_dir"
        raise ValueError(refusal("script_dir", script_dir, words))
    return files


def _keep(files: dict[str, Path], entry: str, cache: Path) -> ScriptSource:
    """Copy the files into the cache, under the digest of their content."""
    scripts = cache / "scripts"
    scripts.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".", dir=scripts))
    try:
        for name, path in files.items():
            target = aside / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            # A program that the script calls has to stay one.
            target.chmod(0o755 if os.access(path, os.X_OK) else 0o644)
        aside.chmod(0o755)
        digest = digest_of(aside)
        kept = scripts / digest
        shutil.rmtree(kept, ignore_errors=True)
        aside.replace(kept)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return ScriptSource(path=kept, digest=digest, entry=entry)
