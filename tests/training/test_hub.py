"""GLUE's data from the hub: from one on this machine that answers as the real one does, and from none."""

from __future__ import annotations

import hashlib
import io
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("huggingface_hub")
pytest.importorskip("pyarrow")

from icefield_train import glue_hub
from icefield_train.doctor.findings import Findings
from icefield_train.part import Part
from icefield_train.task import Layout
from icefield_train.tasks import TASKS

COMMIT = "c" * 40
NAME = glue_hub.NAME
ROWS = 5


def _parquet(task: str, split: str) -> bytes:
    """Return the rows of a split as the hub has them: classes as indices, -1 where there is none."""
    import pyarrow
    from pyarrow import parquet

    form = TASKS[task]
    layout = form.hub_layout
    assert isinstance(layout, Layout)
    labels: list[Any] = [number % 2 for number in range(ROWS)]
    if form.kind == "regression":
        labels = [number / 2 for number in range(ROWS)]
    if "test" in split:
        labels = [-1] * ROWS
    columns: dict[str, Any] = {str(layout.text): [f'{split} {number} "' for number in range(ROWS)]}
    if layout.text_pair:
        columns[str(layout.text_pair)] = [f"other {number}" for number in range(ROWS)]
    buffer = io.BytesIO()
    table = {**columns, str(layout.label): labels, "idx": list(range(ROWS))}
    parquet.write_table(pyarrow.table(table), buffer)
    return buffer.getvalue()


FILES = {
    f"{split.hub}-00000-of-00001.parquet": _parquet(task, split.hub)
    for task in ("mrpc", "stsb", "mnli")
    for split in (TASKS[task].splits | TASKS[task].predict).values()
}


class _Hub(BaseHTTPRequestHandler):
    """As much of the hub as its client asks for."""

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        path = urlsplit(self.path).path
        base = f"/api/datasets/{NAME}"
        if path in (base, f"{base}/revision/main"):
            about = {"id": NAME, "sha": COMMIT, "siblings": [{"rfilename": name} for name in FILES]}
            self.send(json.dumps(about).encode(), body=body)
        elif path == f"{base}/tree/{COMMIT}":
            tree = [
                {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                for name, data in FILES.items()
            ]
            self.send(json.dumps(tree).encode(), body=body)
        elif (name := path.removeprefix(f"/datasets/{NAME}/resolve/{COMMIT}/")) in FILES:
            self.send(FILES[name], body=body)
        else:
            self.send_error(404)

    def send(self, data: bytes, *, body: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{hashlib.sha1(data).hexdigest()}"')
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    _point_to(monkeypatch, f"http://127.0.0.1:{server.server_port}")
    yield server
    server.shutdown()
    server.server_close()


def _point_to(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    import huggingface_hub.constants

    monkeypatch.setenv("HF_ENDPOINT", address)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    # The client reads the variable once, when it is imported.
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", address)
    monkeypatch.setattr(
        huggingface_hub.constants,
        "HUGGINGFACE_CO_URL_TEMPLATE",
        address + "/{repo_id}/resolve/{revision}/{filename}",
    )


def _read(task: str, cache: Path) -> tuple[dict[str, Part], Findings]:
    findings = Findings()
    return glue_hub.read_hub(TASKS[task], "auto", cache, findings), findings


@pytest.mark.parametrize("task", ["mrpc", "stsb", "mnli"])
def test_a_task_without_a_folder_is_fetched_from_the_hub(task: str, hub: ThreadingHTTPServer, tmp_path: Path) -> None:
    parts, _ = _read(task, tmp_path)
    form = TASKS[task]
    assert set(parts) == set(form.splits) | set(form.predict)
    for name, split in (form.splits | form.predict).items():
        rows = parts[name].rows
        assert [row["text"] for row in rows] == [f'{split.hub} {number} "' for number in range(ROWS)]
        expected = [number / 2 for number in range(ROWS)] if task == "stsb" else [number % 2 for number in range(ROWS)]
        assert [row["label"] for row in rows] == ([None] * ROWS if name in form.predict else expected)


def test_a_folder_that_is_called_as_the_hubs_data_is_not_looked_at(
    hub: ThreadingHTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("nyu-mll/glue/mrpc", "glue/mrpc", "glue"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "train-00000-of-00001.parquet").write_bytes(b"trap")
    monkeypatch.chdir(tmp_path)
    parts, _ = _read("mrpc", tmp_path / "cache")
    assert len(parts["train"].rows) == ROWS


def test_what_was_fetched_serves_again_where_the_hub_is_gone_and_is_told(
    hub: ThreadingHTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = _read("mrpc", tmp_path)
    _point_to(monkeypatch, "http://127.0.0.1:9")
    again, findings = _read("mrpc", tmp_path)
    assert {name: part.rows for name, part in again.items()} == {name: part.rows for name, part in first.items()}
    assert findings.texts("warning")[0] == (
        "http://127.0.0.1:9 can't be reached: [Errno 111] Connection refused; "
        "the copy of nyu-mll/glue that was fetched earlier is taken"
    )


def test_without_a_hub_a_folder_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nothing listens on port 9 of the loopback interface.
    _point_to(monkeypatch, "http://127.0.0.1:9")
    with pytest.raises(ValueError) as refusal:
        _read("mnli", tmp_path)
    assert str(refusal.value) == (
        "setting 'data_dir': value '' is not accepted; give a folder with train.tsv and dev_matched.tsv and "
        "dev_mismatched.tsv (http://127.0.0.1:9 can't be reached: [Errno 111] Connection refused)"
    )


def test_a_hub_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        _point_to(monkeypatch, f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(ValueError, match=r"\(http://127\.0\.0\.1:\d+ can't be reached: .*(timed out|in time)\)$"):
            _read("mrpc", tmp_path)


def test_a_hub_without_the_data_is_said_so(
    hub: ThreadingHTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glue_hub, "NAME", "nyu-mll/other")
    with pytest.raises(ValueError, match=r"has no such data set, or asks for a token: set HF_TOKEN\)$"):
        _read("mrpc", tmp_path)
