"""Command line arguments, refused in one line."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that says what is wrong in one line, without the usage, and exits with 2."""

    def error(self, message: str) -> NoReturn:
        """Print the line and exit."""
        print(f"{self.prog}: {message}", file=sys.stderr)
        sys.exit(2)
