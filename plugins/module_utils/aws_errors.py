"""What went wrong with a call of AWS, in one line."""

from __future__ import annotations

import re
from typing import Any

# Codes of https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
EXPIRED = ("ExpiredToken", "ExpiredTokenException", "RequestExpired")
WRONG = ("AuthFailure", "InvalidClientTokenId", "SignatureDoesNotMatch", "UnrecognizedClientException")
DENIED = ("UnauthorizedOperation", "AccessDenied", "AccessDeniedException")
# No room for what is asked, so that another type, zone or market may do.
CAPACITY = (
    "InsufficientInstanceCapacity",
    "InsufficientHostCapacity",
    "InsufficientReservedInstanceCapacity",
    "MaxSpotInstanceCountExceeded",
    "SpotMaxPriceTooLow",
    "VcpuLimitExceeded",
    "InstanceLimitExceeded",
    "Unsupported",
)


def code_of(error: BaseException) -> str:
    """Return AWS's own code of an error, '' where there is none."""
    response: dict[str, Any] = getattr(error, "response", None) or {}
    return str(response.get("Error", {}).get("Code", ""))


def explain(error: BaseException) -> str:
    """Return one line: what failed, why, and what to do about it."""
    code, operation = code_of(error), getattr(error, "operation_name", "")
    text = " ".join(str(error).split())
    if code in EXPIRED:
        return f"AWS: the credentials have expired ({code} on {operation}); renew them and run again"
    if code in WRONG:
        return f"AWS: the credentials are not accepted ({code} on {operation}); check AWS_ACCESS_KEY_ID or aws_profile"
    if code in DENIED:
        return f"AWS: the permission ec2:{operation} is missing ({code}); docs/aws.md has the policy that is needed"
    name = type(error).__name__
    if name in ("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError"):
        return "AWS: no credentials are found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or aws_profile"
    if name == "ProfileNotFound":
        found = re.search(r"\(([^)]*)\)", text)
        return f"setting 'aws_profile': value '{found[1] if found else ''}' is not accepted; give a profile of ~/.aws"
    if name in ("EndpointConnectionError", "ConnectTimeoutError", "ConnectionClosedError", "ReadTimeoutError"):
        return f"AWS: the endpoint did not answer ({text}); check the network and aws_region"
    return f"AWS: {text}"
