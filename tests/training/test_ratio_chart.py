"""Tests of the charts by number of nodes."""

from __future__ import annotations

import itertools
import re
from xml.etree import ElementTree

from icefield_train.ratio_chart import nodes_chart


def lines(svg: str) -> list[list[tuple[float, float]]]:
    """Return the points of each line."""
    found = [line.get("points", "") for line in ElementTree.fromstring(svg).iter("polyline")]
    return [[(float(x), float(y)) for x, y in re.findall(r"([\d.]+),([\d.]+)", points)] for points in found]


def test_a_perfect_speedup_lies_on_the_ideal() -> None:
    measured, ideal = lines(nodes_chart({"a": {4: 4.0, 1: 1.0, 2: 2.0}}, title="t", y_label="y", ideal=True))
    assert measured == ideal
    assert [x for x, _ in measured] == sorted(x for x, _ in measured)


def test_half_the_speedup_lies_half_as_high() -> None:
    measured, ideal = lines(nodes_chart({"a": {4: 2.0}}, title="t", y_label="y", ideal=True))
    floor = 260 - 36
    assert abs((floor - measured[0][1]) * 2 - (floor - ideal[0][1])) < 0.3


def test_a_recipe_without_points_is_left_out_and_none_at_all_is_no_chart() -> None:
    assert len(lines(nodes_chart({"a": {1: 1.0}, "b": {}}, title="t", y_label="y"))) == 1
    assert nodes_chart({"a": {}}, title="t", y_label="y") == ""


def test_names_are_escaped() -> None:
    svg = nodes_chart({"<b>": {1: 1.0}}, title='"<', y_label="&")
    assert "<b>" not in svg
    assert ElementTree.fromstring(svg).get("aria-label") == '"<'


def test_names_of_lines_that_end_at_the_same_point_stand_apart() -> None:
    for value in (0.0, 1.0, 2.0):
        points = {name: {1: value, 2: value} for name in ("a", "b", "c")}
        svg = ElementTree.fromstring(nodes_chart(points, title="t", y_label="y", ideal=True))
        heights = sorted(float(text.get("y", "")) for text in svg.iter("text") if text.text in {"a", "b", "c", "ideal"})
        assert len(heights) == 4
        assert all(below - above >= 13 for above, below in itertools.pairwise(heights))
        assert 0 < heights[0] < heights[-1] <= 260 - 36
