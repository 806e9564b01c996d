"""How ranks come together before they train: they meet, agree on what they share, and connect their gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from icefield_train import distributed, extensions
from icefield_train.attention import use_attention
from icefield_train.collectives import Choice
from icefield_train.config import TrainConfig
from icefield_train.data import EncodedRows
from icefield_train.distributed import Dist
from icefield_train.dropout import replace_dropout
from icefield_train.embedding_rows import EmbeddingChoice, choose_embedding
from icefield_train.journal import Journal
from icefield_train.last_words import on_request_to_end
from icefield_train.launch_env import Place
from icefield_train.machine import machine_facts
from icefield_train.precision import agreed_precision
from icefield_train.results import environment
from icefield_train.status import write_json


def meet(config: TrainConfig, place: Place, journal: Journal) -> tuple[Dist, list[dict[str, Any]], str]:
    """Meet the other ranks; return them, the facts of each rank's machine, and the precision that all agree on.

    Raises:
        RuntimeError: they did not all come in time, or oneCCL is asked for where there is none.
        ImportError: the environment lacks an extension of its stack.
    """
    for name in extensions.load():
        journal.log(f"with {name}")

    journal.enter("rendezvous")
    backend = "ccl" if config.collectives == "ccl" else "gloo"
    ranks = distributed.start(place, config.deadline_rendezvous, backend, deadline=config.deadline_step)
    machines = distributed.gather_from_ranks(ranks, machine_facts(journal.status.host, torch.get_num_threads()))
    precision = agreed_precision(config.precision, [machine["isa"] for machine in machines], Path(config.model))
    tell_start(config, ranks, machines, precision, journal)
    distributed.set_deadline(ranks, config.deadline_step)
    return ranks, machines, precision


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


def settle(
    config: TrainConfig, model: Any, rows: EncodedRows, ranks: Dist, journal: Journal
) -> tuple[Dist, Choice, EmbeddingChoice]:
    """Give the model our faster layers, and settle over what and how its gradients are exchanged.

    Returns:
        The ranks over the backend of the run, which one that is, and how gradients of word embeddings are exchanged.

    Raises:
        RuntimeError: another rank is gone.
        ValueError: a setting of the exchange does not go with the model.
    """
    use_attention(model)
    replace_dropout(model)
    embedding = choose_embedding(model, rows, config.embedding_exchange, ranks.world_size)
    ranks, collectives = _choose_collectives(config, ranks, model, embedding.parameter, journal)
    on_request_to_end(lambda: distributed.waiting_for(ranks), journal)
    return ranks, collectives, embedding


def connect(config: TrainConfig, model: Any, ranks: Dist, embedding: EmbeddingChoice) -> torch.nn.Module:
    """Return the model with gradients averaged over the ranks."""
    return distributed.parallel(
        ranks,
        model,
        deadline=config.deadline_step,
        wire_format=config.wire_format,
        bucket_mb=config.bucket_mb,
        embedding=embedding.parameter,
    )


def _choose_collectives(
    config: TrainConfig, ranks: Dist, model: torch.nn.Module, embedding: str, journal: Journal
) -> tuple[Dist, Choice]:
    """Return the ranks over the backend that the setting names, or over the faster one; and which it is.

    Args:
        config: settings of the run.
        ranks: this process among the ranks.
        model: the model.
        embedding: name of the weights that are exchanged by rows; "" = none.
        journal: where to tell of it.
    """
    if config.collectives != "auto":
        return ranks, Choice(backend=ranks.backend, reason="as asked for")
    weights = {name: weight for name, weight in model.named_parameters() if weight.requires_grad and name != embedding}
    ranks, choice = distributed.choose(
        ranks,
        journal.status.host,
        deadline=config.deadline_step,
        gradient_bytes=sum(4 * weight.numel() for weight in weights.values()),
        touch=journal.status.touch,
        bucket_mb=config.bucket_mb,
        wire_format=config.wire_format,
    )
    journal.event("collectives", **choice.to_dict())
    journal.log(f"collectives {choice.backend}: {choice.reason}")
    return ranks, choice
