"""Why a Python program of somebody else ended, read from the end of what it printed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from icefield_train.failures import sounds_like_peer
from icefield_train.output import plain, tail

_HEAD = "Traceback (most recent call last):"
_ERROR = re.compile(r"[A-Za-z_][\w.]*(: .*)?$")
# torch.distributed writes it before each line of an error that nobody caught.
_PREFIX = re.compile(r"^\[rank\d+\]: ?")
_FRAME = re.compile(r'\s+File "(?P<file>[^"]+)", line (?P<line>\d+)')
# Lines that say nothing on their own: the calls in C++ behind torch's messages, the marks below a line of code.
_EMPTY = re.compile(r"Exception raised from |frame #\d+:|[\^~ ]+$")


@dataclass(frozen=True, kw_only=True, slots=True)
class ProgramError:
    """The last error that a program printed."""

    type: str
    """Class of the exception; "" where it printed no traceback."""
    message: str
    """The error in one line, with the place in the program where that is known."""
    traceback: str
    """The last traceback, or the last lines where there is none."""
    peer: bool
    """Whether it only tells that another rank is gone."""


def read_error(log: Path, folder: Path, code: int) -> ProgramError:
    """Return why a program ended, from its log.

    Args:
        log: what the program printed.
        folder: the program's own files, whose lines are the ones to name.
        code: its exit code, or the negative number of the signal that ended it. Python ends with 1 for an error that
            nobody caught; with other codes programs end by themselves, and a traceback in the log is of something else.
    """
    text = tail(log)
    return error_of(text, folder) if code == 1 or code < 0 else _last_words(text)


def error_of(text: str, folder: Path) -> ProgramError:
    """Return the last error in what a program printed."""
    lines = [_PREFIX.sub("", line, count=1) for line in text.splitlines()]
    # A bar that was not ended by a new line stands before the first one.
    heads = [number for number, line in enumerate(lines) if line.rstrip().endswith(_HEAD)]
    for head in reversed(heads):
        alone = lines[head].strip() == _HEAD
        indent = len(lines[head]) - len(lines[head].lstrip()) if alone else 0
        block = [_HEAD, *(line[indent:] for line in lines[head + 1 :])]
        end = next((n for n, line in enumerate(block[1:], 1) if line and not line[0].isspace()), None)
        if end is None or not _ERROR.match(block[end]):
            continue
        error = plain(block[end])
        kind = error.partition(":")[0].strip()
        return ProgramError(
            type=kind.rpartition(".")[2],
            message=error + _place(block[:end], folder),
            traceback="\n".join(block[: end + 1]),
            peer=sounds_like_peer(error),
        )
    return _last_words(text)


def _last_words(text: str) -> ProgramError:
    lines = [_PREFIX.sub("", line, count=1).strip() for line in text.splitlines()]
    said = [line for line in lines if line and not _EMPTY.match(line)]
    return ProgramError(
        type="",
        message=plain(said[-1]) if said else "it printed nothing",
        traceback="\n".join(said[-10:]),
        peer=False,
    )


def _place(block: list[str], folder: Path) -> str:
    """Return the innermost line of the program's own files, such as `` (train.py line 12)``, or ""."""
    frames = [match for line in block if (match := _FRAME.match(line))]
    own = [frame for frame in frames if Path(frame["file"]).is_relative_to(folder)]
    if not own:
        return ""
    return f" ({Path(own[-1]['file']).relative_to(folder)} line {own[-1]['line']})"
