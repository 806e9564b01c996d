"""Attention with dropout calculates what its formula says, in each architecture that uses it. Needs torch."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from icefield_train.attention import NAME, attend, use_attention  # noqa: E402
from icefield_train.dropout import factors_like  # noqa: E402
from icefield_train.model_files import ENCODERS  # noqa: E402
from icefield_train.precision import calculating_in  # noqa: E402
from tests.training.tiny import tiny_config  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
SHARE = 0.25
LAYER = torch.nn.Module()
LAYER.is_causal = False  # type: ignore[assignment]  # as attention layers have it


def _inputs(kind: Any = torch.float32) -> list[Any]:
    torch.manual_seed(3)
    # Heads beside each other in memory, as layers hand them over.
    return [torch.randn(2, 7, 3, 4).to(kind).transpose(1, 2).requires_grad_() for _ in range(3)]


def _masks() -> dict[str, Any]:
    seen = torch.ones(2, 1, 7, 7, dtype=torch.bool)
    seen[1, :, :, 4:] = False
    return {"none": None, "bool": seen, "added": torch.zeros(2, 1, 7, 7).masked_fill(~seen, -1e9)}


def _expected(query: Any, key: Any, value: Any, mask: Any, scaling: float) -> Any:
    scores = (query @ key.transpose(2, 3) * scaling).float()
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    weights = torch.softmax(scores, -1).to(query.dtype)
    torch.manual_seed(5)
    factors = factors_like(weights.reshape(6, 7, 7), SHARE).view(weights.shape)
    assert (factors == 0).any()
    return ((weights * factors) @ value).transpose(1, 2)


@pytest.mark.parametrize("mask", ["none", "bool", "added"])
@pytest.mark.parametrize("scaling", [None, 0.3])
def test_results_and_gradients_are_those_of_the_formula(mask: str, scaling: float | None) -> None:
    ours, theirs = _inputs(), _inputs()
    torch.manual_seed(5)
    found, _ = attend(LAYER, *ours, _masks()[mask], SHARE, scaling)
    expected = _expected(*theirs, _masks()[mask], scaling or 0.5)
    assert torch.allclose(found, expected, atol=1e-6)
    gradient = torch.randn(expected.shape)
    found.backward(gradient)
    expected.backward(gradient)
    for mine, other in zip(ours, theirs, strict=True):
        assert torch.allclose(mine.grad, other.grad, atol=1e-6)


@pytest.mark.parametrize("autocast", [False, True])
def test_in_bf16_they_are_those_of_fp32_up_to_its_digits(autocast: bool) -> None:
    ours = _inputs(torch.bfloat16)
    theirs = [tensor.detach().float().requires_grad_() for tensor in ours]
    torch.manual_seed(5)
    with calculating_in("bf16") if autocast else contextlib.nullcontext():
        found, _ = attend(LAYER, *ours, _masks()["bool"], SHARE)
    assert found.dtype == torch.bfloat16
    expected = _expected(*theirs, _masks()["bool"], 0.5)
    assert torch.allclose(found.float(), expected, atol=0.02)
    gradient = torch.randn(expected.shape)
    found.backward(gradient.bfloat16())
    expected.backward(gradient)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.grad.dtype == torch.bfloat16
        assert torch.allclose(mine.grad.float(), other.grad, atol=0.05)


def test_a_row_that_sees_nothing_has_no_effect_but_a_number() -> None:
    seen = torch.ones(2, 1, 7, 7, dtype=torch.bool)
    seen[0, :, 2] = False
    found, _ = attend(LAYER, *_inputs(), seen, SHARE)
    assert found.isfinite().all()


def _model(model_type: str, share: float) -> Any:
    known = tiny_config(model_type).to_dict()
    names = [name for name in known if "drop" in name and "att" in name and isinstance(known[name], float)]
    torch.manual_seed(1)
    return transformers.AutoModel.from_config(tiny_config(model_type, **dict.fromkeys(names, share)))


def _answers(model: Any) -> Any:
    torch.manual_seed(7)
    tokens = torch.randint(4, 400, (3, 9))
    seen = torch.ones_like(tokens)
    seen[1, 5:] = 0
    return model(input_ids=tokens, attention_mask=seen)[0][seen.bool()]


@pytest.mark.parametrize("model_type", ENCODERS)
def test_an_encoder_answers_as_it_did(model_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # So small a share that none of these few values is dropped: then training answers as evaluation does.
    model = _model(model_type, 2e-5).eval()
    with torch.no_grad():
        before = _answers(model)
        use_attention(model)
        if model.config._attn_implementation != NAME:
            pytest.skip("attends by a way of its own")
        assert torch.equal(_answers(model), before)
        calls = []
        real = torch.softmax
        monkeypatch.setattr(torch, "softmax", lambda *args, **named: calls.append(1) or real(*args, **named))
        trained = _answers(model.train())
    assert torch.allclose(trained, before, atol=1e-4)
    attends = any("drop" in name and "att" in name for name in model.config.to_dict())
    assert bool(calls) == attends, "another attention was used"


def test_a_saved_model_does_not_ask_for_it(tmp_path: Path) -> None:
    model = _model("bert", 0.1)
    use_attention(model)
    model.save_pretrained(tmp_path)
    assert NAME not in (tmp_path / "config.json").read_text()
    assert json.loads((tmp_path / "config.json").read_text())["attention_probs_dropout_prob"] == 0.1
    assert transformers.AutoModel.from_pretrained(tmp_path).config._attn_implementation == "sdpa"
