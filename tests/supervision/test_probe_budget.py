"""A probe whose time is over is ended by its supervisor, whatever it is doing."""

import os
import socket
import time
from pathlib import Path

import pytest

from icefield_train.processes import run_processes
from icefield_train.station import Station
from icefield_train.supervisor import supervise, write_result

PROBE = {"tries": [], "shown": [], "seconds": 0.2}


@pytest.fixture
def hanging_plan(tmp_path, make_plan):
    """Return a function that makes a plan of one node whose preparation never ends."""
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nsleep 60 &\nwait\n")
    program.chmod(0o755)
    for name in ("logs", "status", "errors"):
        (tmp_path / name).mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    def make(**changes):
        return make_plan(
            ("a",),
            run_id=f"probe-{os.getpid()}",
            control_port=port,
            python=str(program),
            prepare=["tokenise"],
            deadlines={"start": 60},
            **changes,
        )

    return make


def test_a_probe_that_hangs_is_ended_at_the_end_of_its_budget_with_all_its_processes(hanging_plan):
    plan = hanging_plan(probe={**PROBE, "limit": 1.0})
    begun = time.monotonic()
    cause = supervise(Station(plan, plan.head, "secret"))
    assert time.monotonic() - begun >= 1.0
    assert cause.state == "failed"
    assert cause.line() == "a: the 1 s that were left for it are over (setting autotune_budget)"
    assert run_processes(plan.run_id) == []
    # What the controller reads.
    assert write_result(Path(plan.run_dir), cause)["line"] == cause.line()


def test_a_probe_in_time_and_a_run_without_a_budget_are_left_alone(hanging_plan):
    for plan in (hanging_plan(probe={**PROBE, "limit": 60.0}), hanging_plan()):
        assert Station(plan, plan.head, "secret").stop_asked() is None


def test_a_user_s_wish_to_stop_a_probe_is_told_as_such(hanging_plan):
    plan = hanging_plan(probe={**PROBE, "limit": 60.0})
    (Path(plan.run_dir) / "stop").touch()
    assert Station(plan, plan.head, "secret").stop_asked().state == "stopped"
