"""JSON of foreign files. Standard library only."""

from __future__ import annotations

import json
from typing import Any


def parse(text: str | bytes) -> Any:
    """Return what a text says in JSON.

    Raises:
        ValueError: it is no JSON, or nested too deeply to be read, which to Python is an error of another kind.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("JSON nested too deeply found") from None
