"""A run as one rank goes through it: tokenise what is not yet, meet, load, train, evaluate, save."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from icefield_train import distributed, evaluate, joining, loop, predictions, token_files
from icefield_train.batch_plan import BatchPlan, plan_batches
from icefield_train.check import num_epochs, num_steps
from icefield_train.checkpoint import save_adapters, save_model
from icefield_train.config import TrainConfig
from icefield_train.data import EncodedRows, load_rows
from icefield_train.distributed import Dist
from icefield_train.gemm_peak import gemm_peak
from icefield_train.journal import Journal
from icefield_train.launch_env import Place
from icefield_train.lora import merged
from icefield_train.meter import Meter, combined
from icefield_train.model import adapted, fitting_rows, freeze_unused, new_model, num_parameters
from icefield_train.model_flops import model_flops
from icefield_train.results import Results
from icefield_train.staged_task import StagedTask, read_task
from icefield_train.status import write_json
from icefield_train.tokenizer import load_tokenizer


@dataclass(frozen=True, kw_only=True, slots=True)
class Loaded:
    """What a rank trains with."""

    task: StagedTask
    tokenizer: Any
    model: Any
    head: str
    """In words, where the model's head comes from."""
    train_rows: EncodedRows
    dev_rows: dict[str, EncodedRows]
    """By the name of the split, the main one first."""
    unlabelled: dict[str, EncodedRows]
    """Rows to predict, by the name of the split."""
    batches: BatchPlan
    steps: int


def run(config: TrainConfig, place: Place, journal: Journal, begun: float) -> None:
    """Go through a run; rank 0 writes the results into the run's folder.

    Args:
        config: settings of the run.
        place: this process among the ranks.
        journal: where to tell of it.
        begun: when the ranks were launched, in seconds since 1970.

    Raises:
        RuntimeError: another rank failed or is late.
        FloatingPointError: the loss is not a number.
        OSError, ValueError: data or model can't be read, results can't be written.
    """
    journal.enter("tokenise")
    # Done already where a supervisor started this rank.
    files = token_files.prepare(config, lambda name, done: journal.status.touch())

    ranks, machines, precision = joining.meet(config, place, journal)

    journal.enter("load")
    loaded = load(config, files, ranks)
    ranks, collectives, embedding = joining.settle(config, loaded.model, loaded.train_rows, ranks, journal)
    model = joining.connect(config, loaded.model, ranks, embedding)
    tell_plan(config, loaded, ranks, journal)
    journal.log(f"gradients in {config.wire_format}, word embeddings: {embedding.words}")

    meter = Meter()
    journal.enter("step")
    trained = loop.train(
        model,
        loaded.train_rows,
        config,
        ranks,
        precision=precision,
        steps=loaded.steps,
        on_step=lambda step: journal.step({**asdict(step), "steps": loaded.steps}),
        meter=meter,
    )

    journal.enter("evaluate")
    distributed.set_deadline(ranks, config.deadline_evaluate)
    if config.lora:
        loaded = merge(config, loaded, ranks, journal)
    results = Results(
        config=config,
        task=loaded.task,
        machines=machines,
        precision=precision,
        batches=loaded.batches,
        trained=trained,
        exchange={
            **collectives.to_dict(),
            "wire_format": config.wire_format,
            "embedding_exchange": embedding.words,
            "bytes_sent_per_step": round(distributed.bytes_sent(model) / trained.steps),
        },
        predictions={
            name: evaluate.predict(loaded.model, rows, ranks, precision=precision, on_batch=journal.status.touch)
            for name, rows in loaded.dev_rows.items()
        },
        train_rows=len(loaded.train_rows),
    )
    finish(config, loaded, ranks, journal, results, meter, begun)


