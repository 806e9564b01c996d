"""The timer on a node that ends it: units of systemd, whose text is the same in user data and on the node."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

TIMER = "icefield-deadman.timer"
FOLDER = "/etc/systemd/system"
_STAMP = "%Y-%m-%d %H:%M:%S UTC"

_SERVICE = """\
[Unit]
Description=End this node: its hours are over

[Service]
Type=oneshot
ExecStart=/usr/bin/systemctl poweroff
"""

# OnBootSec is for a node that was stopped over the deadline: a calendar time that has passed never comes again.
_TIMER = """\
[Unit]
Description=End this node when its hours are over

[Timer]
OnCalendar={deadline}
OnBootSec={seconds}
X-MaxHours={max_hours:g}
AccuracySec=1s

[Install]
WantedBy=timers.target
"""


def units(now: datetime, hours: float, *, uptime: float = 0.0, max_hours: float | None = None) -> dict[str, str]:
    """Return path and content of the units for a node that shall end ``hours`` after ``now``.

    Args:
        now: the time.
        hours: hours from now.
        uptime: seconds since the node booted.
        max_hours: the setting that stays noted where ``hours`` are an extension; None: ``hours``.
    """
    noted = hours if max_hours is None else max_hours
    deadline = (now + timedelta(hours=hours)).astimezone(timezone.utc).strftime(_STAMP)
    return {
        f"{FOLDER}/icefield-deadman.service": _SERVICE,
        f"{FOLDER}/{TIMER}": _TIMER.format(deadline=deadline, seconds=round(uptime + hours * 3600), max_hours=noted),
    }


def max_hours_of(timer: str) -> float | None:
    """Return the ``max_hours`` that a timer unit was made for, or None where its text does not tell."""
    found = re.search(r"^X-MaxHours=([0-9.]+)$", timer, re.MULTILINE)
    return float(found[1]) if found else None


def deadline_of(timer: str) -> datetime | None:
    """Return when a timer unit ends its node, or None where its text has no such time."""
    found = re.search(r"^OnCalendar=(.+)$", timer, re.MULTILINE)
    try:
        return datetime.strptime(found[1], _STAMP).replace(tzinfo=timezone.utc) if found else None
    except ValueError:
        return None
