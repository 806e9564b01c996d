"""What a task is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """Where a file has what: by the names in its header, or, where it has no header, by columns counted from 1."""

    text: str | int
    text_pair: str | int = ""
    """Second sentence; "" where rows have one."""
    label: str | int = ""
    """"" where rows have none, as those to predict."""
    widths: tuple[int, ...] = ()
    """Without a header: the numbers of columns that a row may have."""

    @property
    def header(self) -> bool:
        """True where the first line names the columns."""
        return isinstance(self.text, str)


@dataclass(frozen=True, kw_only=True, slots=True)
class GlueFile:
    """A file that a split may come from."""

    name: str
    layout: Layout
    listed: bool | None = None
    """True: only the rows whose ids the file dev_ids.tsv lists; False: only the others; None: all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Split:
    """One split of a task: the forms in which it is handed on, and the rows that its publisher counts (0: any)."""

    files: tuple[GlueFile, ...]
    """The first that is there is read."""
    rows: int = 0
    hub: str = ""
    """Name of the split's files on the hub, up to the number of the part."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """What is learned, and from what."""

    source: str
    """Where rows come from: "generated", "glue" (GLUE's files, or the hub), "own" (the user's files)."""
    kind: str = "classification"
    """What a row's label is: "classification" (the index of a class), "regression" (a number), "multilabel" (0 or 1 for
    each class), "tokens" (the index of a class for each token), "causal" (nothing); "" where the data decides it."""
    labels: tuple[str, ...] = ()
    """Names of the classes; a row's label is an index into them."""
    metrics: tuple[str, ...] = ()
    """Metrics on the dev rows; F1 is that of the last of two classes."""
    folder: str = ""
    """GLUE: its name for the task's folder."""
    splits: Mapping[str, Split] = field(default_factory=dict)
    """GLUE: "train", "dev", and further dev splits, each evaluated on its own."""
    predict: Mapping[str, Split] = field(default_factory=dict)
    """GLUE: splits without labels, by the name of the file that its leaderboard takes."""
    hub_layout: Layout | None = None
    """GLUE: the columns on the hub."""
    answers_in_words: bool = False
    """GLUE: its leaderboard takes the names of the classes rather than their indices."""
    scale: tuple[float, float] | None = None
    """GLUE: least and greatest of the numbers."""
    skip_short_rows: bool = False
    """GLUE: the task's own files have rows that are cut off; they are left out and told."""
