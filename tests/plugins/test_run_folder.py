import fcntl
import json

import pytest

from plugins.module_utils import run_folder, staging


@pytest.fixture
def runs(tmp_path):
    (tmp_path / ".lock").touch()
    return tmp_path


def add_run(runs, run_id, result=None, status=()):
    (runs / run_id / "status").mkdir(parents=True)
    (runs / run_id / "plan.json").write_text("{}")
    if result is not None:
        (runs / run_id / "result.json").write_text(json.dumps(result))
    for rank, state in enumerate(status):
        (runs / run_id / "status" / f"rank-{rank}.json").write_text(json.dumps(state))


def test_a_run_is_active_as_long_as_its_supervisor_holds_the_lock(runs):
    (runs / ".active").write_text("now")
    assert run_folder.active_run(runs) == ""
    with (runs / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert run_folder.active_run(runs) == "now"


def test_runs_are_told_by_their_state(runs):
    add_run(runs, "over", {"state": "done", "line": ""})
    add_run(runs, "broken", {"state": "failed", "line": "n-2 rank 1: why"})
    add_run(runs, "killed")
    add_run(runs, "now", status=[{"phase": "step", "step": 3, "steps": 9, "time": 1}])
    (runs / ".active").write_text("now")
    with (runs / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = {run["run_id"]: run for run in run_folder.runs_of(runs)}
    assert {name: run["state"] for name, run in found.items()} == {
        "over": "done",
        "broken": "failed",
        "killed": "lost",
        "now": "running",
    }
    assert found["broken"]["line"] == "n-2 rank 1: why"
    assert (found["now"]["phase"], found["now"]["step"], found["now"]["steps"]) == ("step", 3, 9)


def test_a_damaged_copy_is_not_taken(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "weights").write_bytes(b"1234")
    tree = {"kind": "models", "digest": staging.digest_of(source)}
    copy = staging.folder_of(tmp_path / "stage", tree)
    copy.mkdir(parents=True)
    (copy / "weights").write_bytes(b"1235")
    with pytest.raises(ValueError, match="the copy is damaged"):
        staging.verify(tmp_path / "stage", tree)
    assert not staging.is_complete(tmp_path / "stage", tree)
    (copy / "weights").write_bytes(b"1234")
    staging.verify(tmp_path / "stage", tree)
    assert staging.is_complete(tmp_path / "stage", tree)
