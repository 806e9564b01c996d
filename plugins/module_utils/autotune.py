"""The search of autotune.yml: which probe comes next within the budget of time, and what all of them come to. Pure.

A probe is one launch of the ranks, which measures several settings in rounds (``icefield_train.race``). The first one
is the default launch with all candidates; then each other launch, with the best settings so far. Launches are minutes
apart, so one that seems better has to be so against a second default launch after it as well.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from icefield_train.race import MARGIN, Round, Score, Settings, scores, winner
from plugins.module_utils.tunables import told

# Seconds from the start of a probe to its first measurement and from its last to its end, before one was seen.
OVERHEAD = 25.0
# Share of the budget for the first probe where there are others.
FIRST_SHARE = 0.5
# Measurements that a probe of one launch makes at least to be of use: once to warm up, then two rounds.
FEWEST = {False: 3, True: 7}


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """A probe that is to be made, or, with what it found, was."""

    layout: Settings
    tries: list[Settings]
    shown: list[Settings]
    seconds: float
    """Limit for measuring."""
    rounds: list[Round] = field(default_factory=list)
    took: float = 0.0
    """Seconds of it all."""
    measuring: float = 0.0
    """Seconds of it that went into measuring."""
    failed: Settings | None = None
    """Settings that it failed with; None where it came to its end."""
    reason: str = ""
    """Why it failed."""

    @property
    def measured(self) -> int:
        """How many measurements it made, the one to warm up included."""
        return 1 + sum(map(len, self.rounds))


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a search came to."""

    winner: Settings
    gain: float
    measured: list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """A search, so far."""

    budget: float
    """Seconds for all of it."""
    layouts: list[Settings]
    """Launches, the default one, ``{}``, first."""
    tries: list[Settings]
    shown: list[Settings]
    probes: list[Probe] = field(default_factory=list)

    def next_probe(self, elapsed: float) -> Probe | None:
        """Return the next probe; None where all is known or nothing more would end in time.

        Args:
            elapsed: seconds since the search began.

        Raises:
            ValueError: the defaults cannot be measured.
        """
        left = self.budget - elapsed
        if not self.probes:
            share = left * (FIRST_SHARE if len(self.layouts) > 1 else 1.0)
            return self._probe({}, self.tries, self.shown, max(0.0, share - OVERHEAD))
        last = self.probes[-1]
        if last.layout == {} and last.failed == {} and not self._seconds({}, {}):
            raise ValueError(f"the default settings cannot be measured: {last.reason}")
        if last.layout == {} and last.failed and len(self.probes) <= len(self.tries) + len(self.shown):
            remaining = self._without_failed(self.tries), self._without_failed(self.shown)
            seconds = left - self._overhead
            return self._probe({}, *remaining, seconds) if self._fits(seconds, bool(remaining[0])) else None
        best = self._best()
        beside = [best.settings] if best else []
        waiting = [layout for layout in self.layouts if layout not in [probe.layout for probe in self.probes]]
        if waiting:
            # The last part is for the second look at the default launch.
            seconds = left / (len(waiting) + 1) - self._overhead
            if self._fits(seconds, bool(beside)):
                return self._probe(waiting[0], beside, [], seconds)
        if self._leader() and self.probes[-1].layout:
            seconds = left - self._overhead
            if self._fits(seconds, bool(beside)):
                return self._probe({}, beside, [], seconds)
        return None

    def verdict(self) -> Verdict:
        """Return the fastest settings that win, and all figures."""
        leader, best = self._leader(), self._best()
        rows = [self._row({}, score) for score in self._scores({})]
        for layout in self._other_layouts():
            rows += [self._row(layout, score) for score in self._scores(layout)]
        rows += [
            {"settings": {**probe.layout, **(probe.failed or {})}, "note": f"failed: {probe.reason}"}
            for probe in self.probes
            if probe.failed is not None
        ]
        if leader and self._confirmed:
            return Verdict(winner=leader[0], gain=leader[1], measured=rows)
        for row in rows:
            if leader and row["settings"] == leader[0]:
                row["note"] = "no time was left to look at the defaults again"
        return Verdict(winner=best.settings if best else {}, gain=best.gain if best else 0.0, measured=rows)

    def _probe(self, layout: Settings, tries: list[Settings], shown: list[Settings], seconds: float) -> Probe:
        return Probe(layout=layout, tries=tries, shown=shown, seconds=round(seconds, 1))

    def _fits(self, seconds: float, beside: bool) -> bool:
        good = [probe for probe in self.probes if probe.rounds]
        each = max((probe.measuring / probe.measured for probe in good), default=0.0)
        return seconds >= FEWEST[beside] * each and seconds > 0

    @property
    def _overhead(self) -> float:
        return max((probe.took - probe.measuring for probe in self.probes), default=OVERHEAD)

    def _without_failed(self, settings: Sequence[Settings]) -> list[Settings]:
        failed = [probe.failed for probe in self.probes if probe.layout == {}]
        return [one for one in settings if one not in failed]

    def _rounds(self, layout: Settings) -> list[Round]:
        return [found for probe in self.probes if probe.layout == layout for found in probe.rounds]

    def _scores(self, layout: Settings) -> list[Score]:
        return scores(self._rounds(layout))

    def _seconds(self, layout: Settings, settings: Settings) -> list[float]:
        return [taken for found in self._rounds(layout) for one, taken in found if one == settings]

    def _best(self) -> Score | None:
        """Return the winner of the default launch."""
        return winner([score for score in self._scores({}) if score.settings not in self.shown])

    def _other_layouts(self) -> list[Settings]:
        return [layout for layout in self.layouts if layout and self._rounds(layout)]

    @property
    def _confirmed(self) -> bool:
        """Whether the default launch was measured again after all others."""
        return len(self.probes) > 1 and self.probes[-1].layout == {} and bool(self.probes[-1].rounds)

    def _leader(self) -> tuple[Settings, float] | None:
        """Return the other launch that wins, with its best settings, and its gain over the defaults."""
        best = self._best()
        incumbent = best.settings if best else {}
        launches = [probe for probe in self.probes if probe.layout == {} and probe.rounds]
        reference = min(_median(probe.rounds, incumbent) or _median(probe.rounds, {}) for probe in launches)
        usual = statistics.median(self._seconds({}, {}))
        found: list[tuple[Settings, float]] = []
        for layout in self._other_layouts():
            inside = winner(self._scores(layout))
            taken = self._seconds(layout, inside.settings if inside else {})
            if len(taken) > 1 and reference / max(taken) - 1 >= MARGIN:
                settings = {**layout, **(inside.settings if inside else {})}
                found.append((settings, usual / statistics.median(taken) - 1))
        return max(found, key=lambda one: one[1], default=None)

    def _row(self, layout: Settings, score: Score) -> dict[str, Any]:
        """Return a line of the table; gains are over the defaults of the default launch."""
        gain, lowest = score.gain, min(score.gains)
        taken = self._seconds(layout, score.settings)
        if layout:
            usual = statistics.median(self._seconds({}, {}))
            gain, lowest = usual / statistics.median(taken) - 1, usual / max(taken) - 1
        row = {
            "settings": {**layout, **score.settings},
            "seconds_per_step": round(score.seconds, 5),
            "gain": round(gain, 4),
            "lowest_gain": round(lowest, 4),
            "repeats": len(taken) if layout else len(score.gains),
        }
        if score.settings in self.shown and score.settings:
            row["note"] = "changes the results; kept only with autotune_lossy=true"
        return row