def finish(
    config: TrainConfig, loaded: Loaded, ranks: Dist, journal: Journal, results: Results, meter: Meter, begun: float
) -> None:
    """Tell the metrics, predict what is to be predicted, write all results, and leave the other ranks.

    Raises:
        RuntimeError: another rank failed or is late.
        OSError: results can't be written.
    """
    steps = results.trained.steps
    if ranks.is_main:
        for name in loaded.dev_rows:
            journal.event("evaluate", epoch=config.epochs, step=steps, split=name, metrics=results.scores(name))
    job_seconds = time.time() - begun
    peak = distributed.at_once(ranks, lambda: gemm_peak(results.precision)) if config.measure_only else None
    mine = results.machines[ranks.rank]
    measured = distributed.gather_from_ranks(
        ranks,
        meter.measured(host=mine["host"], cpus=mine["cpus"], flops=model_flops(loaded.model), gemm_flops=peak),
    )
    for name, rows in loaded.unlabelled.items():
        answers = evaluate.predict(
            loaded.model, rows, ranks, precision=results.precision, on_batch=journal.status.touch
        ).predicted
        if ranks.is_main:
            path = predictions.write(journal.run_dir / predictions.FOLDER, loaded.task, name, answers)
            journal.event("predict", split=name, rows=len(rows), path=str(path))

    journal.enter("save")
    distributed.set_deadline(ranks, config.deadline_save)
    if ranks.is_main:
        if not config.measure_only:
            save(loaded, journal)
        found = results.to_dict(
            job_seconds=job_seconds, wall_seconds=time.time() - begun, measured=combined(measured, steps)
        )
        write_json(journal.run_dir / "metrics.json", found)
    # Nobody leaves before the results are written: a failure to write them is one of the whole run.
    distributed.wait_for_ranks(ranks)
    distributed.stop(ranks)
    journal.event("end", wall_seconds=time.time() - begun)


def load(config: TrainConfig, files: dict[str, Path], ranks: Dist) -> Loaded:
    """Read the tokenised data and the model; the same on every rank, but for the seed of dropout.

    Raises:
        ValueError: ranks have other tokens than this one.
        OSError: data or model can't be read.
    """
    task = read_task(Path(config.data_dir))
    tokenizer = load_tokenizer(config.model, task.kind.name, config.max_length)
    model, head = new_model(config.model, task, config.seed)
    model = adapted(model, task, config)
    rows = {name: fitting_rows(model, load_rows(path, task.kind.name)) for name, path in files.items()}
    check_tokens(rows, ranks)
    freeze_unused(model, rows["train"])
    # What is new is the same everywhere; what dropout leaves out is not.
    torch.manual_seed(config.seed + ranks.rank)
    return Loaded(
        task=task,
        tokenizer=tokenizer,
        model=model,
        head=head,
        train_rows=rows["train"],
        dev_rows={name: rows[name] for name in task.dev},
        unlabelled={name: rows[token_files.to_predict(name)] for name in task.predict if config.predict},
        batches=plan_batches(config, ranks.world_size),
        steps=num_steps(config, len(rows["train"]), ranks.world_size),
    )


def check_tokens(rows: dict[str, EncodedRows], ranks: Dist) -> None:
    """Refuse to train on rows that nodes have tokenised differently.

    Raises:
        ValueError: there are such.
    """
    digests = distributed.gather_from_ranks(ranks, {name: part.digest for name, part in rows.items()})
    for rank, digest in enumerate(digests):
        if other := [name for name in digest if digest[name] != digests[0][name]]:
            raise ValueError(
                f"rank {rank} has other tokens of the split '{other[0]}' than rank 0; remove tokens_dir there"
            )


def merge(config: TrainConfig, loaded: Loaded, ranks: Dist, journal: Journal) -> Loaded:
    """Write the adapters, and return what a rank goes on with: the whole model, which is judged as it is saved.

    Added to the weights, adapters give other last digits than beside them.
    """
    if ranks.is_main:
        adapters = journal.run_dir / "adapters"
        size = save_adapters(loaded.model, config.model_name or config.model, adapters)
        journal.event("save", path=str(adapters), bytes=size)
    return replace(loaded, model=merged(loaded.model))


def save(loaded: Loaded, journal: Journal) -> None:
    """Write the model, whole."""
    folder = journal.run_dir / "model"
    journal.event("save", path=str(folder), bytes=save_model(loaded.model, loaded.tokenizer, folder))


def tell_plan(config: TrainConfig, loaded: Loaded, ranks: Dist, journal: Journal) -> None:
    """Record what will be done."""
    plan = {
        "steps": loaded.steps,
        "epochs": num_epochs(config, len(loaded.train_rows), loaded.steps, ranks.world_size),
        "global_batch_size": loaded.batches.global_batch_size,
        "passes": loaded.batches.passes,
        "learning_rate": loaded.batches.learning_rate,
        "train_rows": len(loaded.train_rows),
        "dev_rows": sum(map(len, loaded.dev_rows.values())),
        "parameters": num_parameters(loaded.model),
        "head": loaded.head,
    }
    journal.event("plan", **plan)
    journal.log(", ".join(f"{name} {value}" for name, value in plan.items()))
    journal.status.advance(0, loaded.steps)
