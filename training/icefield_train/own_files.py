"""Finds the files of a user's own data, and reads them by their endings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from icefield_train.columns import tell_header
from icefield_train.config import TrainConfig
from icefield_train.doctor.findings import Findings
from icefield_train.file_parts import is_part, refuse_incomplete, whole_stem
from icefield_train.readers.arrow import read_parquet, read_saved, saved_splits
from icefield_train.readers.conll import read_conll
from icefield_train.readers.delimited import DIALECTS, Dialect, read_delimited
from icefield_train.readers.json_lines import read_json_lines
from icefield_train.readers.table import Table
from icefield_train.readers.text_lines import MAX_LINE_BYTES
from icefield_train.rules import refusal, user_path
from icefield_train.showing import shown_names

# Names of a split's file, without ending.
_STEMS = {"train": ("train",), "dev": ("dev", "validation", "valid", "val"), "test": ("test",)}
_JSON_ENDINGS = (".jsonl", ".ndjson", ".json")
_TABLE_ENDINGS = (".csv", ".tsv", *_JSON_ENDINGS, ".parquet")
_WORD_ENDINGS = (".conll", ".conllu", ".bio", ".iob", ".iob2", ".txt", ".tsv", *_JSON_ENDINGS, ".parquet")


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Where a split comes from: a file, the parts of one, or a folder that ``datasets`` saved."""

    paths: tuple[Path, ...]
    saved: bool = False

    @property
    def ending(self) -> str:
        """Ending of the file's name; "" for a saved folder."""
        return "" if self.saved else self.paths[0].suffix.lower()


def find_sources(config: TrainConfig, findings: Findings) -> dict[str, Source]:
    """Return the sources of "train" and, where there are, "dev" and "test".

    Raises:
        ValueError: there is no training file, or more than one; one line names the setting and what is accepted.
    """
    endings = _WORD_ENDINGS if config.task == "tokens" else _TABLE_ENDINGS
    folder = _folder(config, endings)
    found = {} if folder is None else _in_folder(config, folder, endings)
    for split, value in (("train", config.train_file), ("dev", config.dev_file), ("test", config.test_file)):
        if value:
            # A dialect says what an ending would.
            any_ending = config.dialect != "auto" and config.task != "tokens"
            found[split] = Source(paths=(_file(f"{split}_file", value, folder, endings, any_ending=any_ending),))
    if folder is None:
        return found
    if "train" not in found:
        found["train"] = _only_file(config, folder, endings, found, findings)
    _tell_unused(folder, endings, found, findings)
    return found


def read_source(source: Source, config: TrainConfig, findings: Findings, *, labelled: bool = True) -> Table:
    """Return the records of a source.

    Raises:
        ValueError: it is malformed.
        OSError: it can't be read.
    """
    path, ending = source.paths[0], source.ending
    if is_conll(source, config):
        word, tag = (_place(getattr(config, f"{name}_column"), name) for name in ("text", "label"))
        return read_conll(path, findings, word=word or 1, tag=tag, labelled=labelled)
    table_of_text = ending not in ("", ".parquet", *_JSON_ENDINGS)
    if config.dialect != "auto" and not table_of_text:
        findings.warn(f"setting 'dialect': ignored, {path.name} is no table of text")
    if source.saved:
        return read_saved(path, findings)
    if ending == ".parquet":
        return read_parquet(source.paths, findings)
    if ending in _JSON_ENDINGS:
        return read_json_lines(path, findings)
    dialect = DIALECTS[ending[1:] if config.dialect == "auto" else config.dialect]
    header = not _by_place(config, path, dialect)
    table = read_delimited(path, dialect, findings, header=header, keep_blank=not labelled)
    if not header:
        tell_header(table, findings)
    return table


def is_conll(source: Source, config: TrainConfig) -> bool:
    """Tell whether a source is read as lines of words, whose columns have no names."""
    return config.task == "tokens" and source.ending not in ("", ".parquet", *_JSON_ENDINGS)


def _by_place(config: TrainConfig, path: Path, dialect: Dialect) -> bool:
    """Tell whether columns are given by their places, as those of a file without a header."""
    given = [name for name in (config.text_column, config.text_pair_column, config.label_column) if name]
    names = {part.strip() for name in given for part in name.split(",")}
    if not names or not all(map(_is_place, names)) or not path.is_file():
        return False
    # A header may have numbers for names, as pandas writes them.
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        first = file.readline(MAX_LINE_BYTES).rstrip("\r\n").split(dialect.delimiter)
    return not names <= {cell.strip().strip('"') for cell in first}


def _is_place(value: str) -> bool:
    # Digits of other scripts, and raised ones, are digits to Python.
    return value.isascii() and value.isdigit()


