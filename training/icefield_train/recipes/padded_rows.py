"""Rows as a stock data loader takes them: each padded to the same length, beforehand."""

from __future__ import annotations

import torch
from torch.nn import functional

from icefield_train.data import EncodedRows
from icefield_train.objectives import OBJECTIVES


class PaddedRows(torch.utils.data.Dataset):
    """Rows as dictionaries of the model's inputs, int64 [length] each, and "labels", as the model's loss takes them."""

    def __init__(self, rows: EncodedRows, length: int) -> None:
        self._rows, self._length = rows, length
        self._padding = {**rows.padding, "attention_mask": 0}

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, row: int) -> dict[str, torch.Tensor]:
        inputs = self._rows.inputs([row])
        found = {
            name: functional.pad(values[0], (0, self._length - values.shape[1]), value=self._padding[name])
            for name, values in inputs.items()
        }
        return {**found, "labels": OBJECTIVES[self._rows.kind].labels(self._rows, [row])[0]}
