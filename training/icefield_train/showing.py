"""Foreign text - cells, names, values - as it stands within one line of a message. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Columns of a value within a message, of a setting's value (which may be a path), and names of a list.
_WIDTH = 80
SETTING_WIDTH = 300
_NAMES = 20
# What would break the line, act on a terminal, turn the direction of what follows, or not be seen at all.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff]")


def escaped(text: str) -> str:
    r"""Return text that stays one line and does nothing to a terminal: ``\t``, ``\x1b``, ``\u2028`` are spelt out."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def seen(text: str) -> str:
    """Return text without what is not seen, such as a byte order mark or a blank without width."""
    return _UNSEEN.sub("", text)


def shown(value: object, most: int = _WIDTH) -> str:
    """Return a value as text of one line, cut behind ``most`` characters, with the number of those that it has."""
    text = str(value)
    cut = text[:most]
    return escaped(cut) + (f"... ({len(text):,} characters)" if len(text) > most else "")


def shown_names(names: Iterable[object]) -> str:
    """Return names with commas between them: the first of them, and the number of the others."""
    every = list(names)
    more = f" and {len(every) - _NAMES:,} more" if len(every) > _NAMES else ""
    return ", ".join(map(shown, every[:_NAMES])) + more
