"""Settings that change how fast a run is and that Icefield may choose itself: what they are, and who has chosen. Pure.

A new one is one more ``Tunable``: its name is a setting, or it is left alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from icefield_train.race import Settings
from plugins.module_utils.run_plan import RANK_MEMORY

AUTO = "auto"
# From so many cores on it may pay to keep one for the threads that send and receive.
_CORES_TO_SPARE = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Tunable:
    """A setting, and what it may be."""

    name: str
    builtin: Any
    """What it is where neither the user nor autotune.yml has chosen."""
    candidates: tuple[Any, ...] = ()
    """What else is tried, within one launch of the ranks; the settings of the launch itself have none here."""
    unset: Any = AUTO
    """Value with which the user leaves it open."""
    lossy: bool = False
    """Whether it changes the results of a run, by more than the order of sums."""
    between_ranks: bool = True
    """Whether it means nothing to a rank on its own."""


LAYOUT = (
    Tunable(name="nproc_per_node", builtin=1),
    Tunable(name="threads_per_process", builtin=AUTO),
)
INSIDE = (
    Tunable(name="bucket_mb", builtin=5, candidates=(2, 10, 25)),
    Tunable(name="embedding_exchange", builtin=AUTO, candidates=("dense",)),
    Tunable(name="wire_format", builtin="fp32", unset="fp32", candidates=("bf16", "fp16"), lossy=True),
)
TUNABLES = (*LAYOUT, *INSIDE)


def untuned(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with the built-in values of those that are left open."""
    found = dict(settings)
    for tunable in TUNABLES:
        if found.get(tunable.name) == tunable.unset:
            found[tunable.name] = tunable.builtin
    return found


def own_choices(settings: Mapping[str, Any], given: Collection[str]) -> Settings:
    """Return the values that the user has chosen himself.

    Args:
        settings: converted settings of the user.
        given: names of those that he gave by -e: these are his, even where they are what they are anyway.
    """
    return {
        tunable.name: settings[tunable.name]
        for tunable in TUNABLES
        if tunable.name in settings
        and (settings[tunable.name] != tunable.unset or (tunable.unset != AUTO and tunable.name in given))
    }


def tries(
    own: Collection[str], known: Collection[str], ranks: int, lossy: bool
) -> tuple[list[Settings], list[Settings]]:
    """Return the settings to try beside the defaults in one launch, and those that are only shown.

    Args:
        own: names that the user has chosen himself.
        known: names of all settings.
        ranks: number of ranks of the launch.
        lossy: whether settings that change the results may be chosen.
    """
    open_ones = [
        tunable
        for tunable in INSIDE
        if tunable.name in known and tunable.name not in own and (ranks > 1 or not tunable.between_ranks)
    ]
    wanted = [{one.name: value} for one in open_ones if lossy or not one.lossy for value in one.candidates]
    # Of what cannot be chosen one is enough.
    return wanted, [{one.name: one.candidates[0]} for one in open_ones if one.lossy and not lossy]


def layouts(own: Collection[str], settings: Mapping[str, Any], tunings: Sequence[Mapping[str, Any]]) -> list[Settings]:
    """Return the launches to try, by what differs from the default one, which comes first.

    Args:
        own: names that the user has chosen himself.
        settings: converted settings of the user.
        tunings: what each node measured about itself.
    """
    cpus = int(min(node["cpus"] for node in tunings))
    memory = min(node["memory_bytes"] for node in tunings)
    found: list[Settings] = [{}]
    if "nproc_per_node" not in own and not batch_follows_ranks(settings):
        rows = settings["global_batch_size"] or 32
        most = min(cpus, memory // RANK_MEMORY, rows // len(tunings))
        found += [{"nproc_per_node": count} for count in _powers_of_two(most)]
    if not {"nproc_per_node", "threads_per_process"} & set(own) and cpus >= _CORES_TO_SPARE:
        found.insert(1, {"threads_per_process": cpus - 1})
    return found


def batch_follows_ranks(settings: Mapping[str, Any]) -> bool:
    """Tell whether more ranks would make the global batch larger, which is another training."""
    return settings["global_batch_size"] == 0 and settings["per_device_batch_size"] > 0


def _powers_of_two(most: int) -> list[int]:
    return [1 << power for power in range(1, most.bit_length()) if 1 << power <= most]


def told(settings: Mapping[str, Any]) -> str:
    """Return settings as a user gives them, in the order of the tunables; "defaults" for none."""
    order = [tunable.name for tunable in TUNABLES]
    return ", ".join(f"{name}={settings[name]}" for name in sorted(settings, key=order.index)) or "defaults"
