"""What went wrong with a call of AWS, in one line."""

from __future__ import annotations

import re
from typing import Any

# Codes of https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
EXPIRED = ("ExpiredToken", "ExpiredTokenException", "RequestExpired")
WRONG = ("AuthFailure", "InvalidClientTokenId", "SignatureDoesNotMatch", "UnrecognizedClientException")
DENIED = ("UnauthorizedOperation", "AccessDenied", "AccessDeniedException")
NO_SPOT_ROLE = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
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
# What has just been made may not be known everywhere yet; EC2's documentation says to ask again (eventual consistency).
NOT_YET = [
    "InvalidInstanceID.NotFound",
    "InvalidGroup.NotFound",
    "InvalidKeyPair.NotFound",
    "InvalidLaunchTemplateId.NotFound",
    "InvalidPlacementGroup.Unknown",
    "InvalidSubnetID.NotFound",
    "InvalidVpcID.NotFound",
    "InvalidInternetGatewayID.NotFound",
    "InvalidRouteTableID.NotFound",
]
# Calls that are not EC2's own.
SERVICES = {"GetParameter": "ssm", "GetCallerIdentity": "sts"}
# How botocore words an answer that is an error.
_ANSWER = re.compile(r"An error occurred \((?P<code>[\w.]+)\) when calling the (?P<operation>\w+) operation")
# How AWS names what is missing. It need not be the call: RunInstances with tags takes ec2:CreateTags too.
_PERMISSION = re.compile(r"not authorized to perform: (?P<name>[a-z0-9-]+:\w+)")


def code_of(error: BaseException) -> str:
    """Return AWS's own code of an error, '' where there is none."""
    response: dict[str, Any] = getattr(error, "response", None) or {}
    return str(response.get("Error", {}).get("Code", ""))


def refused(text: str) -> str:
    """Return one line for a message with AWS's answer about credentials or permissions, '' for any other message."""
    answer = _ANSWER.search(text)
    if answer is None:
        return ""
    code, operation = answer["code"], answer["operation"]
    if code in EXPIRED:
        return f"AWS: the credentials have expired ({code} on {operation}); renew them and run again"
    if code in WRONG:
        return f"AWS: the credentials are not accepted ({code} on {operation}); check AWS_ACCESS_KEY_ID or aws_profile"
    if code == NO_SPOT_ROLE:
        return (
            "AWS: the account has no role for spot instances, and these credentials may not make it; "
            "have it made once: aws iam create-service-linked-role --aws-service-name spot.amazonaws.com"
        )
    if code in DENIED:
        named = _PERMISSION.search(text)
        missing = named["name"] if named else f"{SERVICES.get(operation, 'ec2')}:{operation}"
        on = "" if missing.endswith(f":{operation}") else f" on {operation}"
        return f"AWS: the permission {missing} is missing ({code}{on}); docs/aws.md has the policy that is needed"
    return ""


def explain(error: BaseException) -> str:
    """Return one line: what failed, why, and what to do about it."""
    text = " ".join(str(error).split())
    if line := refused(text):
        return line
    name = type(error).__name__
    if name in ("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError"):
        return "AWS: no credentials are found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or aws_profile"
    if name == "ProfileNotFound":
        found = re.search(r"\(([^)]*)\)", text)
        return f"setting 'aws_profile': value '{found[1] if found else ''}' is not accepted; give a profile of ~/.aws"
    if name in ("EndpointConnectionError", "ConnectTimeoutError", "ConnectionClosedError", "ReadTimeoutError"):
        return f"AWS: the endpoint did not answer ({text}); check the network and aws_region"
    return f"AWS: {text}"
