"""Where the time of training steps goes: one clock that is always in one part of a step."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

# communication: what a rank waits for when it has nothing left to calculate, slower ranks included. What is exchanged
# while it calculates takes no time of its own.
PARTS = ("compute", "communication", "data", "other")


class StepClock:
    """Adds up seconds by part; a change of part costs less than a microsecond."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self._now = now
        self._part, self._since = "", now()

    def enter(self, part: str) -> None:
        """End the part that goes on and begin another; "" stops the clock."""
        now = self._now()
        if self._part:
            self.seconds[self._part] += now - self._since
        self._part, self._since = part, now

    def communicate_after(self, loss: torch.Tensor) -> None:
        """Enter "communication" when all gradients of a loss are calculated, while its backward pass is not yet over.

        Of what the autograd engine is asked to do at the end of a backward pass the first comes first. Torch's wrapper
        asks when its last gradient is there, to wait for what is exchanged; the loss has its gradient before any other.
        """
        loss.register_hook(lambda gradient: self._ask(gradient))

    def _ask(self, gradient: torch.Tensor) -> torch.Tensor:
        torch.autograd.Variable._execution_engine.queue_callback(lambda: self.enter("communication"))
        return gradient