def _place(value: str, name: str) -> int:
    if value and not (_is_place(value) and int(value)):
        raise ValueError(refusal(f"{name}_column", value, "the place of a column, from 1; CoNLL files have no header"))
    return int(value or 0)


def _folder(config: TrainConfig, endings: tuple[str, ...]) -> Path | None:
    words = f"a folder with train, and dev and test if there are any, each ending in {', '.join(endings)}"
    folder = user_path("data_dir", config.data_dir, words)
    if not config.data_dir:
        if not config.train_file:
            raise ValueError(refusal("data_dir", "", f"{words}; or give train_file"))
        return None
    if not folder.is_dir():
        there = "it is a file; give train_file for a file" if folder.is_file() else "there is no such folder"
        raise ValueError(refusal("data_dir", config.data_dir, f"{words} ({there})"))
    return folder


def _file(setting: str, value: str, folder: Path | None, endings: tuple[str, ...], *, any_ending: bool) -> Path:
    words = f"a file ending in {', '.join(endings)}"
    path = user_path(setting, value, words)
    if folder is not None and not path.is_absolute() and (folder / path).exists():
        path = folder / path
    if not path.exists():
        raise ValueError(refusal(setting, value, f"{words} (there is no such file)"))
    if not path.is_file():
        raise ValueError(refusal(setting, value, f"{words} (it is no file)"))
    if path.suffix.lower() not in endings and not any_ending:
        raise ValueError(refusal(setting, value, words))
    return path


def _in_folder(config: TrainConfig, folder: Path, endings: tuple[str, ...]) -> dict[str, Source]:
    saved = saved_splits(folder)
    found: dict[str, Source] = {}
    for split, stems in _STEMS.items():
        if getattr(config, f"{split}_file"):
            continue
        options = [Source(paths=(saved[stem],), saved=True) for stem in stems if stem in saved]
        if not saved:
            options = _named(folder, stems, endings)
        if len(options) > 1:
            names = " and ".join(option.paths[0].name for option in options)
            raise ValueError(refusal(f"{split}_file", "", f"the one to take; {folder} has {names}"))
        if options:
            found[split] = options[0]
    if saved and "train" not in found and not config.train_file:
        names = shown_names(saved)
        raise ValueError(refusal("data_dir", config.data_dir, f"one with a split 'train'; it has {names}"))
    return found


def _named(folder: Path, stems: tuple[str, ...], endings: tuple[str, ...]) -> list[Source]:
    """Return the files with one of these names; those that are parts of one together.

    Raises:
        ValueError: the parts are not those of one file, each once.
    """
    groups: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        ending = path.suffix.lower()
        if ending in endings and whole_stem(path) in stems and not path.is_dir():
            if is_part(path) and ending != ".parquet":
                continue
            groups.setdefault(f"{whole_stem(path)}{ending}", []).append(path)
    for paths in groups.values():
        refuse_incomplete(paths)
    return [Source(paths=tuple(paths)) for paths in groups.values()]


def _unused(folder: Path, endings: tuple[str, ...], found: Mapping[str, Source]) -> list[Path]:
    """Return the data files of a folder that no split is."""
    taken = {path.resolve() for source in found.values() for path in source.paths}
    files = [path for path in sorted(folder.iterdir()) if path.suffix.lower() in endings and path.is_file()]
    return [path for path in files if path.resolve() not in taken]


def _tell_unused(folder: Path, endings: tuple[str, ...], found: Mapping[str, Source], findings: Findings) -> None:
    """Tell of files that may be meant: as a split beside a saved folder, as the dev file where there is none."""
    unused = _unused(folder, endings, found)
    if any(source.saved for source in found.values()):
        stems = {stem for names in _STEMS.values() for stem in names}
        others = [path.name for path in unused if whole_stem(path) in stems]
        if others:
            findings.warn(f"{folder.name}: saved by datasets, and read as such; ignored: {shown_names(others)}")
    elif unused and "dev" not in found:
        names = shown_names(path.name for path in unused)
        findings.warn(f"not used: {names}; give dev_file if it has the dev rows")


def _only_file(
    config: TrainConfig,
    folder: Path,
    endings: tuple[str, ...],
    found: Mapping[str, Source],
    findings: Findings,
) -> Source:
    files = _unused(folder, endings, found)
    if len(files) != 1:
        there = f"it has {shown_names(path.name for path in files)}" if files else "it has no such file"
        words = f"a folder with train, ending in {', '.join(endings)} ({there}), or train_file"
        raise ValueError(refusal("data_dir", config.data_dir, words))
    findings.note(f"train_file: {files[0].name}, the only data file of the folder")
    return Source(paths=(files[0],))
