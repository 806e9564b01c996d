"""The arguments of a user's script: how they are given on the command line, and what is put into them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ansible.parsing.splitter import parse_kv

from icefield_train.rules import refusal

# What a script may be told of: written in braces, it is put in place when the folders on the nodes are known.
PLACES = ("output_dir", "data_dir", "model_dir")
_NAME = re.compile(r"(?:^|\s)script_args=")


def given(texts: Iterable[str], known: Collection[str]) -> tuple[str | None, set[str]]:
    """Return ``script_args`` as the user wrote it, and names that Ansible took its words for.

    A shell takes the quotes off ``-e script_args='--lr 3e-5'``; Ansible then splits at the blank and keeps ``--lr``.
    Where anything is left over that is no setting, all that follows the name up to the end of its -e is meant.

    Args:
        texts: what follows each -e.
        known: names of settings.
    """
    value, taken, others = None, set(), set()
    for text in texts:
        if not text or text[0] in "@[{":
            continue
        match = _NAME.search(text)
        if match is None:
            others |= set(parse_kv(text))
            continue
        before = set(parse_kv(text[: match.start()]))
        found: Mapping[str, Any] = parse_kv(text)
        if set(found) <= set(known):
            value = None
        else:
            value = text[match.end() :].strip()
            taken |= set(found) - before - {"script_args"}
    return value, taken - others


def split(text: str) -> list[str]:
    """Return the arguments as a shell would split them.

    Raises:
        ValueError: a quotation mark has no partner.
    """
    try:
        return shlex.split(text)
    except ValueError as error:
        words = f"arguments as in a shell, with balanced quotes ({str(error).lower()})"
        raise ValueError(refusal("script_args", text, words)) from None


def places_in(arguments: Sequence[str]) -> set[str]:
    """Return the names of the folders that the arguments ask for."""
    return {place for place in PLACES for argument in arguments if f"{{{place}}}" in argument}


def fill(arguments: Sequence[str], places: Mapping[str, str]) -> list[str]:
    """Return the arguments with folders in place of their names in braces; other braces stay as they are."""
    filled = []
    for argument in arguments:
        text = argument
        for name, folder in places.items():
            text = text.replace(f"{{{name}}}", folder)
        filled.append(text)
    return filled
