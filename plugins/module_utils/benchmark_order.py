"""In which order the runs of a benchmark come. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

RECIPES = ("article", "icefield")


@dataclass(frozen=True, slots=True)
class Place:
    """A run's place in a benchmark."""

    recipe: str
    nodes: int
    repeat: int
    """From 1."""


def node_counts(text: str) -> list[int]:
    """Return the numbers of nodes of a list such as ``1,2,4``, smallest first.

    Raises:
        ValueError: it is no list of different numbers from 1 on.
    """
    parts = [part.strip() for part in str(text).split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
        raise ValueError("give numbers of nodes from 1 on, such as 1,2,4")
    counts = [int(part) for part in parts]
    if len(set(counts)) < len(counts):
        raise ValueError("give each number of nodes once")
    return sorted(counts)


def doubled(nodes: int) -> list[int]:
    """Return 1, 2, 4 and so on up to a number of nodes, which comes last in any case; none up to 0."""
    return sorted({*(1 << power for power in range(nodes.bit_length())), nodes} - {0})


def recipe_names(text: str) -> list[str]:
    """Return the recipes of a list such as ``article,icefield``.

    Raises:
        ValueError: it names a recipe that does not exist, or one twice.
    """
    names = [part.strip() for part in str(text).split(",")]
    if not set(names) <= set(RECIPES) or len(set(names)) < len(names):
        raise ValueError(f"give each of these at most once: {', '.join(RECIPES)}")
    return names


def interleaved(recipes: Sequence[str], counts: Sequence[int], repeats: int) -> list[Place]:
    """Return every run of a benchmark: a whole round of all recipes and numbers of nodes, then the next round.

    A machine that gets slower or faster meanwhile does so to all of them alike. Every other round goes backwards, so
    that none is always the first.

    Raises:
        ValueError: ``repeats`` is below 1.
    """
    if repeats < 1:
        raise ValueError("give a whole number from 1 on")
    pairs = [(recipe, nodes) for nodes in counts for recipe in recipes]
    rounds = (pairs if repeat % 2 else pairs[::-1] for repeat in range(1, repeats + 1))
    return [Place(recipe, nodes, repeat) for repeat, found in enumerate(rounds, 1) for recipe, nodes in found]
