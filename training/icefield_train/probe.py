"""The ``probe`` command: one rank that measures settings by real steps of training, in one process group.

Rank 0 keeps ``probe.json`` in the run's folder: the rounds of ``race``, the settings that are being measured, the rows
of a step, and after how many seconds since the launch measuring began, and this was written. That is done before and
after each measurement, so that a failure leaves what was found before it.
"""

from __future__ import annotations

import argparse
import copy
import gc
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from icefield_train.batch_plan import plan_batches
from icefield_train.config import TrainConfig
from icefield_train.journal import Journal
from icefield_train.launch_env import Place
from icefield_train.plan import Probe, load_plan
from icefield_train.race import Round, Settings, affordable, race, rounds_data
from icefield_train.status import write_json
from icefield_train.train import be_rank

FILE = "probe.json"
# Steps before those that count: torch's wrapper orders its buckets anew after the first, the optimizer makes its state.
WARM_UP = 2
# Steps that count, at least and at most, and the seconds that they should take together.
FEWEST_STEPS, MOST_STEPS, SECONDS = 4, 24, 1.5


def main(argv: Sequence[str]) -> int:
    """Measure, and end the process; a failure is written to ``errors/``, and its exit code is 1."""
    parser = argparse.ArgumentParser(prog="icefield_train probe")
    parser.add_argument("--run-dir", type=Path, required=True)
    run_dir: Path = parser.parse_args(argv).run_dir
    probe = load_plan(run_dir).probe
    assert probe is not None, "the plan has no probe"

    def work(config: TrainConfig, place: Place, journal: Journal, begun: float) -> None:
        # Imported here: it brings torch.
        from icefield_train import distributed, joining, run, token_files

        journal.enter("tokenise")
        files = token_files.prepare(config, lambda name, done: journal.status.touch())
        ranks, _, precision = joining.meet(config, place, journal)
        journal.enter("load")
        loaded = run.load(config, files, ranks)
        # Once: what is faster, gloo or oneCCL, hangs little on what is tried.
        ranks, _, _ = joining.settle(config, loaded.model, loaded.train_rows, ranks, journal)
        journal.enter("step")
        Stopwatch(config, loaded, ranks, precision, journal, probe).measure_all()
        distributed.wait_for_ranks(ranks)
        distributed.stop(ranks)

    return be_rank(run_dir / "config.json", work)


class Stopwatch:
    """Measures settings on all ranks together; all of them come to the same figures."""

    def __init__(
        self, config: TrainConfig, loaded: Any, ranks: Any, precision: str, journal: Journal, probe: Probe
    ) -> None:
        # No more epochs than steps are begun, however few rows there are.
        self._config = replace(config, epochs=MOST_STEPS + WARM_UP, max_steps=0)
        self._loaded, self._ranks, self._precision = loaded, ranks, precision
        self._journal, self._probe = journal, probe
        self._steps = FEWEST_STEPS
        # The plan was written when the probe was launched, by this node's own clock.
        self._launched = (journal.run_dir / "plan.json").stat().st_mtime
        self._begun = self._elapsed()
        self._longest = 0.0
        self._rounds: list[Round] = []

    def measure_all(self) -> None:
        """Go through the race."""
        # Processors and libraries get to know the shapes of the batches: the first to use them would pay for all.
        self._write({})
        taken = self._take({})
        self._steps = min(MOST_STEPS, max(FEWEST_STEPS, math.ceil(SECONDS / taken)))
        self._longest *= (self._steps + WARM_UP) / (FEWEST_STEPS + WARM_UP)
        tries, shown = affordable(self._probe.tries, self._probe.shown, self._measurements())
        race(tries, shown, self.measure, self.fits, self._rounds)
        self._write(None)

    def fits(self) -> bool:
        """Tell whether one more measurement would end in time."""
        return self._measurements() > 0

    def _measurements(self) -> int:
        """Return how many more measurements would end in time, each as long as the longest; rank 0's clock decides."""
        from icefield_train import distributed

        mine = math.floor((self._probe.seconds - self._elapsed()) / self._longest)
        return int(distributed.gather_from_ranks(self._ranks, mine)[0])

    def measure(self, settings: Settings) -> float:
        """Return the seconds per step of these settings, those of the slowest rank."""
        self._write(settings)
        taken = self._take(settings)
        self._journal.event("measured", settings=settings, seconds=taken, rows=self._rows)
        self._journal.log(f"measured {settings or 'defaults'}: {taken:.4f} s per step")
        return taken

    def _take(self, settings: Settings) -> float:
        from icefield_train import distributed, joining, loop
        from icefield_train.embedding_rows import choose_embedding

        begun = time.monotonic()
        config = replace(self._config, **settings)
        # A copy: hooks that one try leaves on the weights shall not be the next one's.
        model = copy.deepcopy(self._loaded.model)
        rows = self._loaded.train_rows
        embedding = choose_embedding(model, rows, config.embedding_exchange, self._ranks.world_size)
        connected = joining.connect(config, model, self._ranks, embedding)
        times: list[float] = []

        def on_step(step: loop.Step) -> None:
            times.append(time.perf_counter())
            self._journal.status.touch()

        loop.train(
            connected,
            rows,
            config,
            self._ranks,
            precision=self._precision,
            steps=self._steps + WARM_UP,
            on_step=on_step,
        )
        seconds = (times[-1] - times[WARM_UP - 1]) / (len(times) - WARM_UP)
        # What they refer to each other with is not freed by itself, and the next model needs the memory.
        del connected, model
        gc.collect()
        spent = time.monotonic() - begun
        found = distributed.gather_from_ranks(self._ranks, (seconds, spent))
        self._longest = max(self._longest, *(one[1] for one in found))
        return max(one[0] for one in found)

    @property
    def _rows(self) -> int:
        """How many rows an optimizer step takes, over all ranks."""
        return plan_batches(self._config, self._ranks.world_size).global_batch_size

    def _elapsed(self) -> float:
        return time.time() - self._launched

    def _write(self, trying: Settings | None) -> None:
        if self._ranks.is_main:
            content = {
                "rounds": rounds_data(self._rounds),
                "trying": trying,
                "rows": self._rows,
                "begun": self._begun,
                "written": self._elapsed(),
            }
            write_json(self._journal.run_dir / FILE, content)
