"""Tokenised rows as files: made once on each node, named by their content, mapped into memory by each rank.

Tokenising is done before the ranks meet, so that none of them waits at a barrier for another's. It is the same on each
node, takes as long on all of them as on one, and needs no disk that nodes share nor a transfer: hence on each.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path

from icefield_train.config import TrainConfig
from icefield_train.encoding import Encoded, encode
from icefield_train.model_files import TOKENIZER_FILES
from icefield_train.staged_rows import read_rows
from icefield_train.staged_task import StagedTask, read_task

# Part of each file's name; raised when the same rows become other arrays.
_VERSION = "1"
_LIBRARIES = ("tokenizers", "transformers")


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Rows to tokenise, and all that decides what becomes of them."""

    rows: Path
    """A staged .jsonl file."""
    kind: str
    tokenizer: Path
    """Folder of the model."""
    max_length: int
    limit: int = 0
    """Only the first so many rows; 0 = all."""

    def key(self) -> str:
        """Return 16 hex digits for the content of rows and tokeniser, versions and settings."""
        digest = hashlib.sha256()
        for word in (_VERSION, self.kind, self.max_length, self.limit, *map(metadata.version, _LIBRARIES)):
            digest.update(f"{word}\0".encode())
        for path in (self.rows, *(self.tokenizer / name for name in sorted(TOKENIZER_FILES))):
            if path.is_file():
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
            digest.update(b"\0")
        return digest.hexdigest()[:16]


def sources(config: TrainConfig, task: StagedTask) -> dict[str, Source]:
    """Return what a run tokenises: "train", each dev split by its name, and, where asked for, those to predict."""
    folder = Path(config.data_dir)
    files = {"train": "train.jsonl", **task.dev}
    if config.predict:
        files |= {to_predict(name): file for name, file in task.predict.items()}
    return {
        name: Source(
            rows=folder / file,
            kind=task.kind.name,
            tokenizer=Path(config.model),
            max_length=config.max_length,
            limit=config.train_rows if name == "train" else 0,
        )
        for name, file in files.items()
    }


def to_predict(name: str) -> str:
    """Return what a split to predict is called among the others."""
    return f"predict {name}"


def tokens_dir(config: TrainConfig) -> Path:
    """Return the folder of a run's token files."""
    return Path(config.tokens_dir or Path(config.run_dir) / "tokens")


def prepare(config: TrainConfig, on_chunk: Callable[[str, int], None] = lambda name, done: None) -> dict[str, Path]:
    """Tokenise what a run needs and has not been tokenised yet; return the file of each split.

    Several processes of a node may call it at once: one works, the others wait for it.

    Args:
        config: settings of the run.
        on_chunk: called again and again, with the name of a split and the number of its rows that are done.

    Raises:
        OSError: the tokeniser can't be read, the folder can't be written.
        ValueError: rows are damaged; see ``encoding.encode``.
    """
    task = read_task(Path(config.data_dir))
    wanted = sources(config, task)
    folder = tokens_dir(config)
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{source.key()}.safetensors" for name, source in wanted.items()}
    with (folder / ".lock").open("a") as lock:
        # It ends with the process, by whatever cause.
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = [name for name, path in files.items() if not path.is_file()]
        if missing:
            # Imported here: it takes seconds, which a run whose tokens are there need not spend.
            from icefield_train.tokenizer import load_tokenizer

            tokenizer = load_tokenizer(config.model, wanted["train"].kind)
            for name in missing:
                source = wanted[name]
                rows = read_rows(source.rows, task)[: source.limit or None]
                save(encode(rows, source.kind, tokenizer, source.max_length, partial(on_chunk, name)), files[name])
    return files


def save(encoded: Encoded, path: Path) -> None:
    """Write a file that has its name only when it is complete; its digest stands in it."""
    from safetensors.numpy import save_file

    aside = path.with_name(f".{path.name}.{os.getpid()}")
    about = {"padding": json.dumps(encoded.padding), "digest": _digest_of(encoded)}
    save_file(encoded.arrays, aside, metadata=about)
    aside.replace(path)


def _digest_of(encoded: Encoded) -> str:
    digest = hashlib.sha256()
    for name in sorted(encoded.arrays):
        digest.update(f"{name}\0".encode() + encoded.arrays[name].tobytes())
    return digest.hexdigest()[:16]
