"""Reads Parquet, and folders that ``datasets`` saved (Arrow streams). Needs pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from icefield_train import json_text
from icefield_train.doctor.findings import Findings, counted
from icefield_train.readers.table import Table
from icefield_train.showing import shown

# Files of a folder that datasets.save_to_disk wrote: of several splits, of one.
SPLITS_FILE, STATE_FILE = "dataset_dict.json", "state.json"


def read_parquet(paths: Sequence[Path], findings: Findings) -> Table:
    """Return the records of a file, or of the parts of one, in their order.

    Raises:
        ValueError: a part is damaged, or has other columns than the first.
        OSError: it can't be read.
    """
    from pyarrow import parquet

    return _table(paths, parquet.read_table, "Parquet", findings)


def saved_splits(folder: Path) -> dict[str, Path]:
    """Return the splits of a folder that ``datasets`` saved, by name; none of any other folder.

    Raises:
        ValueError: the folder's own list of splits can't be read, or names one that is not there.
    """
    if (folder / STATE_FILE).is_file():
        return {"train": folder}
    if not (folder / SPLITS_FILE).is_file():
        return {}
    names = _json(folder / SPLITS_FILE).get("splits")
    if not isinstance(names, list):
        raise ValueError(f"{folder / SPLITS_FILE}: no list 'splits' found")
    missing = [name for name in names if not (folder / str(name) / STATE_FILE).is_file()]
    if missing:
        raise ValueError(f"{folder / SPLITS_FILE} names the split '{shown(missing[0])}', which is missing")
    return {str(name): folder / str(name) for name in names}


def read_saved(folder: Path, findings: Findings) -> Table:
    """Return the records of one split that ``datasets`` saved.

    Raises:
        ValueError: the folder is damaged.
        OSError: it can't be read.
    """
    from pyarrow import ipc

    files = _json(folder / STATE_FILE).get("_data_files")
    try:
        paths = [folder / Path(str(file["filename"])).name for file in files or []]
    except (TypeError, KeyError):
        paths = []
    if not paths:
        raise ValueError(f"{folder / STATE_FILE}: no files found in it")
    return _table(paths, lambda path: ipc.open_stream(str(path)).read_all(), "Arrow", findings, folder)


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json_text.parse(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"{path}: no JSON object found")
    return found


def _table(paths: Sequence[Path], read: Any, form: str, findings: Findings, folder: Path | None = None) -> Table:
    import pyarrow

    tables = []
    for path in paths:
        if not path.is_file():
            raise ValueError(f"{path}: {'not a file' if path.exists() else 'is missing'}")
        try:
            tables.append(read(path))
        except (pyarrow.ArrowException, OSError) as error:
            raise ValueError(f"{path}: not readable as {form} ({_first_line(error)})") from None
        if tables[-1].schema.names != tables[0].schema.names:
            raise ValueError(f"{path}: other columns than {paths[0].name} has")
        if _label_names(tables[-1].schema) != _label_names(tables[0].schema):
            raise ValueError(f"{path}: other names of classes than {paths[0].name} has")
    try:
        table = pyarrow.concat_tables(tables, promote_options="permissive")
    except pyarrow.ArrowException as error:
        raise ValueError(f"{paths[0]}: its parts do not go together ({_first_line(error)})") from None
    if table.num_rows == 0:
        raise ValueError(f"{paths[0]}: no rows found, at least 1 expected")
    path = folder or paths[0]
    findings.note(f"{path.name}: {counted(table.num_rows, 'row')}")
    columns: dict[str, list[Any]] = {}
    for name, column in zip(table.schema.names, table.columns, strict=True):
        if name in columns:
            raise ValueError(f"{paths[0]}: column '{shown(name)}' found twice")
        columns[name] = _cells(column, f"{path}: column '{shown(name)}'")
    return Table(
        path=path,
        columns=tuple(columns),
        records=list(zip(*columns.values(), strict=True)),
        places=list(range(1, table.num_rows + 1)),
        unit="row",
        label_names=_label_names(tables[0].schema),
    )


def _cells(column: Any, where: str) -> list[Any]:
    import pyarrow

    try:
        cells: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        raise ValueError(f"{where} holds bytes that are no UTF-8, text expected") from None
    except (pyarrow.ArrowException, ImportError, ValueError, OverflowError):
        # Times beyond what Python can express: nothing that is learned from.
        return column.cast(pyarrow.string()).to_pylist()
    return cells


def _label_names(schema: Any) -> dict[str, tuple[str, ...]]:
    """Return the names of classes that ``datasets`` keeps for columns of indices, or of lists of them."""
    try:
        features = json_text.parse((schema.metadata or {})[b"huggingface"])["info"]["features"]
        found = {}
        for column, feature in features.items():
            # A list of classes holds the feature of its items.
            inner = feature.get("feature", feature) if isinstance(feature, dict) else feature
            inner = inner[0] if isinstance(inner, list) and inner else inner
            if isinstance(inner, dict) and isinstance(inner.get("names"), list):
                found[str(column)] = tuple(map(str, inner["names"]))
    except (KeyError, ValueError, TypeError, AttributeError):
        return {}
    return found


def _first_line(error: BaseException) -> str:
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return first.split(". ")[0].rstrip(".")
