import pytest

from icefield_train.watch import telling_line

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
