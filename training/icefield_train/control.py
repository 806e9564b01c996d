"""The line between the supervisors of a run: one TCP connection from each node to the head, messages as lines of JSON.

It carries heartbeats, so that a node that is gone is missed within seconds, whatever its ranks are doing.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import selectors
import socket
import time
from typing import Any

Message = dict[str, Any]

BEAT_EVERY = 0.5
# Seconds without a heartbeat after which a node counts as lost. Nodes with a small share of a core are slow to answer.
SILENCE = 5.0


class Line:
    """One connection to a peer."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        # Beats are small and must not wait for one another.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = connection
        self.peer = ""
        self.closed = False
        self.heard = time.monotonic()
        self._beaten = 0.0
        self._buffer = b""

    def send(self, message: Message) -> None:
        """Send a message; a peer that is gone is found by reading, not here."""
        try:
            # Messages are far below a socket's buffer, so that a live peer takes each whole.
            self.socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            self.closed = True

    def beat(self) -> None:
        """Send a heartbeat when one is due."""
        if not self.closed and time.monotonic() - self._beaten >= BEAT_EVERY:
            self._beaten = time.monotonic()
            self.send({"kind": "beat"})

    def receive(self) -> list[Message]:
        """Return the messages that have come in; marks the line closed at its end."""
        try:
            while not self.closed:
                chunk = self.socket.recv(65536)
                self.closed = self.closed or not chunk
                self._buffer += chunk
        except BlockingIOError:
            pass
        except OSError:
            self.closed = True
        *lines, self._buffer = self._buffer.split(b"\n")
        messages: list[Message] = []
        for line in lines:
            self.heard = time.monotonic()
            message = _parse(line)
            if message is None:
                # Whoever talks like this is none of ours.
                self.closed = True
                break
            if message["kind"] != "beat":
                messages.append(message)
        return messages

    @property
    def silent_for(self) -> float:
        """Seconds since the peer was last heard."""
        return time.monotonic() - self.heard

    def close(self) -> None:
        """Close the connection."""
        self.closed = True
        self.socket.close()


def _parse(line: bytes) -> Message | None:
    """Return the message of a line, or None where it is none."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) and "kind" in message else None


class Head:
    """The head's side: a listener and the lines of the other nodes, which prove by the run's token that they belong."""

    def __init__(self, address: str, port: int, token: str) -> None:
        self._token = token
        self._listener = socket.create_server((address, port), backlog=128)
        self._listener.setblocking(False)
        self._strangers: list[Line] = []
        self.lines: dict[str, Line] = {}

    def receive(self, timeout: float) -> list[tuple[str, Message]]:
        """Wait up to ``timeout`` seconds for something, and return what came, each with the node's name."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            for line in (*self._strangers, *self.lines.values()):
                if not line.closed:
                    selector.register(line.socket, selectors.EVENT_READ)
            selector.select(timeout)
        with contextlib.suppress(BlockingIOError):
            while True:
                self._strangers.append(Line(self._listener.accept()[0]))
        came: list[tuple[str, Message]] = []
        for line in list(self._strangers):
            came += self._introduce(line)
        for name, line in self.lines.items():
            came += [(name, message) for message in line.receive()]
        return came

    def _introduce(self, line: Line) -> list[tuple[str, Message]]:
        messages = line.receive()
        if messages:
            self._strangers.remove(line)
            hello = messages[0]
            if secrets.compare_digest(str(hello.get("token", "")).encode(), self._token.encode()):
                line.peer = str(hello.get("node", ""))
                self.lines[line.peer] = line
                return [(line.peer, message) for message in messages]
            line.close()
        elif line.closed or line.silent_for > SILENCE:
            self._strangers.remove(line)
            line.close()
        return []

    def tell(self, message: Message) -> None:
        """Send a message to all nodes."""
        for line in self.lines.values():
            line.send(message)

    def beat(self) -> None:
        """Send the heartbeats that are due."""
        for line in self.lines.values():
            line.beat()

    def close(self) -> None:
        """Close listener and lines."""
        self._listener.close()
        for line in [*self._strangers, *self.lines.values()]:
            line.close()


def join(address: str, port: int, token: str, node: str, deadline: float) -> Line:
    """Connect a node to its head, trying until ``deadline`` (of ``time.monotonic``).

    Raises:
        TimeoutError: the head did not answer in time.
    """
    while True:
        try:
            line = Line(socket.create_connection((address, port), timeout=2))
        except OSError as error:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the head's supervisor at {address}:{port} does not answer ({error})") from error
            time.sleep(0.1)
        else:
            line.send({"kind": "hello", "token": token, "node": node})
            return line
