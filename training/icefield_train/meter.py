"""What a rank measures of its own training, and what that is for the whole run."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from icefield_train.model_flops import ModelFlops
from icefield_train.step_clock import PARTS, StepClock

_NETWORK = Path("/sys/class/net")


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """What one rank has measured, from its first step to its last."""

    host: str
    seconds: float
    parts: dict[str, float]
    """Seconds by part of the steps, see ``step_clock``."""
    cpu_seconds: float
    """CPU time of all its threads."""
    cpus: float
    """CPUs that it may use."""
    padded_tokens: int
    """Tokens that it has calculated, padding included."""
    flops: float | None
    """Operations of the model for these."""
    wire_bytes: int | None
    """Bytes that its node has sent to others, all that the network adds included; None where nobody counts them."""
    gemm_flops: float | None
    """What ``gemm_peak`` returned, if it was asked."""


class Meter:
    """Measures one rank's training."""

    def __init__(self) -> None:
        self.clock = StepClock()
        self._tokens = self._pairs = 0
        self._interface = os.environ.get("GLOO_SOCKET_IFNAME", "")
        self.seconds = 0.0
        """From the first step to the end of the last."""
        self._begun = self._used = self._cpu_seconds = 0.0
        self._sent: int | None = None
        self._wire_bytes: int | None = None

    def begin(self) -> None:
        """Begin: the first step comes next."""
        self._begun, self._used = time.perf_counter(), time.process_time()
        self._sent = _bytes_sent(self._interface)
        self.clock.enter("other")

    def batch(self, rows: int, length: int) -> None:
        """Count a batch that the model calculates: so many rows, each padded to this length."""
        self._tokens += rows * length
        self._pairs += rows * length * length

    def end(self) -> None:
        """End: the last step is done."""
        self.clock.enter("")
        self.seconds = time.perf_counter() - self._begun
        self._cpu_seconds = time.process_time() - self._used
        sent = _bytes_sent(self._interface)
        self._wire_bytes = None if sent is None or self._sent is None else sent - self._sent

    def measured(self, *, host: str, cpus: float, flops: ModelFlops | None, gemm_flops: float | None) -> Measured:
        """Return what was measured from ``begin`` to ``end``.

        Args:
            host: name of the rank's node.
            cpus: CPUs that the rank may use.
            flops: operations of the model, where they are known.
            gemm_flops: what ``gemm_peak`` returned, if it was asked.
        """
        return Measured(
            host=host,
            seconds=self.seconds,
            parts=dict(self.clock.seconds),
            cpu_seconds=self._cpu_seconds,
            cpus=cpus,
            padded_tokens=self._tokens,
            flops=flops.of(self._tokens, self._pairs) if flops else None,
            wire_bytes=self._wire_bytes,
            gemm_flops=gemm_flops,
        )


def combined(ranks: Sequence[Measured], steps: int) -> dict[str, Any]:
    """Return what metrics.json tells of all ranks' measurements; what was not measured is left out.

    ``step_seconds`` is a step's time by part, the mean of ranks and steps; ``cpu_utilisation`` CPU time over time and
    CPUs, the mean of ranks; ``wire_bytes_per_step`` what a node sends, the mean of nodes; ``gemm_peak_flops``
    operations per second of CPU time, the mean of ranks; ``gemm_share`` the model's operations per second of CPU time
    of the training, over that.
    """
    found: dict[str, Any] = {
        "step_seconds": {part: mean(rank.parts[part] for rank in ranks) / steps for part in PARTS},
        "cpu_utilisation": mean(rank.cpu_seconds / (rank.seconds * rank.cpus) for rank in ranks),
        "padded_tokens": sum(rank.padded_tokens for rank in ranks),
    }
    # Ranks of one node share its interface.
    sent = {rank.host: rank.wire_bytes for rank in ranks}
    counted = [count for count in sent.values() if count is not None]
    if len(counted) == len(sent) > 1:
        found["wire_bytes_per_step"] = round(mean(counted) / steps)
    peaks = [rank.gemm_flops for rank in ranks if rank.gemm_flops]
    work = [rank.flops for rank in ranks if rank.flops]
    if len(peaks) == len(ranks):
        found["gemm_peak_flops"] = mean(peaks)
        if len(work) == len(ranks):
            found["gemm_share"] = sum(work) / sum(rank.cpu_seconds for rank in ranks) / mean(peaks)
    return found


def _bytes_sent(interface: str) -> int | None:
    try:
        return int((_NETWORK / interface / "statistics/tx_bytes").read_text())
    except (OSError, ValueError):
        return None
