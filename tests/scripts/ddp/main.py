# A line through noisy points, the way of PyTorch's DDP tutorials. Knows nothing of Icefield.
import argparse
import csv
import json
import os

import torch
import torch.distributed as dist
from nets.line import Line
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--lr", type=float, default=0.01)
    p.add_argument("--name", default="")
    args = p.parse_args()

    dist.init_process_group(init_method="env://")
    rank, world = dist.get_rank(), dist.get_world_size()

    with open(os.path.join(args.data, "points.csv")) as f:
        rows = [(float(r["x"]), float(r["y"])) for r in csv.DictReader(f)]
    xs = torch.tensor([[x] for x, _ in rows])
    ys = torch.tensor([[y] for _, y in rows])
    data = TensorDataset(xs, ys)
    sampler = DistributedSampler(data, seed=0)
    loader = DataLoader(data, batch_size=8, sampler=sampler)

    model = DDP(Line())
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    losses = []
    for epoch in range(20):
        sampler.set_epoch(epoch)
        total = torch.zeros(2)
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += torch.tensor([loss.item() * len(x), len(x)])
        dist.all_reduce(total)
        losses.append((total[0] / total[1]).item())
        if rank == 0:
            print(f"epoch {epoch} loss {losses[-1]:.4f}")

    # Each rank adds ten to the power of its own number.
    ranks = torch.tensor([10.0**rank])
    dist.all_reduce(ranks)
    slope = model.module.w.item()
    slopes = [torch.zeros(1) for _ in range(world)]
    dist.all_gather(slopes, torch.tensor([slope]))
    if rank == 0:
        with open(os.path.join(args.out, "line.json"), "w") as f:
            json.dump(
                {
                    "world": world,
                    "ranks": ranks.item(),
                    "slopes": [s.item() for s in slopes],
                    "losses": losses,
                    "rows": int(total[1]),
                    "name": args.name,
                },
                f,
            )
        os.symlink(os.path.join(args.out, "line.json"), os.path.join(args.out, "latest.json"))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
