"""Command line arguments, refused in one line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn

from icefield_train.rules import read_whole, whole
from icefield_train.showing import shown


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that says what is wrong in one line, without the usage, and exits with 2."""

    def error(self, message: str) -> NoReturn:
        """Print the line and exit."""
        print(f"{self.prog}: {message}", file=sys.stderr)
        sys.exit(2)


def whole_number(low: int, zero: str = "") -> Callable[[str], int]:
    """Return the ``type`` of an argument that is a whole number of at least ``low``; ``zero`` says what 0 means."""
    rule = whole(low, zero=zero)

    def read(text: str) -> int:
        value = read_whole(text)
        if not rule.test(value):
            raise argparse.ArgumentTypeError(f"value '{shown(text)}' is not accepted; give {rule.words}")
        return int(value)

    return read
