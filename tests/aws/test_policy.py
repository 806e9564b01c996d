"""docs/aws.md has the least policy: what the playbooks ask of AWS, no more and no less."""

import json
import re
from pathlib import Path

import pytest

from .cloud import ROOT, Step

TAG = "icefield:cluster"


def as_list(value):
    return value if isinstance(value, list) else [value]


@pytest.fixture(scope="module")
def statements():
    text = Path(ROOT / "docs/aws.md").read_text()
    (block,) = [block for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL) if '"Statement"' in block]
    return {statement["Sid"]: statement for statement in json.loads(block)["Statement"]}


@pytest.fixture(scope="module")
def calls(stories):
    """All calls of both stories: both kinds of network, spot, a stopped node, an image, growth, shrinking, removal."""
    steps = [step for story in stories.values() for step in story.values() if isinstance(step, Step)]
    return [call for step in steps for call in step.calls]


def test_the_policy_allows_what_is_asked_and_nothing_else(statements, calls):
    allowed = {action for statement in statements.values() for action in as_list(statement["Action"])}
    assert allowed == {f"{call['service']}:{call['action']}" for call in calls}
    assert {statement["Effect"] for statement in statements.values()} == {"Allow"}


def test_the_policy_fits_into_one(statements):
    # A managed policy has 6,144 characters at most, white space not counted.
    assert len(re.sub(r"\s", "", json.dumps(list(statements.values())))) < 6000


def test_what_must_have_the_tag_gets_it_when_it_is_made(statements, calls):
    made = {action.split(":")[1] for action in statements["MakeWithTheTag"]["Action"]}
    assert {f"ec2:{action}" for action in made} == set(statements["MakeWithTheTag"]["Action"])
    assert made == set(statements["TagWhatIsBeingMade"]["Condition"]["StringEquals"]["ec2:CreateAction"])
    for call in calls:
        if call["action"] in made:
            params = call["params"]
            kinds = {
                name.split(".")[1] for name in params if re.fullmatch(r"TagSpecification\.\d+\.ResourceType", name)
            }
            marked = {name.split(".")[1] for name, value in params.items() if name.endswith(".Key") and value == TAG}
            assert kinds == marked != set(), call


def test_only_templates_are_tagged_later(statements, calls):
    assert as_list(statements["TagATemplateAnew"]["Resource"]) == ["arn:aws:ec2:*:*:launch-template/*"]
    tagged = [call["params"] for call in calls if call["action"] == "CreateTags"]
    assert {params["ResourceId.1"][:3] for params in tagged} == {"lt-"}


def test_whatever_changes_or_removes_is_bound_to_the_tag(statements):
    bound = {"Null": {f"aws:ResourceTag/{TAG}": "false"}}
    assert statements["UseAndRemoveWhatHasTheTag"]["Condition"] == bound
    free = {
        action
        for statement in statements.values()
        if "Condition" not in statement
        for action in as_list(statement["Action"])
    }
    harmless = re.compile(r"ec2:Describe\w+|ssm:GetParameter|ec2:(CreateSecurityGroup|RunInstances)")
    assert [action for action in free if not harmless.fullmatch(action)] == []
