import socket
import time

import pytest

from icefield_train.control import Head, join


@pytest.fixture
def head():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    head = Head("127.0.0.1", port, "secret")
    head.port = port
    yield head
    head.close()


def soon(head, wanted):
    came = []
    until = time.monotonic() + 5
    while time.monotonic() < until and not wanted(came):
        came += head.receive(0.05)
    return came


def test_a_node_with_the_token_is_let_in_and_heard(head):
    line = join("127.0.0.1", head.port, "secret", "n-2", time.monotonic() + 5)
    line.send({"kind": "done"})
    came = soon(head, lambda came: len(came) >= 2)
    assert [(name, message["kind"]) for name, message in came] == [("n-2", "hello"), ("n-2", "done")]
    head.tell({"kind": "go"})
    until = time.monotonic() + 5
    messages = []
    while not messages and time.monotonic() < until:
        messages = line.receive()
    assert messages == [{"kind": "go"}]
    line.close()
    soon(head, lambda _: head.lines["n-2"].closed)
    assert head.lines["n-2"].closed


@pytest.mark.parametrize("words", [b'{"token": "wrong", "node": "n-2"}\n', b"GET / HTTP/1.1\n", b'"hello"\n'])
def test_a_stranger_is_turned_away(head, words):
    with socket.create_connection(("127.0.0.1", head.port)) as stranger:
        stranger.sendall(words)
        stranger.settimeout(0.05)
        until = time.monotonic() + 5
        closed = False
        while not closed and time.monotonic() < until:
            assert head.receive(0.02) == []
            try:
                closed = stranger.recv(1) == b""
            except TimeoutError:
                continue
            except ConnectionResetError:
                closed = True
    assert closed
    assert head.lines == {}


def test_a_head_that_does_not_answer_is_given_up_in_time():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with pytest.raises(TimeoutError, match=f"127.0.0.1:{port} does not answer"):
        join("127.0.0.1", port, "secret", "n-2", time.monotonic() + 0.2)
