"""Errors of ranks: which tell of a peer's end, and what is written for the supervisor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from icefield_train import failures
from icefield_train.journal import Journal


def _caused_by(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "peer"),
    [
        (RuntimeError("[gloo/transport/tcp/pair.cc:534] Connection closed by peer [198.18.0.12]:4021"), True),
        (RuntimeError("[pair.cc:525] Read error [198.18.0.12]:4021: Connection reset by peer"), True),
        (RuntimeError("Timed out waiting 60000ms for recv operation to complete"), True),
        (ConnectionResetError("[Errno 104]"), True),
        (failures.PeerError("the loss of 1 other rank(s) is not a number at step 3"), True),
        (_caused_by(ValueError("could not go on"), RuntimeError("Connection closed by peer")), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (FloatingPointError("the loss is nan at step 3, not a number"), False),
        (ValueError("the file says: connection closed by peer"), False),
    ],
)
def test_the_noise_of_a_peer_s_end_is_told_from_a_rank_s_own_error(error: Exception, peer: bool) -> None:
    assert failures.tells_of_peer(error) is peer


def test_the_own_error_of_a_rank_comes_before_those_of_its_peers(tmp_path: Path) -> None:
    def write(rank: int, message: str, *, peer: bool, time: float) -> None:
        (tmp_path / "errors").mkdir(exist_ok=True)
        (tmp_path / f"errors/rank-{rank}.json").write_text(
            json.dumps({"rank": rank, "message": message, "peer": peer, "time": time})
        )

    write(0, "closed by peer", peer=True, time=1.0)
    write(1, "late", peer=False, time=3.0)
    write(2, "first", peer=False, time=2.0)
    assert [error["message"] for error in failures.read_errors(tmp_path)] == ["first", "late", "closed by peer"]


@pytest.mark.parametrize(
    ("error", "line"), [(ValueError("a\nb"), "a"), (MemoryError(), "MemoryError"), (ValueError("\n  x \n"), "x")]
)
def test_an_error_is_told_in_one_line(error: Exception, line: str) -> None:
    assert failures.one_line(error) == line


def test_what_a_rank_says_before_it_ends_is_complete(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    journal = Journal(tmp_path, rank=1, host="n-2")
    try:
        journal.enter("step")
        try:
            raise ValueError("row 7 is broken")
        except ValueError as error:
            journal.failed(error)
    finally:
        journal.close()
    written = json.loads((tmp_path / "errors/rank-1.json").read_text())
    assert (written["rank"], written["host"], written["phase"]) == (1, "n-2", "step")
    assert (written["type"], written["message"], written["peer"]) == ("ValueError", "row 7 is broken", False)
    assert "Traceback" in written["traceback"]


def test_a_missing_key_is_told_with_the_kind_of_error() -> None:
    assert failures.one_line(KeyError("vocab")) == "KeyError: 'vocab'"
