"""Lines of a text file, numbered as an editor numbers them, after a look at its bytes."""

from __future__ import annotations

import re
from pathlib import Path

from icefield_train.doctor.findings import Faults, Findings, counted, listed

# A line is a row; one that is longer is a file of another kind, or one whose line ends were lost.
MAX_LINE_BYTES = 10_000_000
# From here on a line is worth a mention: a page of text has some 3,000 characters.
LONG_LINE_BYTES = 100_000
_BOM = b"\xef\xbb\xbf"
# The mark of UTF-32 begins with that of UTF-16.
_OTHER_ENCODINGS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
# What files begin with that are no text, whatever their name says.
_OTHER_FORMATS = {
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"\x1f\x8b": "a file compressed by gzip",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"%PDF": "a PDF file",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet",
    b"version https://git-lfs": "a pointer of git-lfs (git lfs pull fetches the file itself)",
}


def read_lines(path: Path, findings: Findings) -> list[str]:
    """Return a file's lines without their ends. Only a line feed ends a line: texts hold other such characters.

    Raises:
        ValueError: the file is no UTF-8 text; the message names file and lines.
        OSError: it can't be read.
    """
    data = read_regular(path)
    _refuse_other_formats(path, data)
    if data.startswith(_BOM):
        findings.note(f"{path.name}: begins with a byte order mark, which is no part of the text")
        data = data.removeprefix(_BOM)
    if b"\r" in data and b"\n" not in data:
        raise ValueError(f"{path}: its line ends are carriage returns alone; convert them, such as by dos2unix -c mac")
    raw = data.split(b"\n")
    if raw[-1] == b"":
        raw.pop()
    _refuse_long(path, raw, findings)
    if b"\0" in data:
        _refuse_zero_bytes(path, raw)
    lines = _decoded(path, data, raw)
    ends = sum(line.endswith("\r") for line in lines)
    if ends:
        which = "all" if ends == len(lines) else f"{ends:,} of {len(lines):,}"
        findings.note(f"{path.name}: {which} lines end as on Windows (CR LF), which is no part of the text")
        lines = [line.removesuffix("\r") for line in lines]
    return lines


def read_regular(path: Path) -> bytes:
    """Return a file's bytes.

    Raises:
        ValueError: it is something else than a file, such as a folder or a pipe.
        OSError: it can't be read.
    """
    if path.exists() and not path.is_file():
        raise ValueError(f"{path}: not a file")
    return path.read_bytes()


def _refuse_other_formats(path: Path, data: bytes) -> None:
    for start, what in _OTHER_FORMATS.items():
        if data.startswith(start):
            raise ValueError(f"{path}: {what} found, text expected")
    encoding = next((name for start, name in _OTHER_ENCODINGS.items() if data.startswith(start)), "")
    # In UTF-16 every second byte of most European text is zero, in UTF-32 three of four.
    zeros = data[:1000].count(0) / max(1, len(data[:1000]))
    if not encoding and len(data) > 3 and zeros > 1 / 3:
        encoding = "UTF-32" if zeros > 0.6 else "UTF-16"
    if encoding:
        raise ValueError(
            f"{path}: {encoding} found, UTF-8 expected; convert it, such as by iconv -f {encoding} -t UTF-8"
        )


def _refuse_long(path: Path, lines: list[bytes], findings: Findings) -> None:
    faults = Faults(path)
    long = []
    for number, line in enumerate(lines, start=1):
        if len(line) > LONG_LINE_BYTES:
            long.append(number)
            if len(line) > MAX_LINE_BYTES:
                faults.add(number, f"{len(line):,} bytes in one line found, at most {MAX_LINE_BYTES:,} accepted")
    faults.refuse()
    if long:
        findings.warn(f"{path.name}: {counted(len(long), 'line')} of more than 100 kB: {listed('line', long)}")


def _refuse_zero_bytes(path: Path, lines: list[bytes]) -> None:
    faults = Faults(path)
    for number, line in enumerate(lines, start=1):
        if b"\0" in line:
            faults.add(number, "a zero byte found, text expected")
    faults.refuse("the file is damaged or no text")


def _decoded(path: Path, data: bytes, raw: list[bytes]) -> list[str]:
    try:
        # At once: a line at a time takes three times as long.
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        faults = Faults(path)
        for number, line in enumerate(raw, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = f"{line[error.start]:02x}"
                faults.add(number, f"bytes that are no UTF-8 found (0x{byte} at byte {error.start + 1}), text expected")
        faults.refuse("convert the file, such as by iconv -f WINDOWS-1252 -t UTF-8")
    if lines[-1] == "":
        lines.pop()
    return lines


def unpaired_surrogate(text: str) -> bool:
    """Tell whether a text, such as JSON can spell it, has half a character, which no file can hold."""
    return bool(re.search("[\ud800-\udfff]", text))
