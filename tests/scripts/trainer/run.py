# Which of two letters is the more frequent one, by a tiny BERT and Hugging Face's Trainer. Knows nothing of Icefield.
from dataclasses import dataclass, field

import numpy as np
from datasets import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
    set_seed,
)


@dataclass
class DataArguments:
    rows: int = field(default=512, metadata={"help": "training rows"})


def letters(rows, seed):
    dice = np.random.default_rng(seed)
    ids = dice.integers(3, 5, size=(rows, 9))
    labels = (ids == 4).sum(axis=1) > 4
    return Dataset.from_dict(
        {"input_ids": ids.tolist(), "attention_mask": np.ones_like(ids).tolist(), "labels": labels.astype(int).tolist()}
    )


def main():
    data_args, training_args = HfArgumentParser((DataArguments, TrainingArguments)).parse_args_into_dataclasses()
    set_seed(training_args.seed)
    config = BertConfig(
        vocab_size=8,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=16,
        num_labels=2,
    )
    trainer = Trainer(
        model=BertForSequenceClassification(config),
        args=training_args,
        train_dataset=letters(data_args.rows, 1),
        eval_dataset=letters(65, 2),
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean()),
            "rows": len(p.label_ids),
        },
    )
    before = trainer.evaluate()
    trainer.log_metrics("before", before)
    trainer.save_metrics("before", before)
    result = trainer.train()
    trainer.save_model()
    trainer.save_metrics("train", {**result.metrics, "world": training_args.world_size, "steps": result.global_step})
    trainer.save_metrics("eval", trainer.evaluate())


if __name__ == "__main__":
    main()
