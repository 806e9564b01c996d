"""The recipe ``article``: the job as the article runs it, by stock libraries that nobody has tuned.

The article is Hugging Face's "Accelerating PyTorch distributed fine-tuning with Intel technologies" (2021). Rows are
padded to ``max_length``, all is calculated in fp32, Trainer's defaults hold, gradients are averaged by torch's own
wrapper over gloo, threads are as many as torchrun and accelerate choose. What makes it the same job is the user's:
rows, model, batch, epochs, learning rate, weight decay, warm-up, seed. Tokens are made before the ranks start, as they
are for Icefield's own recipe.
"""

from __future__ import annotations

import time
from typing import Any

import torch

from icefield_train import distributed, token_files
from icefield_train.check import samples_of
from icefield_train.collectives import Choice
from icefield_train.config import TrainConfig
from icefield_train.data import EncodedRows
from icefield_train.distributed import Dist
from icefield_train.evaluate import Predictions
from icefield_train.journal import Journal
from icefield_train.launch_env import Place
from icefield_train.loop import Trained
from icefield_train.machine import machine_facts
from icefield_train.meter import Meter
from icefield_train.model import num_parameters
from icefield_train.objectives import OBJECTIVES
from icefield_train.recipes.padded_rows import PaddedRows
from icefield_train.recipes.stock_trainer import StockTrainer, stock_arguments
from icefield_train.results import Results
from icefield_train.run import finish, load, tell_plan, tell_start

# The last losses of which the mean is told, as many as Icefield's own recipe takes.
_LAST = 20


def run(config: TrainConfig, place: Place, journal: Journal, begun: float) -> None:
    """Go through a run; see ``icefield_train.run.run``."""
    journal.enter("tokenise")
    files = token_files.prepare(config, lambda name, done: journal.status.touch())

    journal.enter("rendezvous")
    ranks = distributed.start(place, config.deadline_rendezvous)

    journal.enter("load")
    distributed.set_deadline(ranks, config.deadline_step)
    loaded = load(config, files, ranks)
    arguments = stock_arguments(config, loaded.batches, loaded.steps, ranks.world_size)
    meter = Meter()
    trainer = StockTrainer(
        meter=meter,
        journal=journal,
        objective=OBJECTIVES[loaded.train_rows.kind],
        model=loaded.model,
        args=arguments,
        train_dataset=PaddedRows(loaded.train_rows, config.max_length),
    )
    # By now the library has chosen the number of threads.
    machines = distributed.gather_from_ranks(ranks, machine_facts(journal.status.host, torch.get_num_threads()))
    tell_start(config, ranks, machines, "fp32", journal)
    tell_plan(config, loaded, ranks, journal)

    journal.enter("step")
    trainer.train()
    trained = _trained(config, trainer, loaded.train_rows, ranks)

    journal.enter("evaluate")
    distributed.set_deadline(ranks, config.deadline_evaluate)
    results = Results(
        config=config,
        task=loaded.task,
        machines=machines,
        precision="fp32",
        batches=loaded.batches,
        trained=trained,
        exchange={
            **Choice(backend="gloo", reason="the article's recipe has no other").to_dict(),
            "wire_format": "fp32",
            "embedding_exchange": "dense, by torch's own wrapper",
            # A ring's (Patarasuk and Yuan 2009), as in ``parallel``; the weights are in fp32.
            "bytes_sent_per_step": round(
                2 * (ranks.world_size - 1) / ranks.world_size * 4 * num_parameters(loaded.model)
            ),
        },
        predictions={name: _predict(trainer, rows, config) for name, rows in loaded.dev_rows.items()},
        train_rows=len(loaded.train_rows),
    )
    finish(config, loaded, ranks, journal, results, meter, begun)


def _trained(config: TrainConfig, trainer: Any, rows: EncodedRows, ranks: Dist) -> Trained:
    """Return what was trained; rows that the library takes twice to fill a last batch count once."""
    steps = trainer.state.global_step
    last = min(_LAST, steps)
    losses = trainer.losses[-last * trainer.args.gradient_accumulation_steps :]
    tokens, loss_sum = distributed.sum_over_ranks(ranks, [trainer.tokens, sum(losses) / last])
    samples = samples_of(config, len(rows), steps, ranks.world_size)
    if samples == config.epochs * len(rows):
        tokens = config.epochs * sum(rows.lengths)
    return Trained(
        steps=steps,
        samples=samples,
        tokens=int(tokens),
        seconds=trainer.meter.seconds,
        final_loss=loss_sum / ranks.world_size,
    )


def _predict(trainer: Any, rows: EncodedRows, config: TrainConfig) -> Predictions:
    """Return the answers to all rows, each once, by the library's own evaluation; the same on every rank."""
    begun = time.perf_counter()
    objective, everything = OBJECTIVES[rows.kind], list(range(len(rows)))
    logits = torch.from_numpy(trainer.predict(PaddedRows(rows, config.max_length)).predictions)
    losses = objective.losses(logits, objective.labels(rows, everything))
    counted = sum(objective.counts(rows))
    return Predictions(
        labels=objective.truth(rows),
        predicted=objective.answers(rows, everything, logits),
        loss=float(losses.sum()) / counted if counted else float("nan"),
        seconds=time.perf_counter() - begun,
    )
