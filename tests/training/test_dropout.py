"""Dropout from fewer random bits is the same distribution and the same arithmetic as torch's. Needs torch."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from icefield_train.dropout import Dropout, can_drop, factors_like, replace_dropout  # noqa: E402


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_each_value_is_dropped_independently_and_the_rest_makes_up_for_it(kind: Any) -> None:
    torch.manual_seed(1)
    factors = factors_like(torch.empty(1000, 1003, dtype=kind), 0.1)
    assert factors.shape == (1000, 1003)
    assert factors.dtype == kind
    dropped = (factors == 0).double()
    # What torch multiplies by, to the last digit of bf16; of float32 to the rounding of the share.
    scale = torch.tensor(1 / 0.9, dtype=kind)
    assert torch.allclose(factors[factors != 0], scale, rtol=1e-5, atol=0)
    # 5 standard deviations of a million draws.
    assert float(dropped.mean()) == pytest.approx(0.1, abs=0.0015)
    # The four draws of one random number, and neighbours farther away, have nothing to do with each other.
    flat = dropped.flatten()
    for distance in (1, 2, 3, 4, 1003):
        assert float((flat[distance:] * flat[:-distance]).mean()) == pytest.approx(0.01, abs=0.0005)
    for place in range(4):
        assert float(flat[place::4].mean()) == pytest.approx(0.1, abs=0.003)


def test_what_is_dropped_follows_the_seed() -> None:
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(factors_like(torch.empty(50, 7), 0.5))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


@pytest.mark.parametrize("share", [0.0, 1e-9, 1.0])
def test_nothing_and_everything_is_left_to_torch(share: float) -> None:
    values = torch.randn(5, 3)
    assert not can_drop(values, share)
    assert torch.equal(Dropout(share)(values), torch.nn.functional.dropout(values, share))


def test_gradients_pass_where_values_do() -> None:
    values = torch.randn(40, 30, requires_grad=True)
    kept = Dropout(0.3)(values)
    kept.sum().backward()
    assert torch.equal(kept, values * values.grad)
    assert 0 < int((values.grad == 0).sum()) < values.numel()


def test_layers_keep_their_share_and_whether_they_train() -> None:
    model = torch.nn.Sequential(torch.nn.Dropout(0.2), torch.nn.Sequential(torch.nn.Dropout(0.4, inplace=True)))
    model[0].eval()
    replace_dropout(model)
    assert type(model[0]) is Dropout
    assert (model[0].p, model[0].training) == (0.2, False)
    # Who asks for the same memory gets it.
    assert type(model[1][0]) is torch.nn.Dropout
    values = torch.randn(10, 10)
    assert model[0](values) is values
