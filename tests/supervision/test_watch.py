import json

import pytest

from icefield_train.cause import Cause
from icefield_train.watch import Watch, telling_line

TORCHRUN = """
/env/bin/python: No module named icefield_train.train
E1202 10:27:54 torch/distributed/elastic/multiprocessing/api.py:1015] failed (exitcode: 1) local_rank: 0 (pid: 247)
Traceback (most recent call last):
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
  exitcode  : 1 (pid: 247)
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
"""


@pytest.mark.parametrize(
    ("log", "line"),
    [
        (TORCHRUN, "/env/bin/python: No module named icefield_train.train"),
        (
            "a\nRuntimeError: The server socket has failed to bind\nmore\n",
            "RuntimeError: The server socket has failed to bind",
        ),
        ("ssh: connect to host 10.0.0.2 port 22: Connection refused\nbye\n", None),
        ("last words\n", "last words"),
        ("", "it printed nothing"),
    ],
)
def test_the_line_that_says_best_why_a_launcher_ended(log, line):
    assert telling_line(log) == (line or log.splitlines()[0])


MPIEXEC = """
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 234 RUNNING AT 127.0.0.2
=   EXIT CODE: 9
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
"""


def test_of_all_ranks_that_mpirun_ended_the_first_is_told_by_its_log(make_plan, tmp_path):
    plan = make_plan(launcher="mpirun")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "launcher-a.log").write_text(MPIEXEC)
    watch = Watch(plan, plan.head)
    gone = {"phase": "step", "step": 5, "message": "the process was killed or ended without a report", "peer": True}
    first = watch.sharpen(Cause(host="b", rank=1, pid=234, **gone))
    assert not first.peer
    assert first.line() == "b rank 1 (step 5): the process was killed by signal 9"
    # The same process id on another node is another process.
    assert watch.sharpen(Cause(host="a", rank=0, pid=234, **gone)).peer
    assert watch.sharpen(Cause(host="b", rank=1, pid=235, **gone)).peer


def test_the_place_of_a_node_is_what_its_first_rank_has_told(make_plan, tmp_path):
    plan = make_plan()
    watch = Watch(plan, plan.head)
    assert watch.place() == ("start", 0)
    (tmp_path / "status").mkdir()
    (tmp_path / "status" / "rank-0.json").write_text(json.dumps({"phase": "step", "step": 7, "pid": 1}))
    watch.complete()
    assert watch.place() == ("step", 7)