def _median(rounds: Sequence[Round], settings: Settings) -> float:
    taken = [seconds for found in rounds for one, seconds in found if one == settings]
    return statistics.median(taken) if taken else 0.0


def table(verdict: Verdict) -> list[str]:
    """Return the lines of the table of a search."""
    lines = []
    for row in verdict.measured:
        name, note = told(row["settings"]), row.get("note", "")
        if "seconds_per_step" not in row:
            lines.append((name, "", "", "", note))
            continue
        gain = f"{100 * row['gain']:+.1f} %" if row["settings"] else ""
        mark = "kept" if row["settings"] == verdict.winner else note
        times = f"{row['repeats']} x, at worst {100 * row['lowest_gain']:+.1f} %" if gain else f"{row['repeats']} x"
        lines.append((name, f"{row['seconds_per_step']:.3f} s", gain, times, mark))
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    return ["  ".join([*(line[c].ljust(widths[c]) for c in range(4)), line[4]]).rstrip() for line in lines]


def search_from(data: Mapping[str, Any]) -> Search:
    """Return a search from its JSON form, which is that of ``dataclasses.asdict``."""
    probes = [
        Probe(**{**probe, "rounds": [[(dict(one), float(taken)) for one, taken in found] for found in probe["rounds"]]})
        for probe in data["probes"]
    ]
    return Search(**{**data, "probes": probes})
