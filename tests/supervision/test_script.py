"""A rank that runs a user's own program: what it tells of it."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import asdict, replace

import pytest

from icefield_train import launchers, script, script_files
from icefield_train.cause import first_cause
from icefield_train.events import read_events
from icefield_train.plan import Script, load_plan
from icefield_train.processes import state
from icefield_train.script_report import output_files
from icefield_train.watch import Watch


@pytest.fixture
def make_script(make_plan, tmp_path):
    """Return a function that puts a program into the folder of a run of one rank, and returns the plan."""

    def make(code, *arguments, output="", **changes):
        source = tmp_path / "stage"
        source.mkdir()
        (source / "train.py").write_text(textwrap.dedent(code))
        program = Script(
            source=str(source),
            entry="train.py",
            arguments=list(arguments),
            output=str(tmp_path / (output or "output")),
        )
        plan = replace(make_plan(("a",), python=sys.executable, **changes), script=program)
        (tmp_path / "plan.json").write_text(json.dumps(asdict(plan)))
        script_files.prepare(plan, program)
        return load_plan(tmp_path)

    return make


def start(plan, **env):
    return subprocess.Popen(
        [sys.executable, "-m", "icefield_train", "script", "--run-dir", plan.run_dir],
        env={**os.environ, "RANK": "0", "WORLD_SIZE": "1", "ICEFIELD_NODE": "a", **env},
        stderr=subprocess.PIPE,
        text=True,
    )


def told(tmp_path, name):
    return json.loads((tmp_path / name).read_text())


def events(tmp_path, kind):
    return [event for event in read_events(tmp_path / "events.jsonl") if event["event"] == kind]


def test_the_ranks_run_the_script_in_place_of_the_training(make_script, make_plan):
    assert launchers.rank_command(make_plan())[-4:-1] == ["icefield_train", "train", "--config"]
    plan = make_script("")
    assert launchers.rank_command(plan)[-4:] == ["icefield_train", "script", "--run-dir", plan.run_dir]


def test_a_program_that_succeeds_has_its_arguments_its_folder_and_its_output_told(make_script, tmp_path):
    plan = make_script(
        """
        import os, pathlib, sys
        print("args", sys.argv[1:])
        print("stderr too", file=sys.stderr)
        print(pathlib.Path.cwd().name, os.environ.get("PYTHONPATH"), os.environ["ACCELERATE_USE_CPU"])
        pathlib.Path(os.environ["ICEFIELD_OUTPUT_DIR"], "model.txt").write_text("weights")
        pathlib.Path("train.py").write_text("changed")
        """,
        "--lr",
        "3e-5 or so",
    )
    assert start(plan, PYTHONPATH=os.pathsep.join(sys.path)).wait(30) == 0
    lines = ["args ['--lr', '3e-5 or so']", "stderr too", "work None true"]
    assert sorted(event["text"] for event in events(tmp_path, "output")) == sorted(lines)
    assert sorted((tmp_path / "logs/rank-0.log").read_text().splitlines()) == sorted(lines)
    assert told(tmp_path, "status/rank-0.json")["phase"] == "done"
    assert (tmp_path / "output/model.txt").read_text() == "weights"
    assert not (tmp_path / "errors").exists()
    # What it writes where it works is not what other runs get.
    assert (tmp_path / "stage/train.py").read_text() != "changed"


def test_a_program_that_fails_is_told_with_its_last_error(make_script, tmp_path):
    plan = make_script("import json\n\n\ndef read():\n    json.loads('{')\n\n\nread()\n")
    assert start(plan).wait(30) == 1
    error = told(tmp_path, "errors/rank-0.json")
    assert error["message"].startswith("the process ended with exit code 1: json.decoder.JSONDecodeError: Expecting")
    assert error["message"].endswith("(train.py line 5)")
    assert (error["rank"], error["host"], error["phase"], error["peer"]) == (0, "a", "run", False)
    assert error["traceback"].startswith("Traceback (most recent call last):\n")


def test_the_exit_code_of_a_program_is_the_rank_s(make_script, tmp_path):
    assert start(make_script("import sys; print('no rows'); sys.exit(7)")).wait(30) == 7
    assert told(tmp_path, "errors/rank-0.json")["message"] == "the process ended with exit code 7: no rows"


def running(plan, tmp_path):
    rank = start(plan)
    until = time.monotonic() + 30
    while not any("up" in event["text"] for event in events(tmp_path, "output")):
        assert time.monotonic() < until
        time.sleep(0.05)
    return rank, told(tmp_path, "status/rank-0.json")["program"]


def test_a_program_that_is_killed_is_told_by_its_signal(make_script, tmp_path):
    rank, program = running(make_script("print('up', flush=True); import time; time.sleep(60)"), tmp_path)
    os.kill(program, signal.SIGKILL)
    assert rank.wait(10) == 128 + 9
    assert told(tmp_path, "errors/rank-0.json")["message"] == "the process was killed by signal 9"
    assert told(tmp_path, "errors/rank-0.json")["peer"] is False


def test_a_request_to_end_reaches_the_program_which_may_still_save(make_script, tmp_path):
    plan = make_script(
        """
        import os, pathlib, signal, sys, time
        def save(*_):
            pathlib.Path(os.environ["ICEFIELD_OUTPUT_DIR"], "saved").touch()
            sys.exit(1)
        signal.signal(signal.SIGTERM, save)
        print("up", flush=True)
        time.sleep(60)
        """
    )
    rank, _ = running(plan, tmp_path)
    rank.send_signal(signal.SIGTERM)
    rank.wait(10)
    assert (tmp_path / "output/saved").exists()
    # It was asked to end, so it is not why the run ends.
    assert told(tmp_path, "errors/rank-0.json")["peer"] is True


def test_no_program_outlives_its_rank(make_script, tmp_path):
    rank, program = running(make_script("print('up', flush=True); import time; time.sleep(60)"), tmp_path)
    rank.kill()
    rank.wait()
    until = time.monotonic() + 5
    while state(program) not in ("", "Z") and time.monotonic() < until:
        time.sleep(0.05)
    assert state(program) in ("", "Z")


def test_output_in_a_folder_of_the_script_s_own_choice_is_kept_in_the_run_s(make_script, tmp_path):
    plan = make_script(
        "import pathlib; pathlib.Path('results').mkdir(); pathlib.Path('results/a.txt').write_text('1')",
        output="work/results",
    )
    assert start(plan).wait(30) == 0
    script_files.keep_output(plan, plan.script)
    script_files.keep_output(plan, plan.script)
    assert (tmp_path / "output/a.txt").read_text() == "1"
    assert not (tmp_path / "work/results").exists()


def test_links_among_results_hold_where_the_results_are_taken_and_others_stay_as_they_are(make_script, tmp_path):
    plan = make_script(
        "import os, pathlib; r = pathlib.Path('results'); (r / 'deep').mkdir(parents=True);"
        "(r / 'a.txt').write_text('1');"
        "os.symlink(r.absolute() / 'a.txt', r / 'deep/last'); os.symlink('deep', r / 'best');"
        "os.symlink('/nowhere/else', r / 'lost')",
        output="work/results",
    )
    assert start(plan).wait(30) == 0
    script_files.keep_output(plan, plan.script)
    output = tmp_path / "output"
    links = {name: str((output / name).readlink()) for name in ("deep/last", "best", "lost")}
    assert links == {"deep/last": "../a.txt", "best": "deep", "lost": "/nowhere/else"}
    assert (output / "best/last").read_text() == "1"
    assert [name for name, _ in output_files(tmp_path)] == [
        *("a.txt", "best -> deep", "deep/last -> ../a.txt", "lost -> /nowhere/else")
    ]


def status(tmp_path, rank, phase, program=0):
    (tmp_path / "status").mkdir(exist_ok=True)
    data = {"phase": phase, "step": 0, "pid": os.getpid(), "program": program, "time": time.time()}
    (tmp_path / f"status/rank-{rank}.json").write_text(json.dumps(data))


def test_a_node_is_silent_when_all_its_ranks_are_and_names_the_first(make_plan, tmp_path):
    plan = make_plan(("a",), nproc_per_node=2, deadlines={"start": 60, "silence": 1})
    watch = Watch(plan, plan.head)
    assert watch.silence() is None
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/rank-1.log").write_text("loading\nwaiting for the others\n")
    status(tmp_path, 1, "run")
    watch.complete()
    time.sleep(0.8)
    status(tmp_path, 0, "run")
    watch.complete()
    time.sleep(0.5)
    # Rank 1 has been silent for more than a second, rank 0 has not.
    assert watch.silence() is None
    time.sleep(0.8)
    cause = watch.silence()
    assert (cause.rank, cause.peer) == (1, True)
    assert cause.line() == (
        "a rank 1 (run): no rank has printed or computed anything for 1 s (setting deadline_silence)"
    )
    assert watch.last_words() == ["rank 0: it printed nothing", "rank 1: waiting for the others"]


def test_a_node_that_has_finished_is_silent_and_not_the_first_to_look_at(make_plan, tmp_path):
    plan = make_plan(("a", "b"), deadlines={"start": 60, "silence": 1})
    watches = [Watch(plan, node) for node in plan.nodes]
    status(tmp_path, 1, "done")
    watches[1].complete()
    time.sleep(0.1)
    status(tmp_path, 0, "run")
    watches[0].complete()
    time.sleep(1.1)
    assert first_cause(watch.silence() for watch in watches).host == "a"


def test_the_rank_whose_program_is_suspended_is_the_one_to_blame(make_plan, tmp_path):
    plan = make_plan(("a",), nproc_per_node=2, deadlines={"start": 60, "silence": 1})
    watch = Watch(plan, plan.head)
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        sleeper.send_signal(signal.SIGSTOP)
        status(tmp_path, 0, "run")
        watch.complete()
        time.sleep(0.1)
        status(tmp_path, 1, "run", sleeper.pid)
        watch.complete()
        time.sleep(1.1)
        cause = watch.silence()
    finally:
        sleeper.kill()
        sleeper.wait()
    assert (cause.rank, cause.peer) == (1, False)
    assert "suspended (SIGSTOP)" in cause.message


def test_a_program_that_computes_goes_on_and_one_that_waits_does_not(monkeypatch):
    monkeypatch.setattr(script, "_BUSY_WINDOW", 0.5)
    for code, goes_on in (("while True: pass", True), ("import time; time.sleep(60)", False)):
        program = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
        try:
            activity = script.Activity(program.pid)
            time.sleep(0.6)
            activity.seen(printed=False)
            time.sleep(0.6)
            assert activity.seen(printed=False) is goes_on
            assert activity.seen(printed=True)
        finally:
            program.kill()
            program.wait()
