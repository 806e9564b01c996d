"""Why a program of somebody else ended, by what it printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from icefield_train.program_error import error_of, read_error

WORK = Path("/runs/r/work")
FRAME = '  File "/runs/r/work/{}", line {}, in main\n    call()\n'
LIBRARY = '  File "/env/lib/torch/nn.py", line 99, in forward\n    raise\n    ^^^^^\n'
HEAD = "Traceback (most recent call last):\n"


def test_the_innermost_line_of_the_user_s_own_files_is_named() -> None:
    text = "epoch 1\n" + HEAD + FRAME.format("train.py", 7) + FRAME.format("lib/model.py", 12) + LIBRARY
    error = error_of(text + "ValueError: shapes differ\nand more words\nbye\n", WORK)
    assert error.message == "ValueError: shapes differ (lib/model.py line 12)"
    assert (error.type, error.peer) == ("ValueError", False)
    assert error.traceback.startswith(HEAD)
    assert error.traceback.endswith("ValueError: shapes differ")


def test_of_several_errors_the_last_one_counts() -> None:
    chained = HEAD + LIBRARY + "KeyError: 'a'\n\nDuring handling of the above exception, another occurred:\n\n"
    error = error_of(chained + HEAD + FRAME.format("t.py", 3) + "RuntimeError: no a\n", WORK)
    assert error.message == "RuntimeError: no a (t.py line 3)"
    assert "KeyError" not in error.traceback


@pytest.mark.parametrize(
    ("line", "peer"),
    [
        ("RuntimeError: [pair.cc:534] Connection closed by peer [198.18.0.12]:4021", True),
        ("torch.distributed.DistNetworkError: The client socket has timed out after 60000ms", True),
        ("RuntimeError: mat1 and mat2 shapes cannot be multiplied", False),
    ],
)
def test_the_noise_of_a_peer_s_end_is_told_from_the_cause(line: str, peer: bool) -> None:
    assert error_of(HEAD + LIBRARY + line + "\n", WORK).peer is peer


def test_a_class_without_words_and_one_in_a_package_are_errors_too() -> None:
    assert error_of(HEAD + LIBRARY + "AssertionError\n", WORK).message == "AssertionError"
    assert error_of(HEAD + LIBRARY + "a.b.OwnError: x\n", WORK).type == "OwnError"


@pytest.mark.parametrize("prefix", ["  ", "[rank0]: ", "[rank12]: "])
def test_what_stands_before_each_line_is_no_part_of_it(prefix: str) -> None:
    block = HEAD + FRAME.format("t.py", 3) + LIBRARY + "RuntimeError: [pair.cc:5] Connection closed by peer [::1]:1"
    error = error_of("".join(f"{prefix}{line}\n" for line in block.splitlines()), WORK)
    assert error.message == "RuntimeError: [pair.cc:5] Connection closed by peer [::1]:1 (t.py line 3)"
    assert (error.type, error.peer) == ("RuntimeError", True)
    assert error.traceback == block


def test_a_bar_before_the_first_line_does_not_hide_the_error() -> None:
    for prefix in ("", "[rank0]: "):
        block = HEAD + FRAME.format("t.py", 3) + "ValueError: x"
        text = "".join(f"{prefix}{line}\n" for line in block.splitlines())
        assert error_of(f"\r 10%|# \r 20%|## | 2/9{text}", WORK).message == "ValueError: x (t.py line 3)"


def test_where_there_is_no_traceback_the_last_words_count() -> None:
    error = error_of("usage: t.py [-h]\nt.py: error: unrecognized arguments: --x\n\n", WORK)
    assert error.message == "t.py: error: unrecognized arguments: --x"
    assert error.type == ""
    native = "terminate called\nframe #0: c10::Error\nException raised from abort at x.cpp\n"
    assert error_of(native, WORK).message == "terminate called"
    assert error_of("", WORK).message == "it printed nothing"
    assert error_of(HEAD + LIBRARY, WORK).message == "raise"


def test_the_end_of_a_long_log_is_enough(tmp_path: Path) -> None:
    log = tmp_path / "rank-1.log"
    log.write_text("noise\n" * 100_000 + HEAD + FRAME.format("t.py", 1) + "OSError: [Errno 28] No space left\n")
    assert read_error(log, WORK, 1).message == "OSError: [Errno 28] No space left (t.py line 1)"
    assert read_error(tmp_path / "gone", WORK, 1).message == "it printed nothing"


def test_a_program_that_ends_by_itself_is_not_explained_by_an_error_that_it_caught(tmp_path: Path) -> None:
    log = tmp_path / "rank-1.log"
    log.write_text(HEAD + LIBRARY + "KeyError: 'caught'\nno rows left, giving up\n")
    assert read_error(log, WORK, 3).message == "no rows left, giving up"
