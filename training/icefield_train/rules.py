"""What a setting accepts, in words and as a test. Standard library only: the controller uses it too."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from icefield_train.showing import SETTING_WIDTH, shown


def refusal(name: str, value: object, words: str) -> str:
    """Return the one line that refuses a value."""
    return f"setting '{name}': value '{shown(value, SETTING_WIDTH)}' is not accepted; give {words}"


def user_path(name: str, value: str, words: str) -> Path:
    """Return the path that a setting names, with ``~`` as the home that it stands for.

    Raises:
        ValueError: no such path can be there: the home of a user that is not known, or too long a name.
    """
    try:
        path = Path(value).expanduser()
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return path
    except (OSError, RuntimeError, ValueError) as error:
        # A path without a home is a RuntimeError, one with a zero byte a ValueError.
        why = (error.strerror if isinstance(error, OSError) else str(error)) or type(error).__name__
        raise ValueError(refusal(name, value, f"{words} ({why.rstrip('.').lower()})")) from None
    return path


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """What a setting accepts: in words, and as a test."""

    words: str
    test: Callable[[Any], bool]


# Beyond any count; what follows from greater ones can't be calculated.
_MOST_DIGITS = 18


def read_whole(value: Any) -> Any:
    """Return the whole number that a text spells; anything else as it is, for a rule to refuse."""
    spelt = isinstance(value, str) and re.fullmatch(rf"\s*[+-]?[0-9]{{1,{_MOST_DIGITS}}}\s*", value)
    return int(value) if spelt else value


def whole(low: int, high: int | None = None, zero: str = "") -> Rule:
    """Accept whole numbers from ``low`` to ``high``; ``zero`` says what 0 means."""
    words = f"a whole number of at least {low}" if high is None else f"a whole number from {low} to {high}"
    return Rule(
        words=words + (f" (0 = {zero})" if zero else ""),
        # A bool is an int to Python, but not to a user.
        test=lambda value: type(value) is int and low <= value <= (10**_MOST_DIGITS if high is None else high),
    )


def number(words: str, test: Callable[[float], bool]) -> Rule:
    """Accept finite numbers that pass the test, of which ``words`` tell."""
    return Rule(
        words=f"a number {words}", test=lambda value: type(value) is float and math.isfinite(value) and test(value)
    )


def choice(choices: tuple[str, ...]) -> Rule:
    """Accept one of these."""
    return Rule(words=f"one of {', '.join(choices)}", test=lambda value: value in choices)
