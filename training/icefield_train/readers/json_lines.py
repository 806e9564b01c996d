"""Reads JSON Lines: one object per line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from icefield_train.doctor.findings import Faults, Findings, counted
from icefield_train.readers.table import Table
from icefield_train.readers.text_lines import read_lines, unpaired_surrogate
from icefield_train.showing import shown


def read_json_lines(path: Path, findings: Findings) -> Table:
    """Return the records of a file; a column is a key of any of them, and a cell that a line lacks is None.

    Raises:
        ValueError: a line is no JSON object; the message names file and lines.
        OSError: the file can't be read.
    """
    lines = read_lines(path, findings)
    faults = Faults(path)
    objects: list[dict[str, Any]] = []
    places: list[int] = []
    twice: list[tuple[int, str]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            repeated: list[str] = []
            objects.append(_object(line, repeated))
            places.append(number)
            if repeated:
                twice.append((number, f"key '{shown(repeated[0])}' found twice in an object, the last one is read"))
        except ValueError as error:
            faults.add(number, str(error))
    if lines and lines[0].lstrip()[:1] == "[":
        faults.refuse("one object per line is expected; convert an array by jq -c '.[]'")
    if not objects and lines and lines[0].strip() == "{":
        faults.refuse("one object per line is expected; convert the file by jq -c .")
    faults.refuse()
    if not objects:
        raise ValueError(f"{path}: no rows found, at least 1 expected")
    blank = len(lines) - len(objects)
    rest = f" + {blank:,} blank" if blank else ""
    findings.note(f"{path.name}: {counted(len(lines), 'line')} = {counted(len(objects), 'row')}{rest}")
    findings.warn_each(path.name, "line", twice, "lines with a key twice in an object")
    columns = tuple(dict.fromkeys(key for item in objects for key in item))
    records = [tuple(item.get(column) for column in columns) for item in objects]
    return Table(path=path, columns=columns, records=records, places=places)


def _object(line: str, repeated: list[str]) -> dict[str, Any]:
    """Return a line's object; keys that one of its objects has twice are added to ``repeated``."""

    def of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated.extend(key for key in made if keys.count(key) > 1)
        return made

    try:
        found = json.loads(line, object_pairs_hook=of_pairs)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON found ({error.msg.lower()}, column {error.colno}), an object expected") from None
    except RecursionError:
        raise ValueError("JSON nested too deeply found, an object with plain values expected") from None
    except ValueError:
        # Python reads no number of more than 4300 digits.
        raise ValueError("a number with too many digits found") from None
    if not isinstance(found, dict):
        raise ValueError(f"{_name(found)} found, an object expected")
    # A whole line is looked at rather than each of its values.
    if "\\u" in line and unpaired_surrogate(json.dumps(found, ensure_ascii=False)):
        raise ValueError("half a character found (an escape such as \\ud83d without its second half), text expected")
    return found


def _name(value: Any) -> str:
    words = {list: "an array", str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return words.get(type(value), "null")
