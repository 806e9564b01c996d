"""Ansible action: take in what the last probe found, and say which one comes next."""

from __future__ import annotations

import base64
import json
import time
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any, ClassVar

from icefield_train.race import rounds_from
from plugins.module_utils import run_job, tunables
from plugins.module_utils.autotune import Probe, Search, search_from
from plugins.module_utils.controller_action import ControllerAction


class ActionModule(ControllerAction):
    """Keeps the search in what it returns: each call gets that of the last one."""

    ARGUMENTS: ClassVar[dict[str, Any]] = {
        "settings": {"type": "dict", "required": True},
        "own": {"type": "dict", "required": True},
        "tunings": {"type": "list", "elements": "dict", "required": True},
        "budget": {"type": "int", "required": True},
        "lossy": {"type": "bool", "default": False},
        "last": {"type": "dict", "default": {}},
        "result": {"type": "dict", "default": {}},
        "found": {"type": "str", "default": ""},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Return ``search``, ``begun``, ``used``, ``launched``, ``name``, and ``probe``, {} where no more comes."""
        now, last = time.time(), args["last"]
        if last:
            begun, search, name = last["begun"], search_from(last["search"]), last["stem"]
            taken = taken_in(Probe(**last["probe"]), args["result"], args["found"], now - last["launched"])
            search = replace(search, probes=[*search.probes, taken])
        else:
            begun, search, name = now, self._new(args), f"autotune-{run_job.stamp_of(datetime.now(UTC))}"
        probe = search.next_probe(now - begun)
        if probe:
            layout = tunables.told(probe.layout) if probe.layout else "the default launch"
            self._display.display(f"probe {len(search.probes) + 1}: {layout}; {probe.limit:.0f} s are left")
        return {
            "search": asdict(search),
            "begun": begun,
            "used": now - begun,
            "launched": now,
            "stem": name,
            "name": f"{name}-{len(search.probes) + 1}",
            "probe": asdict(probe) if probe else {},
        }

    def _new(self, args: dict[str, Any]) -> Search:
        settings, own = args["settings"], args["own"]
        ranks = len(args["tunings"]) * int(settings["nproc_per_node"])
        tries, shown = tunables.tries(own, settings, ranks, args["lossy"])
        if tunables.batch_follows_ranks(settings) and "nproc_per_node" not in own:
            self._display.display(
                "nproc_per_node is left alone: with per_device_batch_size more processes make the global batch larger"
            )
        return Search(
            budget=float(args["budget"]),
            layouts=tunables.layouts(own, settings, args["tunings"]),
            tries=tries,
            shown=shown,
        )


def taken_in(probe: Probe, result: dict[str, Any], found: str, took: float) -> Probe:
    """Return a probe with what it found.

    Args:
        probe: the probe that was made.
        result: how its run ended on the head.
        found: its ``probe.json`` in base64, as Ansible fetches it; "" where there is none.
        took: seconds of it all.

    Raises:
        ValueError: a user stopped it, or the head is out of reach: another one would come to nothing.
    """
    state, line = result.get("state"), str(result.get("line") or "it left no figures")
    if state in ("stopped", "lost"):
        raise ValueError(f"{line}; nothing was kept")
    data = json.loads(base64.b64decode(found)) if found else {}
    failed = None if state == "done" and data else data.get("trying") or {}
    return replace(
        probe,
        rounds=rounds_from(data.get("rounds", [])),
        took=took,
        begun=float(data.get("begun", 0.0)),
        ended=float(data.get("written", 0.0)),
        rows=int(data.get("rows", 0)),
        failed=failed,
        reason="" if failed is None else line,
    )
