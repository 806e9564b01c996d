"""MRPC's original form: one file with the rows of train and dev, and a list of the ids of those that are dev."""

from __future__ import annotations

from dataclasses import replace

from icefield_train.doctor.findings import Findings, counted
from icefield_train.readers.delimited import DIALECTS, read_delimited
from icefield_train.readers.table import Table
from icefield_train.showing import shown

DEV_IDS = "dev_ids.tsv"
_ID_COLUMNS = ("#1 ID", "#2 ID")


def listed_only(table: Table, listed: bool) -> Table:
    """Return the rows whose pair of ids the list has, or, with ``listed`` false, the others.

    The list lies beside the file, or one folder up.

    Raises:
        ValueError: there is no list, it has ids that the file has not, or the file has no ids.
    """
    folder = table.path.parent
    path = next((place / DEV_IDS for place in (folder, folder.parent) if (place / DEV_IDS).is_file()), None)
    if path is None:
        raise ValueError(f"{DEV_IDS} is missing beside {table.path}; it says which of its rows are dev rows")
    if missing := [name for name in _ID_COLUMNS if name not in table.columns]:
        raise ValueError(f"{table.path} line 1: column '{missing[0]}' is missing, which {DEV_IDS} refers to")
    pairs = list(zip(*(table.column(name) for name in _ID_COLUMNS), strict=True))
    ids = read_delimited(path, DIALECTS["tsv"], Findings(), header=False, widths=(2,))
    known = {(first.strip(), second.strip()) for first, second in ids.records}
    if lost := sorted(known.difference(pairs)):
        which = f"{counted(len(lost), 'pair')} of ids that {table.path.name} has not"
        raise ValueError(f"{path}: {which}, such as {shown(' '.join(lost[0]))}")
    keep = [index for index, pair in enumerate(pairs) if (pair in known) == listed]
    return replace(
        table,
        records=[table.records[index] for index in keep],
        places=[table.places[index] for index in keep],
    )
