"""The timer that ends a node."""

from datetime import UTC, datetime, timedelta

from plugins.module_utils import deadman

NOW = datetime(2026, 12, 2, 10, 0, tzinfo=UTC)


def timer(*args, **kwargs):
    return deadman.units(*args, **kwargs)[f"{deadman.FOLDER}/{deadman.TIMER}"]


def test_the_time_since_boot_lies_as_far_ahead_as_the_calendar_time():
    text = timer(NOW, 0.1, uptime=425.0)
    assert deadman.deadline_of(text) == NOW + timedelta(minutes=6)
    assert "OnBootSec=785\n" in text, "one that has passed would end the node when the timer is set"


def test_an_extension_leaves_noted_what_the_node_was_made_for():
    assert deadman.max_hours_of(timer(NOW, 8.0)) == 8.0
    assert deadman.max_hours_of(timer(NOW, 12.0, uptime=60.0, max_hours=8.0)) == 8.0
    assert deadman.max_hours_of("[Timer]\n") is None
