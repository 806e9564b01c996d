"""An AWS call as it comes over the wire, and how AWS would refuse it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

_SCOPE = re.compile(r"Credential=[^/]+/\d+/[^/]+/([^/]+)/aws4_request")
# Neither tells one call from another.
_ENVELOPE = {"Action", "Version"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One call: parameters of the query protocol stay flat (``Placement.AvailabilityZone``, ``InstanceId.1``)."""

    service: str
    action: str
    params: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return what the log shows."""
        return {"service": self.service, "action": self.action, "params": self.params}


def parse(environ: dict[str, Any], body: bytes) -> Call | None:
    """Return the call in a request, None if it is none."""
    scope = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
    target = environ.get("HTTP_X_AMZ_TARGET", "")
    if target:
        prefix, action = target.rsplit(".", 1)
        return Call(service=scope[1] if scope else prefix.lower(), action=action, params=json.loads(body or b"{}"))
    pairs = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
    pairs = dict(parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True)) | pairs
    if "Action" not in pairs:
        return None
    params = {name: value for name, value in pairs.items() if name not in _ENVELOPE}
    return Call(service=scope[1] if scope else "ec2", action=pairs["Action"], params=params)


def refusal(service: str, code: str, message: str) -> tuple[str, bytes]:
    """Return (content type, body) of an error, in the form of the service."""
    if service == "ssm":
        return "application/x-amz-json-1.1", json.dumps({"__type": code, "message": message}).encode()
    error = f"<Error><Code>{escape(code)}</Code><Message>{escape(message)}</Message></Error>"
    request = "00000000-0000-4000-8000-000000000000"
    if service == "ec2":
        text = f"<Response><Errors>{error}</Errors><RequestID>{request}</RequestID></Response>"
    else:
        text = f"<ErrorResponse>{error}<RequestId>{request}</RequestId></ErrorResponse>"
    return "text/xml", b'<?xml version="1.0" encoding="UTF-8"?>\n' + text.encode()
