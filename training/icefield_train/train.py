"""The ``train`` command: one rank of a run, from its start to its results."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from icefield_train import failures
from icefield_train.arguments import Parser
from icefield_train.config import TrainConfig, load_config, refusal
from icefield_train.launch_env import Place, adopt
from icefield_train.processes import die_with_parent
from icefield_train.rank_log import RankLog
from icefield_train.status import Status, write_json

if TYPE_CHECKING:
    from icefield_train.loop import Step


def main(argv: Sequence[str]) -> int:
    """Run this rank; a failure is written to ``errors/`` and ends the process at once with exit code 1."""
    begun = time.time()
    parser = Parser(prog="train", description="Train, as one rank of a run.")
    parser.add_argument("--config", type=Path, required=True, help="config.json of the run")
    arguments = parser.parse_args(argv)
    try:
        config = load_config(arguments.config)
        if not config.run_dir:
            raise ValueError(refusal("run_dir", "", "the folder that the run writes into"))
        place = adopt()
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if place.world_size > 1:
        die_with_parent()
    run_dir = Path(config.run_dir)
    log = RankLog(run_dir, place.rank)
    status = Status(run_dir, rank=place.rank, host=os.environ.get("ICEFIELD_NODE") or socket.gethostname())
    try:
        run(config, place, status, log, begun)
    except Exception as error:
        failures.record(run_dir, status, error)
        log.exception(error)
        # Not by way of the interpreter's end: that waits for threads which may wait for ranks that are gone.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
    return 0


def run(config: TrainConfig, place: Place, status: Status, log: RankLog, begun: float) -> None:
    """Meet the other ranks, load, train, evaluate, save; rank 0 writes the results."""
    # Imported here, where a failure is recorded and the log is in place: torch takes seconds.
    import torch

    from icefield_train import distributed, evaluate, loop, metrics
    from icefield_train.checkpoint import save_model
    from icefield_train.data import encode
    from icefield_train.events import Events
    from icefield_train.machine import machine_facts, versions
    from icefield_train.model import load_tokenizer, new_classifier, num_parameters, silence_transformers
    from icefield_train.precision import agreed_precision
    from icefield_train.staged_data import read_about, read_rows

    run_dir, data_dir = Path(config.run_dir), Path(config.data_dir)

    def enter(phase: str) -> None:
        status.enter(phase)
        events.write("phase", phase=phase)
        log.info(f"phase {phase}")

    events = Events(run_dir, enabled=place.rank == 0)
    enter("rendezvous")
    ranks = distributed.start(place, config.deadline_rendezvous)
    machines = distributed.gather_from_ranks(ranks, machine_facts(status.host, torch.get_num_threads()))
    precision = agreed_precision(config.precision, [machine["isa"] for machine in machines])
    hosts = list(dict.fromkeys(machine["host"] for machine in machines))
    events.write(
        "start",
        run_id=config.run_id,
        task=config.task,
        model=config.model_name or config.model,
        world_size=ranks.world_size,
        hosts=hosts,
        precision=precision,
        threads=[machine["threads"] for machine in machines],
    )
    if ranks.is_main:
        write_json(run_dir / "environment.json", environment(config, machines, versions()))

    enter("load")
    distributed.set_deadline(ranks, config.deadline_step)
    silence_transformers()
    about = read_about(data_dir)
    tokenizer = load_tokenizer(config.model, config.max_length)
    train_rows = encode(read_rows(data_dir / "train.jsonl")[: config.train_rows or None], tokenizer, config.max_length)
    dev_rows = encode(read_rows(data_dir / "dev.jsonl"), tokenizer, config.max_length)
    model = new_classifier(config.model, about["labels"], config.seed)
    # The classifier is the same everywhere; what dropout leaves out is not.
    torch.manual_seed(config.seed + ranks.rank)
    steps = num_steps(config, len(train_rows))
    wrapped = distributed.parallel(ranks, model)
    events.write(
        "plan",
        steps=steps,
        epochs=config.epochs,
        global_batch_size=config.global_batch_size,
        train_rows=len(train_rows),
        dev_rows=len(dev_rows),
        parameters=num_parameters(model),
    )

    def on_step(step: Step) -> None:
        status.advance(step.step, steps)
        events.write("step", **asdict(step), steps=steps)
        if ranks.is_main:
            log.step(step, steps)

    status.advance(0, steps)
    enter("step")
    trained = loop.train(wrapped, train_rows, config, ranks, precision=precision, steps=steps, on_step=on_step)

    enter("evaluate")
    distributed.set_deadline(ranks, config.deadline_evaluate)
    evaluated = time.perf_counter()
    predictions = evaluate.predict(model, dev_rows, ranks, precision=precision, on_batch=status.touch)
    evaluate_seconds = time.perf_counter() - evaluated
    scores: dict[str, Any] = {}
    if ranks.is_main:
        scores = metrics.compute(about["metrics"], predictions.labels, predictions.predicted)
        scores["loss"] = predictions.loss
    events.write("evaluate", epoch=config.epochs, step=trained.steps, metrics=scores)

    enter("save")
    distributed.set_deadline(ranks, config.deadline_save)
    if ranks.is_main:
        size = save_model(model, tokenizer, run_dir / "model")
        events.write("save", path=str(run_dir / "model"), bytes=size)
        results = {
            **scores,
            "majority": metrics.majority(about["metrics"], predictions.labels),
            "dev_rows": len(dev_rows),
            "train_rows": len(train_rows),
            "steps": trained.steps,
            "epochs": config.epochs,
            "seed": config.seed,
            "precision": precision,
            "global_batch_size": config.global_batch_size,
            "world_size": ranks.world_size,
            "nodes": len(hosts),
            "samples_per_second": trained.samples / trained.seconds,
            "tokens_per_second": trained.tokens / trained.seconds,
            "train_seconds": trained.seconds,
            "evaluate_seconds": evaluate_seconds,
            "wall_seconds": time.time() - begun,
            "final_train_loss": trained.final_loss,
        }
        write_json(run_dir / "metrics.json", results)
    # Nobody leaves before the results are written: a failure to write them is one of the whole run.
    distributed.wait_for_ranks(ranks)
    distributed.stop(ranks)
    events.write("end", wall_seconds=time.time() - begun)
    enter("done")
