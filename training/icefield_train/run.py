"""A run as one rank goes through it: meet, load, train, evaluate, save."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from icefield_train import distributed, evaluate, loop
from icefield_train.check import num_epochs, num_steps
from icefield_train.checkpoint import save_model
from icefield_train.config import TrainConfig
from icefield_train.data import EncodedRows, encode
from icefield_train.distributed import Dist
from icefield_train.journal import Journal
from icefield_train.launch_env import Place
from icefield_train.machine import machine_facts
from icefield_train.model import load_tokenizer, new_classifier, num_parameters, silence_transformers
from icefield_train.precision import agreed_precision
from icefield_train.results import Results, environment
from icefield_train.staged_data import read_about, read_rows
from icefield_train.status import write_json


@dataclass(frozen=True, kw_only=True, slots=True)
class Loaded:
    """What a rank trains with."""

    tokenizer: Any
    model: torch.nn.Module
    train_rows: EncodedRows
    dev_rows: EncodedRows
    metrics: list[str]
    steps: int


def run(config: TrainConfig, place: Place, journal: Journal, begun: float) -> None:
    """Go through a run; rank 0 writes the results into the run's folder.

    Args:
        config: settings of the run.
        place: this process among the ranks.
        journal: where to tell of it.
        begun: when the process began, in seconds since 1970.

    Raises:
        RuntimeError: another rank failed or is late.
        FloatingPointError: the loss is not a number.
        OSError, ValueError: data or model can't be read, results can't be written.
    """
    journal.enter("rendezvous")
    ranks = distributed.start(place, config.deadline_rendezvous)
    machines = distributed.gather_from_ranks(ranks, machine_facts(journal.status.host, torch.get_num_threads()))
    precision = agreed_precision(config.precision, [machine["isa"] for machine in machines])
    tell_start(config, ranks, machines, precision, journal)

    journal.enter("load")
    distributed.set_deadline(ranks, config.deadline_step)
    loaded = load(config, ranks)
    model = distributed.parallel(ranks, loaded.model)
    tell_plan(config, loaded, journal)

    journal.enter("step")
    trained = loop.train(
        model,
        loaded.train_rows,
        config,
        ranks,
        precision=precision,
        steps=loaded.steps,
        on_step=lambda step: journal.step({**asdict(step), "steps": loaded.steps}),
    )

    journal.enter("evaluate")
    distributed.set_deadline(ranks, config.deadline_evaluate)
    predictions = evaluate.predict(
        loaded.model, loaded.dev_rows, ranks, precision=precision, on_batch=journal.status.touch
    )
    results = Results(
        config=config,
        machines=machines,
        precision=precision,
        trained=trained,
        predictions=predictions,
        train_rows=len(loaded.train_rows),
        metrics=loaded.metrics,
    )
    if ranks.is_main:
        journal.event("evaluate", epoch=config.epochs, step=trained.steps, metrics=results.scores())

    journal.enter("save")
    distributed.set_deadline(ranks, config.deadline_save)
    if ranks.is_main:
        size = save_model(loaded.model, loaded.tokenizer, journal.run_dir / "model")
        journal.event("save", path=str(journal.run_dir / "model"), bytes=size)
        write_json(journal.run_dir / "metrics.json", results.to_dict(wall_seconds=time.time() - begun))
    # Nobody leaves before the results are written: a failure to write them is one of the whole run.
    distributed.wait_for_ranks(ranks)
    distributed.stop(ranks)
    journal.event("end", wall_seconds=time.time() - begun)


def load(config: TrainConfig, ranks: Dist) -> Loaded:
    """Read the staged data and model; the same on every rank, but for the seed of dropout."""
    silence_transformers()
    folder = Path(config.data_dir)
    about = read_about(folder)
    tokenizer = load_tokenizer(config.model, config.max_length)
    train_rows = encode(read_rows(folder / "train.jsonl")[: config.train_rows or None], tokenizer, config.max_length)
    dev_rows = encode(read_rows(folder / "dev.jsonl"), tokenizer, config.max_length)
    model = new_classifier(config.model, about["labels"], config.seed)
    # The new classifier is the same everywhere; what dropout leaves out is not.
    torch.manual_seed(config.seed + ranks.rank)
    return Loaded(
        tokenizer=tokenizer,
        model=model,
        train_rows=train_rows,
        dev_rows=dev_rows,
        metrics=about["metrics"],
        steps=num_steps(config, len(train_rows)),
    )


def tell_start(
    config: TrainConfig, ranks: Dist, machines: list[dict[str, Any]], precision: str, journal: Journal
) -> None:
    """Record who takes part."""
    if ranks.is_main:
        write_json(journal.run_dir / "environment.json", environment(config, machines))
    journal.event(
        "start",
        run_id=config.run_id,
        task=config.task,
        model=config.model_name or config.model,
        world_size=ranks.world_size,
        hosts=list(dict.fromkeys(machine["host"] for machine in machines)),
        precision=precision,
        threads=[machine["threads"] for machine in machines],
    )
    mine = machines[ranks.rank]
    journal.log(f"{mine['cpu']}, {mine['threads']} thread(s), {', '.join(mine['isa'])}; {precision}")


def tell_plan(config: TrainConfig, loaded: Loaded, journal: Journal) -> None:
    """Record what will be done."""
    plan = {
        "steps": loaded.steps,
        "epochs": num_epochs(config, len(loaded.train_rows), loaded.steps),
        "global_batch_size": config.global_batch_size,
        "train_rows": len(loaded.train_rows),
        "dev_rows": len(loaded.dev_rows),
        "parameters": num_parameters(loaded.model),
    }
    journal.event("plan", **plan)
    journal.log(", ".join(f"{name} {value}" for name, value in plan.items()))
    journal.status.advance(0, loaded.steps)
