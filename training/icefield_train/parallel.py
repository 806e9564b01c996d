"""A model whose gradients are averaged over the ranks in each backward pass: torch's own wrapper, with less to send."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from icefield_train.chunk_exchange import ChunkExchange
from icefield_train.wire import wire_of

# Buckets are numbered from 0; the rows of the embeddings come behind any number of them.
_ROWS_PLACE = 1 << 20


class ParallelModel(DistributedDataParallel):
    """A model on one of several ranks.

    Args:
        module: the model; all ranks get rank 0's weights.
        wire_format: "fp32", or "bf16" or "fp16" to send gradients in half the bytes; sums are in float32 either way.
        bucket_mb: MiB of gradients that are exchanged together, while the backward pass goes on.
        timeout: how long to wait for another rank.
        group: where the ranks talk.
        embedding: name of the weights of which only the rows of a step's tokens are exchanged; "" = none. The other
            rows have no gradient on any rank, so the result is the same.

    Raises:
        ValueError: the wire format is unknown.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        *,
        timeout: timedelta,
        group: dist.ProcessGroup,
        wire_format: str = "fp32",
        bucket_mb: int = 5,
        embedding: str = "",
    ) -> None:
        wire = None if wire_format == "fp32" else wire_of(wire_format)
        if embedding:
            # Its gradient stays out of the buckets, which saves a copy of it as well.
            self._set_params_and_buffers_to_ignore_for_model(module, [embedding])
        super().__init__(
            module,
            process_group=group,
            broadcast_buffers=False,
            gradient_as_bucket_view=True,
            bucket_cap_mb=bucket_mb,
        )
        self._chunks = ChunkExchange(wire, timeout, group) if wire else None
        self._weight = module.get_parameter(embedding) if embedding else None
        self._tokens = torch.empty(0, dtype=torch.int64)
        self._ring_bytes = 0.0
        dense = [weight for weight in module.parameters() if weight.requires_grad and weight is not self._weight]
        self._dense_bytes = sum(weight.numel() * weight.element_size() for weight in dense)
        if self._weight is not None:
            dist.broadcast(self._weight.data, 0, group=group)
            owner = module.get_submodule(embedding.rpartition(".")[0])
            self._known = torch.zeros(len(self._weight), dtype=torch.bool)
            owner.register_forward_pre_hook(self._check_tokens)
        if self._chunks:
            chunks = self._chunks
            self.register_comm_hook(None, lambda state, bucket: chunks.average(bucket.buffer(), bucket.index()))

    @property
    def bytes_sent(self) -> int:
        """Bytes of gradients that this rank has sent so far, without what the network adds to them.

        Of an all-reduce they are 2 (n - 1) / n of the tensor's: gloo makes it by a ring (Patarasuk and Yuan 2009), and
        no other way, oneCCL's among them, can do with less.
        """
        return round(self._ring_bytes) + (self._chunks.bytes_sent if self._chunks else 0)

    def begin_step(self, tokens: torch.Tensor) -> None:
        """Take the tokens of a step, of all ranks, each once: int64 [tokens]."""
        if self._weight is not None:
            self._known[self._tokens] = False
            self._known[tokens] = True
            self._tokens = tokens

    @contextlib.contextmanager
    def last_pass(self) -> Iterator[None]:
        """Be the context of the last backward pass of a step; at its end all gradients are averages.

        Raises:
            RuntimeError: another rank is gone.
        """
        try:
            yield
            self._finish()
        except RuntimeError:
            # Torch's wrapper does not pass on why an exchange failed, only that there is no result.
            if self._chunks and self._chunks.failure:
                raise self._chunks.failure from None
            raise

    def _finish(self) -> None:
        if not self._chunks:
            self._count_ring(self._dense_bytes)
        if self._weight is None:
            return
        gradient = self._weight.grad
        assert gradient is not None, "the word embeddings have no gradient"
        rows = gradient.index_select(0, self._tokens)
        if self._chunks:
            self._chunks.average(rows.view(-1), _ROWS_PLACE).wait()
        else:
            # In the order in which torch's wrapper does it: on two ranks the result has the same bits.
            rows.mul_(1 / dist.get_world_size())
            dist.all_reduce(rows, group=self.process_group)
            self._count_ring(rows.numel() * rows.element_size())
        gradient.index_copy_(0, self._tokens, rows)

    def _count_ring(self, size: int) -> None:
        ranks = dist.get_world_size()
        self._ring_bytes += 2 * (ranks - 1) / ranks * size

    def _check_tokens(self, layer: torch.nn.Module, inputs: tuple[Any, ...]) -> None:
        # Gradients of words that nobody was told of would be lost in silence.
        if torch.is_grad_enabled() and not bool(self._known[inputs[0]].all()):
            raise RuntimeError("the model looks up words that the step does not have; set embedding_exchange=dense")
