"""Tests of the charts of parts."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from icefield_train.split_chart import split_chart


def test_parts_follow_each_other_and_are_as_long_as_they_are_large() -> None:
    svg = split_chart({"a": {"x": 30.0, "y": 10.0}, "b<": {"x": 10.0, "y": 10.0}}, title="t", unit="ms")
    root = ElementTree.fromstring(svg)
    bars = [rect for rect in root.iter("rect") if rect.find("title") is not None]
    starts, widths = ([float(bar.get(name, "")) for bar in bars] for name in ("x", "width"))
    assert widths[0] == pytest.approx(3 * widths[1], rel=0.01)
    assert widths[1] == widths[2] == widths[3]
    assert starts[1] == pytest.approx(starts[0] + widths[0], abs=0.1)
    # The largest bar ends before its sum is written.
    assert starts[1] + widths[1] <= 720 - 70
    assert [text.text for text in root.iter("text")] == ["x", "y", "a", "40.0 ms", "b<", "20.0 ms"]


def test_no_bars_are_no_chart() -> None:
    assert split_chart({}, title="t", unit="ms") == ""
