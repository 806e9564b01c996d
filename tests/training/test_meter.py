"""Tests of what a rank measures of its training, and of what is made of all ranks' figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from icefield_train.gemm_peak import matrix_side  # noqa: E402
from icefield_train.meter import Measured, Meter, combined  # noqa: E402
from icefield_train.model_flops import ModelFlops  # noqa: E402
from icefield_train.step_clock import StepClock  # noqa: E402

RANK = Measured(
    host="a",
    seconds=10.0,
    parts={"compute": 6.0, "communication": 2.0, "data": 1.0, "other": 1.0},
    cpu_seconds=4.0,
    cpus=0.5,
    padded_tokens=100,
    flops=8e9,
    wire_bytes=1000,
    gemm_flops=4e9,
)


def test_the_clock_is_in_one_part_at_a_time() -> None:
    times = iter([0.0, 1.0, 3.0, 3.5, 7.5, 9.0])
    clock = StepClock(now=lambda: next(times))
    for part in ("data", "compute", "communication", "", "compute"):
        clock.enter(part)
    # 1 to 3, 3 to 3.5, 3.5 to 7.5; from 7.5 to 9 it stood.
    assert clock.seconds == {"compute": 0.5, "communication": 4.0, "data": 2.0, "other": 0.0}


def test_communication_begins_when_all_gradients_are_there_and_before_what_others_asked_for_later() -> None:
    class Waiting(StepClock):
        """Puts down what was there when a part began."""

        seen: tuple[bool, bool]

        def enter(self, part: str) -> None:
            if part == "communication":
                self.seen = (weight.grad is not None, bool(waited))

    waited: list[int] = []
    weight = torch.ones(3, requires_grad=True)
    clock = Waiting()
    # As torch's wrapper does it: asked for when the last gradient is there.
    weight.register_post_accumulate_grad_hook(
        lambda _: torch.autograd.Variable._execution_engine.queue_callback(lambda: waited.append(1))
    )
    loss = (weight * 2).sum()
    clock.communicate_after(loss)
    (loss * 3).backward()
    assert clock.seen == (True, False)
    assert waited == [1]


def test_a_meter_counts_what_was_calculated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    meter = Meter()
    meter.begin()
    meter.batch(4, 10)
    meter.batch(2, 5)
    meter.end()
    found = meter.measured(host="a", cpus=1.0, flops=ModelFlops(per_token=100.0, per_pair=2.0), gemm_flops=None)
    # 4 x 10 + 2 x 5 tokens, 4 x 100 + 2 x 25 pairs.
    assert (found.padded_tokens, found.flops) == (50, 50 * 100.0 + 450 * 2.0)
    assert found.wire_bytes is None
    assert sum(found.parts.values()) == pytest.approx(found.seconds, abs=0.01)


def test_ranks_figures_are_put_together() -> None:
    other = replace(RANK, host="b", parts={**RANK.parts, "compute": 4.0}, cpu_seconds=2.0, wire_bytes=3000)
    found = combined([RANK, other], steps=5)
    assert found["step_seconds"] == {"compute": 1.0, "communication": 0.4, "data": 0.2, "other": 0.2}
    # 4 and 2 of 10 x 0.5.
    assert found["cpu_utilisation"] == pytest.approx((0.8 + 0.4) / 2)
    assert found["padded_tokens"] == 200
    assert found["wire_bytes_per_step"] == 2000 / 5
    # 16e9 in 6 CPU seconds, of 4e9 per CPU second.
    assert found["gemm_share"] == pytest.approx(16 / 6 / 4)


def test_ranks_of_one_node_count_its_interface_once_and_what_one_lacks_is_left_out() -> None:
    assert "wire_bytes_per_step" not in combined([RANK, RANK], steps=5)
    three = combined([RANK, RANK, replace(RANK, host="b", wire_bytes=2000, gemm_flops=None)], steps=5)
    assert three["wire_bytes_per_step"] == 1500 / 5
    assert not {"gemm_peak_flops", "gemm_share"} & set(three)
    assert "gemm_share" not in combined([replace(RANK, flops=None)], steps=5)


def test_matrices_are_large_enough_for_the_threads() -> None:
    assert [matrix_side(threads) for threads in (1, 8, 64)] == [1024, 2048, 4096]
