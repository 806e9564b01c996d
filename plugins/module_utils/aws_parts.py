"""Parts of a cluster on EC2: found by their tag, made with it, removed; what was changed is noted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from ansible_collections.amazon.aws.plugins.module_utils.retries import AWSRetry

try:
    from ansible.module_utils import aws_errors, aws_instances
except ImportError:
    from plugins.module_utils import aws_errors, aws_instances

# Where botocore is missing, AnsibleAWSModule says so.
with contextlib.suppress(ImportError):
    from botocore.exceptions import BotoCoreError, ClientError


class Parts:
    """Calls of EC2 for the module of one kind of part.

    Throttling, and what EC2 does not know yet, are retried with back-off. Modules of amazon.aws that swallow AWS's
    reason for a refusal (security groups, volumes, images) have such a module in their place.

    Args:
        module: an AnsibleAWSModule with the parameter ``cluster``, and ``tags`` where something is made.
        retry: more codes of errors that pass by themselves.
    """

    def __init__(self, module: Any, retry: tuple[str, ...] = ()) -> None:
        self.p = module.params
        self.check_mode = module.check_mode
        self.changed = False
        codes = [*aws_errors.NOT_YET, *retry]
        self.ec2 = module.client(
            "ec2", retry_decorator=AWSRetry.jittered_backoff(retries=8, catch_extra_error_codes=codes)
        )

    def ask(self, call: str, answer: str, **arguments: Any) -> list[dict[str, Any]]:
        """Return a list out of an answer."""
        return list(getattr(self.ec2, call)(aws_retry=True, **arguments)[answer])

    def found(self, call: str, answer: str, *filters: dict[str, Any], **arguments: Any) -> list[dict[str, Any]]:
        """Return the cluster's own of one kind."""
        mine = {"Name": f"tag:{aws_instances.CLUSTER_TAG}", "Values": [self.p["cluster"]]}
        return self.ask(call, answer, Filters=[mine, *filters], **arguments)

    def do(self, call: str, **arguments: Any) -> dict[str, Any]:
        """Make a call that changes something; {} in check mode, in which nothing is changed."""
        self.changed = True
        return {} if self.check_mode else dict(getattr(self.ec2, call)(aws_retry=True, **arguments))

    def make(self, call: str, *kinds: str, name: str = "", **arguments: Any) -> dict[str, Any]:
        """Make a part, of one kind or several at once, with its tags from the first moment on."""
        tags = aws_instances.tag_list({"Name": name or f"icefield-{self.p['cluster']}", **self.p["tags"]})
        return self.do(call, TagSpecifications=[{"ResourceType": kind, "Tags": tags} for kind in kinds], **arguments)


def carry_out(module: Any, parts: Parts, work: Callable[[], dict[str, Any] | None]) -> None:
    """Do the work of a module and end it: with the results, or with one line that says what went wrong."""
    if module.check_mode and module.params["state"] == "present":
        # One step needs the ids of the one before.
        module.exit_json(changed=True)
    try:
        result = work() or {}
    except (BotoCoreError, ClientError) as error:
        module.fail_json(msg=aws_errors.explain(error))
    module.exit_json(changed=parts.changed, **result)
