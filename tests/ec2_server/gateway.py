"""What stands before moto: the log of calls, the faults, and the pages under /_icefield/."""

from __future__ import annotations

import io
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from tests.ec2_server import calls, zones
from tests.ec2_server.faults import Faults

_LOG = logging.getLogger(__name__)
_REASONS = {200: "OK", 204: "No Content", 404: "Not Found", 405: "Method Not Allowed"}

WsgiApp = Callable[[dict[str, Any], Any], Iterable[bytes]]


class Gateway:
    """WSGI middleware.

    Args:
        app: moto.
        lock: held while moto works; moto's models know no threads.
        checkip: the address that the caller is told to have.
    """

    def __init__(self, app: WsgiApp, lock: threading.RLock, checkip: str) -> None:
        self._app = app
        self._lock = lock
        self._checkip = checkip
        self._calls: list[calls.Call] = []
        self._faults = Faults()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        path = environ.get("PATH_INFO", "")
        if path.startswith("/_icefield/"):
            status, content_type, answer = self._own(path, environ["REQUEST_METHOD"], body)
            start_response(f"{status} {_REASONS.get(status, '')}", _headers(content_type, answer))
            return [answer]
        call = calls.parse(environ, body)
        if call is None:
            return self._app(environ, start_response)
        return self._aws(call, environ, start_response)

    def _aws(self, call: calls.Call, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        started = time.monotonic()
        with self._lock:
            self._calls.append(call)
            fault = self._faults.take(call, zones.facts(call.params) if call.service == "ec2" else {})
            if fault and fault.kind == "error":
                _LOG.info("%s %s: fault %s", call.service, call.action, fault.code)
                content_type, answer = calls.refusal(call.service, fault.code, fault.message)
                start_response(f"{fault.status} Fault", _headers(content_type, answer))
                return [answer]
            statuses: list[str] = []

            def note(status: str, *rest: Any) -> Any:
                statuses.append(status)
                return start_response(status, *rest)

            result = list(self._app(environ, note))
        cut = " (cut)" if fault else ""
        _LOG.info("%s %s: %s%s, %.1f s", call.service, call.action, statuses[0], cut, time.monotonic() - started)
        if fault:
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            raise ConnectionAbortedError("a fault cut the connection")
        return result

    def _own(self, path: str, method: str, body: bytes) -> tuple[int, str, bytes]:
        json_type = "application/json"
        with self._lock:
            match (path.removeprefix("/_icefield/"), method):
                case ("checkip", "GET"):
                    return 200, "text/plain", f"{self._checkip}\n".encode()
                case ("calls", "GET"):
                    return 200, json_type, json.dumps([call.as_json() for call in self._calls]).encode()
                case ("calls", "DELETE"):
                    self._calls.clear()
                case ("faults", "GET"):
                    return 200, json_type, json.dumps(self._faults.as_json()).encode()
                case ("faults", "POST"):
                    try:
                        self._faults.add(json.loads(body))
                    except (TypeError, ValueError) as error:
                        return 400, "text/plain", f"{error}\n".encode()
                case ("faults", "DELETE"):
                    self._faults.clear()
                case ("calls" | "faults" | "checkip", _):
                    return 405, "text/plain", b"method not allowed\n"
                case _:
                    return 404, "text/plain", b"no such page\n"
        return 204, json_type, b""


def _headers(content_type: str, answer: bytes) -> list[tuple[str, str]]:
    return [("Content-Type", content_type), ("Content-Length", str(len(answer)))]
