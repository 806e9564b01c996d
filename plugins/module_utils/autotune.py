"""The search of autotune.yml: which probe comes next within the budget of time, and what all of them come to. Pure.

A probe is one launch of the ranks, which measures several settings in rounds (``icefield_train.race``). The first one
is the default launch with all candidates; then each other launch, with the best settings so far. Launches are minutes
apart, so one that seems better has to be so against a second default launch after it as well.

No probe begins that would not end in time, by what earlier ones took; one that does not is ended at the end of the
budget by its supervisors.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from icefield_train.race import FEWEST_ROUNDS, MARGIN, Round, Score, Settings, fastest, scores, winner
from plugins.module_utils.tunables import told

# Seconds from a probe's last measurement to the launch of another, before one was seen.
ENDING = 8.0
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
    """So long after the launch the last measurement shall have ended."""
    limit: float
    """So long after the launch it is ended."""
    rounds: list[Round] = field(default_factory=list)
    took: float = 0.0
    """Seconds of it all."""
    begun: float = 0.0
    """Seconds after the launch at which measuring began."""
    ended: float = 0.0
    """Seconds after the launch at which it ended."""
    rows: int = 0
    """Rows of a step."""
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
    """0.07 where it is 7 % faster than the defaults."""
    measured: list[dict[str, Any]]
    """Lines of ``settings``, ``samples_per_second``, ``gain``, ``lowest_gain``, ``repeats`` and, of some, ``note``; of
    ``settings`` and ``note`` where they could not be measured."""
    unsettled: int
    """How many settings were measured too seldom to be chosen, for want of time."""


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
            return self._probe({}, self.tries, self.shown, left, share)
        last = self.probes[-1]
        if last.layout == {} and last.failed == {} and not self._seconds({}, {}):
            raise ValueError(f"the default settings cannot be measured: {last.reason}")
        if last.layout == {} and last.failed and len(self.probes) <= len(self.tries) + len(self.shown):
            remaining = self._without_failed(self.tries), self._without_failed(self.shown)
            return self._probe({}, *remaining, left, left) if self._fits(left, bool(remaining[0])) else None
        best = self._best()
        beside = [best.settings] if best else []
        waiting = [layout for layout in self.layouts if layout not in [probe.layout for probe in self.probes]]
        if waiting:
            # The last part is for the second look at the default launch.
            share = left / (len(waiting) + 1)
            if self._fits(share, bool(beside)):
                return self._probe(waiting[0], beside, [], left, share)
        if self._leader() and self.probes[-1].layout and self._fits(left, bool(beside)):
            return self._probe({}, beside, [], left, left)
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
        found = (best.settings, best.gain) if best else ({}, 0.0)
        if leader and self._confirmed:
            found = leader
        elif leader:
            for row in rows:
                if row["settings"] == leader[0]:
                    row["note"] = "no time was left to look at the defaults again"
        return Verdict(winner=found[0], gain=found[1], measured=rows, unsettled=self._unsettled())

    @property
    def candidates(self) -> int:
        """How many settings are to be compared with the defaults."""
        return len(self.tries) + len(self.layouts) - 1

    def _unsettled(self) -> int:
        """Return how many candidates were neither measured twice nor dropped out, nor failed."""
        failed = [{**probe.layout, **(probe.failed or {})} for probe in self.probes if probe.failed is not None]
        settled = [settings for probe in self.probes if not probe.layout for settings in _settled(probe)]
        waiting = [one for one in self.tries if one not in settled + failed]
        return len(waiting) + sum(bool(one) and one not in failed and not self._rounds(one) for one in self.layouts)

    def _probe(
        self, layout: Settings, tries: list[Settings], shown: list[Settings], limit: float, share: float
    ) -> Probe:
        """Return a probe that may measure within ``share``, seconds for all of it, and is ended after ``limit``."""
        seconds = round(max(0.0, share - self._ending), 1)
        return Probe(layout=layout, tries=tries, shown=shown, seconds=seconds, limit=round(max(1.0, limit), 1))

    def _fits(self, share: float, beside: bool) -> bool:
        good = [probe for probe in self.probes if probe.rounds]
        each = max(((probe.ended - probe.begun) / probe.measured for probe in good), default=0.0)
        starting = max((probe.begun for probe in good), default=0.0)
        return bool(good) and share >= starting + FEWEST[beside] * each + self._ending

    @property
    def _ending(self) -> float:
        return max((probe.took - probe.ended for probe in self.probes if probe.ended), default=ENDING)

    def _without_failed(self, settings: Sequence[Settings]) -> list[Settings]:
        return [one for one in settings if one not in self._failed({})]

    def _rounds(self, layout: Settings) -> list[Round]:
        return [found for probe in self.probes if probe.layout == layout for found in probe.rounds]

    def _scores(self, layout: Settings) -> list[Score]:
        return scores(self._rounds(layout))

    def _seconds(self, layout: Settings, settings: Settings) -> list[float]:
        return [taken for found in self._rounds(layout) for one, taken in found if one == settings]

    def _best(self) -> Score | None:
        """Return the winner of the default launch."""
        return winner([score for score in self._scores({}) if score.settings not in [*self.shown, *self._failed({})]])

    def _other_layouts(self) -> list[Settings]:
        return [layout for layout in self.layouts if layout and self._rounds(layout)]

    def _failed(self, layout: Settings) -> list[Settings]:
        return [probe.failed for probe in self.probes if probe.layout == layout and probe.failed is not None]

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
            failed = self._failed(layout)
            inside = winner([score for score in self._scores(layout) if score.settings not in failed])
            if (inside.settings if inside else {}) in failed:
                continue
            taken = self._seconds(layout, inside.settings if inside else {})
            if len(taken) > 1 and reference / max(taken) - 1 >= MARGIN:
                settings = {**layout, **(inside.settings if inside else {})}
                found.append((settings, usual / statistics.median(taken) - 1))
        return max(found, key=lambda one: one[1], default=None)

    def _row(self, layout: Settings, score: Score) -> dict[str, Any]:
        """Return a line of the table; gains are over the defaults of the default launch.

        Those are by seconds of a step: the probes of a search have the same rows in a step.
        """
        gain, lowest = score.gain, min(score.least)
        taken = self._seconds(layout, score.settings)
        if layout:
            usual = statistics.median(self._seconds({}, {}))
            gain, lowest = usual / statistics.median(taken) - 1, usual / max(taken) - 1
        row = {
            "settings": {**layout, **score.settings},
            "samples_per_second": round(max(probe.rows for probe in self.probes) / score.seconds, 2),
            "gain": round(gain, 4),
            "lowest_gain": round(lowest, 4),
            "repeats": len(taken) if layout else len(score.gains),
        }
        if score.settings in self.shown and score.settings:
            row["note"] = "changes the results; kept only with autotune_lossy=true"
        return row


def _settled(probe: Probe) -> list[Settings]:
    """Return the tries of a probe that had two rounds, and those that the first one ruled out."""
    if len(probe.rounds) < FEWEST_ROUNDS:
        return []
    alive = fastest(probe.rounds[:1], probe.tries)
    twice = [settings for settings, _ in probe.rounds[1]]
    return [settings for settings in probe.tries if settings in twice or settings not in alive]


def _median(rounds: Sequence[Round], settings: Settings) -> float:
    taken = [seconds for found in rounds for one, seconds in found if one == settings]
    return statistics.median(taken) if taken else 0.0


def table(verdict: Verdict) -> list[str]:
    """Return the lines of the table of a search."""
    lines = []
    for row in verdict.measured:
        name, note = told(row["settings"]), row.get("note", "")
        if "samples_per_second" not in row:
            lines.append((name, "", "", "", note))
            continue
        gain = f"{100 * row['gain']:+.1f} %" if row["settings"] else ""
        mark = "kept" if row["settings"] == verdict.winner else note
        times = f"{row['repeats']} x, at worst {100 * row['lowest_gain']:+.1f} %" if gain else f"{row['repeats']} x"
        lines.append((name, f"{row['samples_per_second']:.1f} samples/s", gain, times, mark))
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    return ["  ".join([*(line[c].ljust(widths[c]) for c in range(4)), line[4]]).rstrip() for line in lines]


def notes(search: Search, verdict: Verdict, used: float) -> list[str]:
    """Return the lines on the time of a search: ``used`` seconds of it, and what it was too short for."""
    count = len(search.probes)
    lines = [f"{used:.0f} of {search.budget:.0f} s used, by {count} probe{'s' if count != 1 else ''}"]
    if verdict.unsettled:
        short = f"too little time to settle {verdict.unsettled} of {search.candidates} candidates"
        lines.append(f"{short}; a longer autotune_budget may find more")
    return lines


def search_from(data: Mapping[str, Any]) -> Search:
    """Return a search from its JSON form, which is that of ``dataclasses.asdict``."""
    probes = [
        Probe(**{**probe, "rounds": [[(dict(one), float(taken)) for one, taken in found] for found in probe["rounds"]]})
        for probe in data["probes"]
    ]
    return Search(**{**data, "probes": probes})
