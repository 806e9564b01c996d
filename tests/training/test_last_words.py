"""What a rank says when it is asked to end while it waits for others."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import icefield_train

# The main thread waits where no handler of Python's can run.
PROGRAM = """
import ctypes, sys, threading
from pathlib import Path
from icefield_train.journal import Journal
from icefield_train.last_words import on_request_to_end

journal = Journal(Path(sys.argv[1]), rank=1, host="node-2")
journal.enter("step")
journal.status.advance(17, 345)
on_request_to_end(lambda: sys.argv[2], journal)
Path(sys.argv[1], "ready").touch()
lock = ctypes.CDLL(None).sem_wait
place = ctypes.create_string_buffer(64)
while True:
    lock(place)
"""


@pytest.mark.parametrize("operation", ["ALLREDUCE (operation 93)", ""])
def test_a_rank_that_waits_says_in_what_and_ends(tmp_path, operation):
    environment = {**os.environ, "PYTHONPATH": str(Path(icefield_train.__file__).parents[1])}
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path), operation], env=environment)
    try:
        while not (tmp_path / "ready").exists():
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 128 + signal.SIGTERM
    finally:
        process.kill()
    file = tmp_path / "status/waiting-1.json"
    assert file.exists() == bool(operation)
    if operation:
        words = json.loads(file.read_text())
        assert (words["rank"], words["host"], words["phase"], words["step"]) == (1, "node-2", "step", 17)
        assert words["message"] == f"waited for others in {operation} when it was ended"
        assert words["message"] in (tmp_path / "logs/rank-1.log").read_text()
