"""Characters that a conversion has spoilt, and marks within texts that nobody sees."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from icefield_train.doctor.findings import Findings, counted, listed
from icefield_train.part import Part
from icefield_train.showing import shown

# UTF-8 that was read as Windows-1252: a byte that begins a character of two or three, and those that go on.
_GOES_ON = "[\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]"  # noqa: RUF001 - these very characters are meant
_READ_WRONGLY = re.compile(f"[\xc2-\xdf]{_GOES_ON}|[\xe0-\xef]{_GOES_ON}{{2}}")
# Characters around the fault that are shown.
_AROUND = 10


def tell_characters(part: Part, findings: Findings) -> None:
    """Tell of texts that were damaged before they came here; they are read as they are."""
    lost: list[int] = []
    wrong: list[int] = []
    marked: list[int] = []
    example = ""
    for row, place in zip(part.rows, part.places, strict=True):
        text = "\n".join(_texts(row))
        if text.isascii():
            continue
        if "\ufffd" in text:
            lost.append(place)
        if "\ufeff" in text:
            marked.append(place)
        if found := _spoilt(text):
            example = example or found
            wrong.append(place)
    for places, what in (
        (lost, "a character that was lost in a conversion (U+FFFD)"),
        (wrong, f"characters that look like UTF-8 read as another encoding, such as '{shown(example)}'"),
        (marked, "a byte order mark within the text (U+FEFF)"),
    ):
        if places:
            findings.warn(
                f"{part.source}: {counted(len(places), 'row has', 'rows have')} {what}: {listed(part.unit, places)}"
            )


def _texts(row: dict[str, Any]) -> Iterator[str]:
    if "tokens" in row:
        yield from row["tokens"]
        return
    yield row["text"]
    if row["text_pair"]:
        yield row["text_pair"]


def _spoilt(text: str) -> str:
    """Return what surrounds a character of two or three bytes that is spelt by one for each byte; "" without any."""
    for found in _READ_WRONGLY.finditer(text):
        try:
            # Some bytes have no character in Windows-1252 and are passed on as they are.
            raw = b"".join(mark.encode("cp1252" if mark > "\x9f" else "latin-1") for mark in found[0])
            raw.decode("utf-8")
        except UnicodeError:
            continue
        return text[max(0, found.start() - _AROUND) : found.end() + _AROUND].strip()
    return ""
