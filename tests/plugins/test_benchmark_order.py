"""Tests of the order of a benchmark's runs, and of what names them."""

from __future__ import annotations

import pytest

from plugins.module_utils.benchmark_order import Place, interleaved, node_counts, recipe_names


def test_a_round_has_everything_once_and_every_other_goes_backwards() -> None:
    assert interleaved(["article", "icefield"], [1, 2], 2) == [
        Place("article", 1, 1),
        Place("icefield", 1, 1),
        Place("article", 2, 1),
        Place("icefield", 2, 1),
        Place("icefield", 2, 2),
        Place("article", 2, 2),
        Place("icefield", 1, 2),
        Place("article", 1, 2),
    ]


def test_no_repeats_are_refused() -> None:
    with pytest.raises(ValueError, match="from 1 on"):
        interleaved(["icefield"], [1], 0)


def test_numbers_of_nodes_are_sorted() -> None:
    assert node_counts("4, 1,2") == [1, 2, 4]
    assert node_counts("2") == [2]


@pytest.mark.parametrize("text", ["", "0,1", "1,,2", "-1", "1.5", "two", "1,2,1", "²"])
def test_other_numbers_of_nodes_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^give "):
        node_counts(text)


def test_recipes_keep_their_order() -> None:
    assert recipe_names("icefield, article") == ["icefield", "article"]


@pytest.mark.parametrize("text", ["", "artikel", "article,article", "article,"])
def test_other_recipes_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="article, icefield"):
        recipe_names(text)
