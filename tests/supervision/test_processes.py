import os
import signal
import subprocess
import sys
import textwrap
import time
import uuid

import pytest

from icefield_train import processes


@pytest.fixture
def run_id():
    return f"test-{uuid.uuid4().hex[:8]}"


def start(run_id, code):
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, processes.RUN_VARIABLE: run_id},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "up\n"
    return child


def test_processes_are_found_by_the_run_s_name_and_no_others(run_id):
    child = start(run_id, "print('up', flush=True); import time; time.sleep(60)")
    other = start(run_id + "-other", "print('up', flush=True); import time; time.sleep(60)")
    try:
        assert processes.run_processes(run_id) == [child.pid]
        assert processes.end_run(run_id) == []
        assert child.wait(5) == -signal.SIGTERM
        assert other.poll() is None
    finally:
        child.kill()
        other.kill()


def test_a_process_that_ignores_the_request_is_ended_by_force_with_its_children(run_id):
    child = start(
        run_id,
        """
        import signal, subprocess, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        # The child says it: until it runs, its environment cannot be read.
        code = "print('up', flush=True); import time; time.sleep(60)"
        subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
        time.sleep(60)
        """,
    )
    assert len(processes.run_processes(run_id)) == 2
    assert processes.end_run(run_id, patience=0.2) == []
    assert child.wait(5) == -signal.SIGKILL
    assert processes.run_processes(run_id) == []


def test_what_is_asked_first_can_write_its_last_words_though_it_dies_with_its_parent(run_id, tmp_path):
    words = tmp_path / "words"
    rank = f"""
        import signal, sys, time
        from pathlib import Path
        from icefield_train.processes import die_with_parent

        def end(number, frame):
            time.sleep(0.1)
            Path({str(words)!r}).write_text("waited")
            sys.exit(143)

        signal.signal(signal.SIGTERM, end)
        die_with_parent()
        print(__import__("os").getpid(), flush=True)
        time.sleep(60)
        """
    launcher = f"""
        import subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-c", {textwrap.dedent(rank)!r}], stdout=subprocess.PIPE, text=True)
        pid = child.stdout.readline().strip()
        print("up", flush=True)
        print(pid, flush=True)
        time.sleep(60)
        """
    child = start(run_id, launcher)
    pid = int(child.stdout.readline())
    # Another's process, whatever id it has, is not asked.
    assert processes.end_run(run_id, first=[pid, os.getpid()]) == []
    assert child.wait(5) == -signal.SIGTERM
    assert words.read_text() == "waited"


def test_a_process_dies_with_the_one_that_started_it(run_id):
    code = (
        "from icefield_train.processes import die_with_parent; die_with_parent(); "
        "print('up', flush=True); import time; time.sleep(60)"
    )
    parent = start(
        run_id,
        f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {code!r}]).wait()",
    )
    assert len(processes.run_processes(run_id)) == 2
    parent.kill()
    parent.wait()
    until = time.monotonic() + 5
    while processes.run_processes(run_id) and time.monotonic() < until:
        time.sleep(0.05)
    assert processes.run_processes(run_id) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [("memory.events", "low 0\noom 2\noom_kill 3\n"), ("memory/memory.oom_control", "under_oom 0\noom_kill 3\n")],
)
def test_kills_for_want_of_memory_are_counted_in_both_kinds_of_control_groups(tmp_path, name, text):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    assert processes.out_of_memory_kills(tmp_path) == 3
    assert processes.out_of_memory_kills(tmp_path / "none") == 0
