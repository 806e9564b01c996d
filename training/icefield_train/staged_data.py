"""A task's data as a folder of one form, whatever it came from.

``task.json`` says what it is: "kind", "labels", "metrics", "source", "rows", the files of the dev splits ("dev") and of
the rows to predict ("predict", by the name of the file that the predictions go to), and what the doctor found
("doctor"). Rows are JSON objects, one per line of ``train.jsonl``, ``dev*.jsonl`` and ``test*.jsonl``.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from icefield_train import json_text
from icefield_train.config import TrainConfig
from icefield_train.doctor.examine import examine
from icefield_train.doctor.findings import Findings
from icefield_train.part import Part
from icefield_train.rules import refusal
from icefield_train.task_data import TaskData, read_task


@dataclass(frozen=True, kw_only=True, slots=True)
class StagedData:
    """Where a task's data was staged, and what it is."""

    path: Path
    digest: str
    """First 12 hex digits of the SHA-256 of its content."""
    data: TaskData


def stage_data(config: TrainConfig, cache: Path, findings: Findings) -> StagedData:
    """Read or generate a task's data and write it into the cache, if it is not there already.

    Raises:
        ValueError: the settings, a file or one of its rows are not accepted.
        OSError: the cache can't be written.
    """
    data = read_task(config, cache, findings)
    examine(data, findings)
    parts: dict[str, Part] = {}
    about: dict[str, dict[str, str]] = {}
    about["dev"] = {name: f"{name}.jsonl" for name in data.dev}
    about["predict"] = {name: "test.jsonl" if name == "test" else f"test-{name}.jsonl" for name in data.predict}
    for kind, group in (("dev", data.dev), ("predict", data.predict)):
        parts |= {about[kind][name]: part for name, part in group.items()}
    parts["train.jsonl"] = data.train
    files = {name: _lines(part) for name, part in parts.items()}
    files["task.json"] = _about(config, data, about, findings)
    digest = digest_of(files)
    path = cache / "data" / digest
    if not _holds(path, files):
        _write(path, files)
    return StagedData(path=path.resolve(), digest=digest, data=data)


def digest_of(files: dict[str, bytes]) -> str:
    """Return 12 hex digits for the names and contents of files."""
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{len(files[name])}\0".encode() + files[name])
    return digest.hexdigest()[:12]


def read_about(folder: Path) -> dict[str, Any]:
    """Return a staged folder's task.json.

    Raises:
        ValueError: it is no staged folder.
    """
    try:
        about = json_text.parse((folder / "task.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        about = None
    if not isinstance(about, dict):
        words = "a folder with train.jsonl, dev.jsonl and task.json, as check makes it"
        raise ValueError(refusal("data_dir", folder, words))
    return about


def _about(config: TrainConfig, data: TaskData, files: dict[str, dict[str, str]], findings: Findings) -> bytes:
    rows = {"train": data.train, **data.dev, **data.predict}
    about = {
        "task": config.task,
        "kind": data.kind,
        "labels": data.labels,
        "metrics": data.metrics,
        "source": data.source,
        "rows": {name: len(part.rows) for name, part in rows.items()},
        **files,
        "doctor": [asdict(line) for line in findings.lines],
    }
    return (json.dumps(about, indent=1, ensure_ascii=False) + "\n").encode()


def _lines(part: Part) -> bytes:
    dump = json.JSONEncoder(ensure_ascii=False).encode
    return "".join(f"{dump(row)}\n" for row in part.rows).encode()


def _holds(path: Path, files: dict[str, bytes]) -> bool:
    try:
        return all((path / name).read_bytes() == content for name, content in files.items())
    except OSError:
        return False


def _write(path: Path, files: dict[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Written aside and renamed: whoever finds the folder finds it whole.
    aside = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        for name, content in files.items():
            (aside / name).write_bytes(content)
        aside.chmod(0o755)
        shutil.rmtree(path, ignore_errors=True)
        aside.replace(path)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
