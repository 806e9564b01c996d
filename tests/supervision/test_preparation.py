import json
import os
import sys
import time

import pytest

from icefield_train.preparation import Preparation


@pytest.fixture
def prepared(make_plan, tmp_path):
    """Return a function that starts the preparation of a plan's head, and ends it after the test."""
    started = []

    def start(*command, **changes):
        # Ranks' environment names one folder of code: here the packages that the tests found lie in several.
        code = os.pathsep.join(path for path in sys.path if path)
        (tmp_path / "logs").mkdir(exist_ok=True)
        plan = make_plan(python=sys.executable, code=code, prepare=list(command), **changes)
        preparation = Preparation(plan, plan.head)
        preparation.begin()
        started.append(preparation)
        return preparation

    yield start
    for preparation in started:
        if preparation.process is not None:
            preparation.process.kill()
            preparation.process.wait()


def causes_of(preparation):
    until = time.monotonic() + 20
    while not preparation.causes() and not preparation.complete() and time.monotonic() < until:
        time.sleep(0.05)
    return [cause.line() for cause in preparation.causes()]


def test_a_plan_without_preparation_is_prepared_at_once(prepared):
    preparation = prepared()
    assert preparation.complete()
    assert preparation.causes() == []


def test_a_command_that_ends_well_completes_it_and_the_head_tells_of_the_phase(prepared, tmp_path):
    preparation = prepared("report", str(tmp_path))
    assert causes_of(preparation) == []
    assert preparation.complete()
    assert (tmp_path / "report.html").exists()
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [(event["event"], event["phase"]) for event in events] == [("phase", "tokenise")]


def test_a_command_that_refuses_is_a_cause_with_its_last_words(prepared):
    preparation = prepared("tokenise", "--config", "/none")
    assert causes_of(preparation) == [
        "a (tokenise): the process ended with exit code 2: setting 'config': value '/none' can't be read "
        "(No such file or directory); give a JSON file"
    ]
    assert not preparation.complete()


def test_an_error_of_its_own_is_told_by_its_report(prepared, tmp_path):
    # Data that is not there: told with the node's name, not with a traceback.
    (tmp_path / "config.json").write_text(
        json.dumps({"run_dir": str(tmp_path), "data_dir": str(tmp_path / "gone"), "model": "x"})
    )
    lines = causes_of(prepared("tokenise", "--config", str(tmp_path / "config.json")))
    assert len(lines) == 1
    assert lines[0].startswith("a (tokenise): ")
    assert "\n" not in lines[0]
    assert (tmp_path / "errors/tokenise-a.json").exists()
    assert "Traceback" in (tmp_path / "logs/tokenise-a.log").read_text()


def test_no_progress_within_the_deadline_is_a_cause_and_progress_puts_it_off(prepared, tmp_path):
    # Nobody writes into the pipe: the command waits for ever.
    os.mkfifo(tmp_path / "pipe")
    deadlines = {"start": 1, "rendezvous": 5, "step": 5, "evaluate": 5, "save": 5}
    preparation = prepared(
        "check", "--cache", "x", "--wheelhouse", "x", "--config", str(tmp_path / "pipe"), deadlines=deadlines
    )
    (tmp_path / "status").mkdir()
    until = time.monotonic() + 2
    rows = 0
    while time.monotonic() < until:
        rows += 1000
        (tmp_path / "status/tokenise-a.json").write_text(json.dumps({"rows": rows}))
        assert preparation.causes() == []
        time.sleep(0.1)
    assert causes_of(preparation) == ["a (tokenise): no progress for 1 s in phase 'tokenise' (setting deadline_start)"]


def test_a_process_that_is_killed_is_a_cause(prepared, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    preparation = prepared("check", "--cache", "x", "--wheelhouse", "x", "--config", str(tmp_path / "pipe"))
    preparation.process.kill()
    assert causes_of(preparation) == ["a (tokenise): the process was killed by signal 9"]
