"""Reads tagged words in CoNLL's form: one per line, the tag in the last column, sentences apart by a blank line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from icefield_train.doctor.findings import Faults, Findings, counted
from icefield_train.empty_cells import is_empty
from icefield_train.readers.table import Table
from icefield_train.readers.text_lines import read_lines

TOKENS, TAGS = "tokens", "tags"
_DOCUMENT = "-DOCSTART-"
# Comments say something of the sentence that follows, as "# sent_id = 7" does; a word may be a "#" as well.
_COMMENT = re.compile(r"#\s.*=|# newdoc|# newpar")


@dataclass(slots=True)
class _Sentence:
    place: int = 0
    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)


def read_conll(path: Path, findings: Findings, *, word: int = 1, tag: int = 0, labelled: bool = True) -> Table:
    """Return a file's sentences as records of two lists, "tokens" and "tags".

    Args:
        path: the file.
        findings: gets what is odd about it.
        word: column of the words, from 1.
        tag: column of the tags; 0: the last.
        labelled: the file has tags; otherwise its lines may have the word alone, and the lists of tags are empty.

    Raises:
        ValueError: lines have different numbers of columns, or too few; the message names file and lines.
        OSError: the file can't be read.
    """
    lines = read_lines(path, findings)
    faults = Faults(path)
    sentences, current = [], _Sentence()
    width = documents = comments = 0
    least = max(word, tag, 2) if labelled else word
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            if current.words:
                sentences.append(current)
                current = _Sentence()
            continue
        if line.startswith(_DOCUMENT):
            documents += 1
            # Some files have no blank line before it.
            if current.words:
                sentences.append(current)
                current = _Sentence()
            continue
        if not current.words and _COMMENT.match(line):
            comments += 1
            continue
        cells = line.split("\t") if "\t" in line else re.split(" +", line.strip(" "))
        width = width or len(cells)
        if len(cells) < least:
            faults.add(number, f"{counted(len(cells), 'column')} found, at least {least} expected")
        elif len(cells) != width:
            faults.add(number, f"{counted(len(cells), 'column')} found, {width} expected")
        elif is_empty(cells[word - 1]) or (labelled and is_empty(cells[tag - 1])):
            faults.add(number, f"an empty {'word' if is_empty(cells[word - 1]) else 'tag'} found")
        else:
            current.place = current.place or number
            current.words.append(cells[word - 1])
            if labelled:
                current.tags.append(cells[tag - 1].strip())
    if current.words:
        sentences.append(current)
    faults.refuse()
    if not sentences:
        raise ValueError(f"{path}: no rows found, at least 1 expected")
    _tell(path, len(lines), sentences, documents, comments, findings)
    return Table(
        path=path,
        columns=(TOKENS, TAGS) if labelled else (TOKENS,),
        records=[(one.words, one.tags) if labelled else (one.words,) for one in sentences],
        places=[one.place for one in sentences],
    )


def _tell(
    path: Path, lines: int, sentences: list[_Sentence], documents: int, comments: int, findings: Findings
) -> None:
    words = sum(len(one.words) for one in sentences)
    blank = lines - words - documents - comments
    parts = [
        f"{counted(words, 'word')} in {counted(len(sentences), 'sentence')}",
        f"{blank:,} blank" if blank else "",
        f"{documents:,} {_DOCUMENT}" if documents else "",
        counted(comments, "comment") if comments else "",
    ]
    findings.note(f"{path.name}: {counted(lines, 'line')} = {' + '.join(filter(None, parts))}")
