"""Reads tables of text: CSV, TSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from icefield_train.doctor.findings import Faults, Findings, counted, listed
from icefield_train.readers.table import Table
from icefield_train.readers.text_lines import MAX_LINE_BYTES, read_lines
from icefield_train.showing import shown


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialect:
    """How a line is divided into cells."""

    name: str
    delimiter: str
    quoted: bool
    """Cells may stand in double quotes and then hold delimiters and line ends; else a quote is text like any other."""


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect(name="csv", delimiter=",", quoted=True),
        Dialect(name="csv-semicolon", delimiter=";", quoted=True),
        Dialect(name="tsv", delimiter="\t", quoted=False),
        Dialect(name="tsv-quoted", delimiter="\t", quoted=True),
    )
}
# A quoted cell of more lines was probably opened by a stray quotation mark.
_MANY_LINES = 50
_PLACES = {",": "csv", ";": "csv-semicolon", "\t": "tsv"}
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}


class _Record(NamedTuple):
    line: int
    cells: list[str]
    lines: int
    """Number of lines that it takes."""


def read_delimited(
    path: Path,
    dialect: Dialect,
    findings: Findings,
    *,
    header: bool = True,
    widths: Sequence[int] = (),
    skip_short: bool = False,
) -> Table:
    """Return the records of a file.

    Args:
        path: the file.
        dialect: how it is written.
        findings: gets what is odd about it.
        header: the first line names the columns; otherwise their names are "1", "2" and so on.
        widths: without a header, the numbers of cells that a line may have; empty: that of the first line.
        skip_short: leave out lines with fewer cells and tell of them, rather than refuse the file.

    Raises:
        ValueError: the file is malformed; the message names file, line, what was found and what is expected.
        OSError: the file can't be read.
    """
    lines = read_lines(path, findings)
    split = _quoted(lines, dialect, path) if dialect.quoted else _unquoted(lines, dialect)
    found = [record for record in split if len(record.cells) > 1 or (record.cells and record.cells[0].strip())]
    if len(found) <= header:
        raise ValueError(f"{path}: no rows found, at least 1 expected")
    if header:
        columns = _header(path, found[0], dialect)
        widths = (len(columns),)
    else:
        widths = widths or (len(found[0].cells),)
        columns = tuple(str(place) for place in range(1, max(widths) + 1))
    records = _of_width(path, found[header:], widths, findings, skip_short=skip_short)
    _tell_lines(path, lines, found, findings, header=header, rows=len(records))
    if dialect.quoted:
        _tell_spans(path, records, findings)
        _tell_blanks(path, found, dialect, findings)
    else:
        _tell_quotes(path, records, dialect, findings)
    return Table(
        path=path,
        columns=columns,
        records=[tuple(record.cells) + ("",) * (len(columns) - len(record.cells)) for record in records],
        places=[record.line for record in records],
    )


def _unquoted(lines: list[str], dialect: Dialect) -> Iterator[_Record]:
    for number, line in enumerate(lines, start=1):
        yield _Record(number, line.split(dialect.delimiter), 1)


def _quoted(lines: list[str], dialect: Dialect, path: Path) -> Iterator[_Record]:
    csv.field_size_limit(MAX_LINE_BYTES)
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=dialect.delimiter, strict=True)
    first = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise ValueError(f"{path} line {first}: {_reason(str(error), dialect)}") from None
        yield _Record(first, cells, reader.line_num + 1 - first)
        first = reader.line_num + 1


def _reason(error: str, dialect: Dialect) -> str:
    if "unexpected end of data" in error:
        return "a quotation mark is opened here and never closed; double it where it is text"
    if "expected after" in error:
        other = "; set dialect=tsv where quotation marks are text" if dialect.delimiter == "\t" else ""
        return f"text found behind a closing quotation mark; double quotation marks that are text{other}"
    if "field limit" in error:
        return f"a quoted cell of more than {MAX_LINE_BYTES:,} characters found; is a quotation mark missing?"
    return "a lone carriage return found outside of quotation marks"


def _header(path: Path, record: _Record, dialect: Dialect) -> tuple[str, ...]:
    columns = tuple(cell.strip() for cell in record.cells)
    twice = sorted({name for name in columns if name and columns.count(name) > 1})
    if twice:
        raise ValueError(f"{path} line {record.line}: column '{shown(twice[0])}' found twice in the header")
    if len(columns) == 1:
        other = next((mark for mark in _DELIMITERS if mark != dialect.delimiter and mark in columns[0]), "")
        if other:
            raise ValueError(
                f"{path} line {record.line}: 1 column found, and {_DELIMITERS[other]} in its name; "
                f"set dialect={_PLACES[other]} if these divide the columns"
            )
    return columns


def _of_width(
    path: Path, found: list[_Record], widths: Sequence[int], findings: Findings, *, skip_short: bool
) -> list[_Record]:
    """Return the records that have one of the widths; the others are left out or refused."""
    expected = " or ".join(str(width) for width in sorted(set(widths)))
    kept: list[_Record] = []
    short: list[tuple[int, str]] = []
    faults = Faults(path)
    for record in found:
        width = len(record.cells)
        if width in widths:
            kept.append(record)
            continue
        fault = f"{counted(width, 'column')} found, {expected} expected"
        if skip_short and width < min(widths):
            short.append((record.line, f"left out: {fault}"))
        else:
            faults.add(record.line, fault)
    faults.refuse()
    findings.warn_each(path.name, "line", short, "lines left out for too few columns")
    return kept


def _tell_lines(
    path: Path, lines: list[str], found: list[_Record], findings: Findings, *, header: bool, rows: int
) -> None:
    """Say what became of each line of the file."""
    left_out = len(found) - header - rows
    within = sum(record.lines - 1 for record in found)
    blank = len(lines) - len(found) - within
    parts = [
        "the header" if header else "",
        counted(rows, "row"),
        f"{left_out:,} left out" if left_out else "",
        f"{within:,} within quoted cells" if within else "",
        f"{blank:,} blank" if blank else "",
    ]
    findings.note(f"{path.name}: {counted(len(lines), 'line')} = {' + '.join(filter(None, parts))}")


def _tell_spans(path: Path, records: list[_Record], findings: Findings) -> None:
    long = [record.line for record in records if record.lines > _MANY_LINES]
    if long:
        findings.warn(
            f"{path.name}: {counted(len(long), 'row')} of more than {_MANY_LINES} lines, {listed('line', long)}: "
            "is a quotation mark missing?"
        )


def _tell_blanks(path: Path, found: list[_Record], dialect: Dialect, findings: Findings) -> None:
    """Tell of cells whose quotation marks do not count, for a blank is before them."""
    places = [
        record.line
        for record in found
        if any(cell[:1] == " " and cell.strip(" ")[:1] == cell.strip(" ")[-1:] == '"' for cell in record.cells)
    ]
    if places:
        mark = _DELIMITERS[dialect.delimiter].removesuffix("s")
        findings.warn(
            f"{path.name}: {counted(len(places), 'row')} with a blank between {mark} and quotation mark, "
            f"{listed('line', places)}: such quotation marks are read as text; remove the blanks"
        )


def _tell_quotes(path: Path, records: list[_Record], dialect: Dialect, findings: Findings) -> None:
    """Tell of cells that were written to be read with quoting."""
    wrapped = sum(any(len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in record.cells) for record in records)
    if wrapped * 2 > len(records) and f"{dialect.name}-quoted" in DIALECTS:
        findings.warn(
            f"{path.name}: {wrapped:,} of {counted(len(records), 'row')} have cells in quotation marks, which are read "
            f"as text; set dialect={dialect.name}-quoted if they are not"
        )
