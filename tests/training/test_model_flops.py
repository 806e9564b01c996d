"""The formula for a model's operations, against torch's own count of what is calculated."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from icefield_train.model_flops import model_flops  # noqa: E402

ROWS, LENGTH = 3, 40


@pytest.mark.parametrize("name", ["bert", "mpnet", "roberta"])
def test_the_formula_comes_near_to_what_is_calculated(name: str) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    # Eager, since torch does not count what its fused attention does.
    config = transformers.AutoConfig.for_model(
        name, hidden_size=64, intermediate_size=256, num_hidden_layers=3, num_attention_heads=4, vocab_size=500
    )
    model = transformers.AutoModelForSequenceClassification.from_config(config, attn_implementation="eager")
    tokens = torch.randint(5, 500, (ROWS, LENGTH))
    with FlopCounterMode(display=False) as counter:
        model(tokens).logits.sum().backward()
    flops = model_flops(model)
    assert flops is not None
    found = flops.of(ROWS * LENGTH, ROWS * LENGTH**2)
    # Biases, norms and the head are a small part of it, on one side or the other.
    assert found == pytest.approx(counter.get_total_flops(), rel=0.03)


def test_of_adapters_the_operations_are_not_told() -> None:
    peft = pytest.importorskip("peft")
    config = transformers.BertConfig(
        hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, vocab_size=50
    )
    model = transformers.BertForSequenceClassification(config)
    assert model_flops(model) is not None
    assert model_flops(peft.get_peft_model(model, peft.LoraConfig(task_type="SEQ_CLS"))) is None
