# Two clouds of points told apart, the way of accelerate's examples. Knows nothing of Icefield.
import json
from pathlib import Path

import lightning_utilities
import torch
import torchmetrics
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset


def clouds(count, seed):
    g = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % 2
    points = torch.randn(count, 4, generator=g) + labels[:, None] * 2.0
    return TensorDataset(points, labels)


def main():
    accelerator = Accelerator()
    set_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    train = DataLoader(clouds(512, 1), batch_size=16, shuffle=True)
    # Not a multiple of the ranks' batches: gather_for_metrics has to drop what it repeats.
    dev = DataLoader(clouds(101, 2), batch_size=16)
    model, optimizer, train, dev = accelerator.prepare(model, optimizer, train, dev)

    model.train()
    for points, labels in train:
        loss = torch.nn.functional.cross_entropy(model(points), labels)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()

    accuracy = torchmetrics.classification.MulticlassAccuracy(num_classes=2, average="micro", sync_on_compute=False)
    rows = 0
    model.eval()
    for points, labels in dev:
        with torch.no_grad():
            guesses = model(points).argmax(-1)
        guesses, labels = accelerator.gather_for_metrics((guesses, labels))
        if accelerator.is_main_process:
            accuracy.update(guesses, labels)
            rows += len(labels)
    accelerator.print("dev rows", rows)
    if accelerator.is_main_process:
        out = Path("results/final")
        out.mkdir(parents=True)
        found = {
            "processes": accelerator.num_processes,
            "type": str(accelerator.distributed_type),
            "steps": len(train),
            "rows": rows,
            "accuracy": float(accuracy.compute()) if rows else None,
            "torch": [torch.__version__, torch.__file__],
            "layer": [torchmetrics.__file__, lightning_utilities.__file__],
        }
        (out / "metrics.json").write_text(json.dumps(found))
    accelerator.end_training()


main()
