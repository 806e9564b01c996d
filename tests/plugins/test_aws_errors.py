"""What AWS answers, in one line that says what to do."""

import pytest

from plugins.module_utils.aws_errors import explain, refused

botocore_exceptions = pytest.importorskip("botocore.exceptions")

ENCODED = "Encoded authorization failure message: " + "4GIOHlTkIaWHQD0Q0m6XSnuUMCm-" * 20
USER = "User: arn:aws:iam::123456789012:user/me is not authorized to perform:"


def client_error(operation, code, message):
    return botocore_exceptions.ClientError({"Error": {"Code": code, "Message": message}}, operation)


@pytest.mark.parametrize(
    ("operation", "code", "message", "missing"),
    [
        ("RunInstances", "UnauthorizedOperation", f"You are not authorized. {ENCODED}", "ec2:RunInstances is missing"),
        (
            "CreateVpc",
            "UnauthorizedOperation",
            f"You are not authorized to perform this operation. {USER} ec2:CreateVpc on resource: * because no "
            f"identity-based policy allows the ec2:CreateVpc action. {ENCODED}",
            "ec2:CreateVpc is missing (UnauthorizedOperation)",
        ),
        # The call is allowed, what it does besides is not.
        (
            "RunInstances",
            "UnauthorizedOperation",
            f"You are not authorized to perform this operation. {USER} ec2:CreateTags on resource: * because no "
            f"identity-based policy allows the ec2:CreateTags action. {ENCODED}",
            "ec2:CreateTags is missing (UnauthorizedOperation on RunInstances)",
        ),
        ("GetParameter", "AccessDeniedException", f"{USER} ssm:GetParameter on resource: x", "ssm:GetParameter is"),
        ("GetParameter", "AccessDeniedException", "no", "ssm:GetParameter is missing"),
    ],
)
def test_the_missing_permission_is_named(operation, code, message, missing):
    line = explain(client_error(operation, code, message))
    assert line.startswith("AWS: the permission ") and missing in line and line.endswith("policy that is needed")
    assert len(line) < 150


def test_the_message_of_a_module_of_amazon_aws_is_read_too():
    text = f"Failed to create security group: {client_error('CreateSecurityGroup', 'UnauthorizedOperation', ENCODED)}"
    assert "ec2:CreateSecurityGroup is missing" in refused(text)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("RequestExpired", "have expired"),
        ("ExpiredToken", "have expired"),
        ("AuthFailure", "not accepted"),
        ("AuthFailure.ServiceLinkedRoleCreationNotPermitted", "--aws-service-name spot.amazonaws.com"),
    ],
)
def test_credentials_are_told_apart_from_permissions(code, says):
    line = refused(str(client_error("RunInstances", code, "ordered by a test")))
    assert says in line and "permission" not in line


def test_what_is_no_refusal_is_told_as_aws_says_it():
    error = client_error("RunInstances", "InvalidParameterValue", "the  value\nis bad")
    assert refused(str(error)) == ""
    assert explain(error).endswith("operation: the value is bad")
    assert refused("An error occurred in the network") == ""
