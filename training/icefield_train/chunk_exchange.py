"""Means of tensors over the ranks, sent in 16 bits and added up in 32.

Gloo and oneCCL add up in the type that they are sent, and torch's own hooks that compress gradients refuse the CPU. So
each rank owns one part of a tensor. First every rank sends each part to its owner, which adds up; then owners send the
means to all. A rank sends 2 (n - 1) / n numbers of 16 bits per number, as a ring all-reduce does (Patarasuk and Yuan
2009, doi:10.1016/j.jpdc.2008.09.002), and all ranks end with the same bits.
"""

from __future__ import annotations

import itertools
import queue
import threading
from dataclasses import dataclass, field
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.futures import Future

from icefield_train.wire import Wire


@dataclass(kw_only=True, slots=True)
class _Exchange:
    """One tensor on its way; its buffers serve again for the next of its place and size."""

    values: torch.Tensor
    parts: list[slice]
    """By owner."""
    sent: list[torch.Tensor]
    """Encoded parts by owner; the encoded means arrive in the same place."""
    received: dict[int, torch.Tensor]
    """This rank's part, as encoded by each other rank."""
    done: Future[torch.Tensor] = field(default_factory=Future)
    first: dict[int, dist.Work] = field(default_factory=dict)
    second: dict[int, dist.Work] = field(default_factory=dict)
    sends: list[dist.Work] = field(default_factory=list)


class ChunkExchange:
    """Averages tensors over the ranks of the run, beside what this process does otherwise.

    The first phase is begun by the caller and does not block. One thread completes exchanges in the order in which they
    were begun, which has to be the same on all ranks: it waits for others in the second phase. Messages carry a number,
    so that they meet their like whatever else is under way, and collectives keep their own order.

    Args:
        wire: how numbers are sent.
        timeout: how long to wait for another rank; that of the process group is for collectives alone.
        group: a group of all ranks.
    """

    def __init__(self, wire: Wire, timeout: timedelta, group: dist.ProcessGroup) -> None:
        self._wire, self._timeout, self._group = wire, timeout, group
        self._rank, self._ranks = dist.get_rank(), dist.get_world_size()
        # Each rank begins with its neighbour, so that not all send to the same.
        self._peers = [(self._rank + step) % self._ranks for step in range(1, self._ranks)]
        self._last: dict[int, _Exchange] = {}
        self._begun: queue.SimpleQueue[tuple[_Exchange, int]] = queue.SimpleQueue()
        self.failure: Exception | None = None
        """Why no exchange can be completed any more."""
        self.bytes_sent = 0
        """By this rank, so far."""
        threads, ready = torch.get_num_threads(), threading.Event()
        threading.Thread(target=self._serve, args=(ready,), name="exchange", daemon=True).start()
        ready.wait()
        # The thread took one for itself, and with it for all that come later.
        torch.set_num_threads(threads)

    def average(self, values: torch.Tensor, place: int) -> Future[torch.Tensor]:
        """Begin to replace values by their mean over the ranks; the result is there when the future is.

        Args:
            values: float32 [n], the same n on all ranks.
            place: number of the tensor in the step; one that is not under way.

        Raises:
            RuntimeError: another rank is gone.
        """
        exchange = self._new(values, place)
        for peer in self._peers:
            exchange.first[peer] = self._group.recv([exchange.received[peer]], peer, 2 * place)
        for peer in self._peers:
            self._wire.encode(values[exchange.parts[peer]], exchange.sent[peer])
            self._send(exchange, exchange.sent[peer], peer, 2 * place)
            # Into the buffer that is on its way: the owner answers when it has read it.
            exchange.second[peer] = self._group.recv([exchange.sent[peer]], peer, 2 * place + 1)
        self._begun.put((exchange, place))
        return exchange.done

    def _new(self, values: torch.Tensor, place: int) -> _Exchange:
        last = self._last.get(place)
        if last is None or last.values.numel() != values.numel():
            size, more = divmod(values.numel(), self._ranks)
            ends = [size * owner + min(owner, more) for owner in range(self._ranks + 1)]
            parts = [slice(start, end) for start, end in itertools.pairwise(ends)]
            lengths = [part.stop - part.start + self._wire.header for part in parts]
            sent = [torch.empty(length, dtype=self._wire.dtype) for length in lengths]
            received = {peer: torch.empty_like(sent[self._rank]) for peer in self._peers}
        else:
            parts, sent, received = last.parts, last.sent, last.received
        exchange = _Exchange(values=values, parts=parts, sent=sent, received=received)
        self._last[place] = exchange
        return exchange

    def _send(self, exchange: _Exchange, data: torch.Tensor, peer: int, number: int) -> None:
        exchange.sends.append(self._group.send([data], peer, number))
        self.bytes_sent += data.numel() * data.element_size()

    def _serve(self, ready: threading.Event) -> None:
        # More would compete with the calculation that goes on beside it.
        torch.set_num_threads(1)
        ready.set()
        while True:
            exchange, place = self._begun.get()
            try:
                # Where one rank is gone, nothing that follows can be completed: not to be waited for again.
                if self.failure:
                    raise self.failure
                self._complete(exchange, place)
            except Exception as error:
                self.failure = error
                exchange.done.set_exception(error)
            else:
                exchange.done.set_result(exchange.values)

    def _complete(self, exchange: _Exchange, place: int) -> None:
        mean = self._mean(exchange)
        encoded = exchange.sent[self._rank]
        self._wire.encode(mean, encoded)
        for peer in self._peers:
            self._send(exchange, encoded, peer, 2 * place + 1)
        self._wire.decode(encoded, exchange.values[exchange.parts[self._rank]])
        for peer in self._peers:
            exchange.second[peer].wait(self._timeout)
            self._wire.decode(exchange.sent[peer], exchange.values[exchange.parts[peer]])
        for work in exchange.sends:
            work.wait(self._timeout)

    def _mean(self, exchange: _Exchange) -> torch.Tensor:
        own = exchange.values[exchange.parts[self._rank]]
        total, addend = torch.zeros_like(own), torch.empty_like(own)
        # By rank, not as they come: the same sum each time.
        for rank in range(self._ranks):
            if rank == self._rank:
                total.add_(own)
            else:
                exchange.first[rank].wait(self._timeout)
                self._wire.decode(exchange.received[rank], addend)
                total.add_(addend)
        return total.mul_(1 / self._ranks)
