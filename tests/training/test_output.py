"""What a program prints, followed while its log grows."""

from __future__ import annotations

from pathlib import Path

import pytest

from icefield_train import output


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "rank-0.log"
    path.touch()
    return path


def add(log: Path, text: bytes) -> None:
    with log.open("ab") as file:
        file.write(text)


def test_a_line_is_told_when_it_is_whole_and_once(log: Path) -> None:
    followed = output.Output(log)
    add(log, "epoch 1 of 3 · lo".encode())
    assert followed.look() == []
    assert followed.grown
    add(log, b"ss 0.5\r\nepoch 2")
    assert followed.look() == ["epoch 1 of 3 · loss 0.5"]
    assert followed.look() == []
    assert not followed.grown
    assert followed.finish() == ["epoch 2"]


def test_a_character_that_is_cut_between_two_looks_stays_whole(log: Path) -> None:
    followed = output.Output(log)
    add(log, "ä".encode()[:1])
    followed.look()
    add(log, "ä".encode()[1:] + b"\n")
    assert followed.look() == ["ä"]


def test_a_bar_is_shown_as_it_last_was_and_not_as_lines(log: Path) -> None:
    followed = output.Output(log)
    add(log, b"\r  0%|     | 0/9\r 11%|#    | 1/9")
    assert followed.look() == []
    assert followed.bar == " 11%|#    | 1/9"
    add(log, b"\r100%|#####| 9/9\n")
    assert followed.look() == ["100%|#####| 9/9"]
    assert followed.bar == ""


def test_nothing_that_a_program_prints_steers_the_terminal(log: Path) -> None:
    add(log, b"\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b[2Jtab\there\x07\x9b\n" + b"x" * 1000 + b"\n")
    lines = output.Output(log).look()
    assert lines[0] == "red tab\there\ufffd"
    assert len(lines[1]) == output.WIDTH
    assert lines[1].endswith("x...")


def test_of_a_flood_the_end_is_told_and_where_the_rest_is(log: Path) -> None:
    followed = output.Output(log)
    add(log, b"".join(b"%d\n" % number for number in range(50_000)))
    lines = followed.look()
    assert lines[0] == "... more is in rank-0.log"
    assert lines[1:] == [str(number) for number in range(50_000 - output.MOST_LINES, 50_000)]
    add(log, b"after it\n")
    assert followed.look() == ["after it"]


def test_the_last_line_that_says_something(log: Path) -> None:
    assert output.last_line(log) == "it printed nothing"
    add(log, b"step 3\n\rbar 1\rbar 2\n\n  \n")
    assert output.last_line(log) == "bar 2"
    assert output.last_line(log.with_name("gone")) == "it printed nothing"
