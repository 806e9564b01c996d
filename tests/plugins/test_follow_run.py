"""Following a run: how long a node that does not answer is waited for."""

import json
import threading
import time

import pytest

from plugins.action import follow_run


@pytest.fixture
def follow(tmp_path, monkeypatch):
    """Return a function that follows a run by looks that a test makes up."""
    monkeypatch.setattr(follow_run.constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    monkeypatch.setattr(follow_run, "EVERY", {True: 0.01, False: 0.01})
    monkeypatch.setattr(follow_run, "SILENT_AT_THE_END", 0.1)

    def run(look, name="n"):
        action = follow_run.ActionModule.__new__(follow_run.ActionModule)
        action._look = look
        return action._follow("/runs/r", None, name)

    return run


def over(*_):
    return "", "idle", json.dumps({"state": "failed", "line": "n-1 is gone"})


def test_a_node_that_hangs_is_given_up_once_another_tells_that_the_run_is_over(follow):
    never = threading.Event()
    begun = time.monotonic()
    assert follow(over, "n-2")["line"] == "n-1 is gone"
    assert follow(lambda *_: never.wait(20), "n-1")["state"] == "lost"
    assert time.monotonic() - begun < 5


def test_a_node_that_cannot_be_reached_is_given_up_once_another_tells_that_the_run_is_over(follow):
    follow(over, "n-2")
    begun = time.monotonic()
    assert follow(lambda *_: None, "n-1")["state"] == "lost"
    assert time.monotonic() - begun < 5


def test_a_slow_answer_is_waited_for_while_the_run_goes_on(follow):
    def slow(*_):
        time.sleep(0.3)
        return over()

    assert follow(slow)["state"] == "failed"
