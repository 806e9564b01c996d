"""Launch templates: what a request to run instances means once its template is laid under it."""

from __future__ import annotations

import copy
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import InvalidLaunchTemplateVersionNotFound
from moto.ec2.models.launch_templates import LaunchTemplate, LaunchTemplateVersion
from moto.ec2.responses.launch_templates import LaunchTemplates
from moto.ec2.utils import parse_user_data

# Parts in which a request changes single values of the template; of all others it replaces the whole.
_DEEP = {"MetadataOptions", "Placement", "Monitoring", "CreditSpecification", "CpuOptions"}


def merged(template: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """Return the request with the template's values where it has none of its own."""
    result = copy.deepcopy(request)
    for name, value in template.items():
        if value in (None, [], {}):
            continue
        if name == "BlockDeviceMappings":
            result[name] = _by_device(value, result.get(name) or [])
        elif name == "TagSpecifications":
            result[name] = _tags(value, result.get(name) or [])
        elif name in _DEEP and name in result:
            result[name] = value | result[name]
        else:
            result.setdefault(name, copy.deepcopy(value))
    return result


def _by_device(below: list[dict[str, Any]], above: list[dict[str, Any]]) -> list[dict[str, Any]]:
    mappings = {mapping["DeviceName"]: copy.deepcopy(mapping) for mapping in below}
    for mapping in above:
        base = mappings.get(mapping["DeviceName"], {})
        ebs = {"Ebs": base.get("Ebs", {}) | mapping["Ebs"]} if "Ebs" in mapping else {}
        mappings[mapping["DeviceName"]] = base | mapping | ebs
    return list(mappings.values())


def _tags(below: list[dict[str, Any]], above: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, str]] = {}
    for row in [*below, *above]:
        tags = found.setdefault(row["ResourceType"], {})
        tags.update({tag["Key"]: tag.get("Value", "") for tag in row.get("Tags", [])})
    found.pop("launch-template", None)
    return [
        {"ResourceType": kind, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}
        for kind, tags in found.items()
    ]


def with_root(mappings: list[dict[str, Any]], image: Any) -> list[dict[str, Any]]:
    """Return block devices with the image's root volume under them, as each instance has one."""
    own = [
        {"DeviceName": row["DeviceName"], "Ebs": {k: v for k, v in row["Ebs"].items() if k != "SnapshotId"}}
        for row in image.block_device_mappings
    ]
    return _by_device(own, mappings)


def _version(template: LaunchTemplate, number: Any) -> Any:
    """Return a version by its number; moto takes the number for a place in a list that is never shortened."""
    wanted = {"$latest": template.versions[-1].number, "$default": template.default_version_number}
    asked = wanted.get(str(number).lower(), number)
    for version in template.versions:
        if version.number == int(asked):
            return version
    raise InvalidLaunchTemplateVersionNotFound(template_id=template.id, version=number)


def _create_version(template: LaunchTemplate, data: dict[str, Any], description: str) -> Any:
    number = template.versions[-1].number + 1 if template.versions else 1
    template.versions.append(LaunchTemplateVersion(template, number, data, description))
    return template.versions[-1]


def install() -> None:
    """Let versions of a template start from another and be deleted; keep the template's own tags out of its data."""
    LaunchTemplate.get_version = _version
    LaunchTemplate.default_version = lambda self: _version(self, "$default")
    LaunchTemplate.create_version = _create_version
    create, original = LaunchTemplates.create_launch_template, LaunchTemplates.create_launch_template_version

    def create_launch_template(self: Any) -> ActionResult:
        asked = copy.deepcopy(self.params.get("LaunchTemplateData", {}).get("TagSpecifications"))
        result = create(self)
        template = self.ec2_backend.get_launch_template_by_name(self._get_param("LaunchTemplateName"))
        data = template.default_version().data
        data.pop("TagSpecifications", None)
        if asked:
            data["TagSpecifications"] = asked
        return result

    def create_launch_template_version(self: Any) -> ActionResult:
        data = self.params.setdefault("LaunchTemplateData", {})
        data["UserData"] = parse_user_data(data.get("UserData"))
        source = self.params.get("SourceVersion")
        if source:
            backend, name = self.ec2_backend, self._get_param("LaunchTemplateName")
            template = (
                backend.get_launch_template_by_name(name)
                if name
                else backend.get_launch_template(self._get_param("LaunchTemplateId"))
            )
            self.params["LaunchTemplateData"] = template.get_version(source).data | {
                key: value for key, value in data.items() if value is not None
            }
        return original(self)

    def delete_launch_template_versions(self: Any) -> ActionResult:
        template = self.ec2_backend.get_launch_template(self._get_param("LaunchTemplateId"))
        done, refused = [], []
        for number in self._get_param("Versions", []):
            row = {
                "LaunchTemplateId": template.id,
                "LaunchTemplateName": template.name,
                "VersionNumber": template.get_version(number).number,
            }
            if template.is_default(template.get_version(number)):
                error = {"Code": "operationNotPermitted", "Message": "the default version"}
                refused.append(row | {"ResponseError": error})
            else:
                done.append(row)
        gone = {row["VersionNumber"] for row in done}
        template.versions = [version for version in template.versions if version.number not in gone]
        return ActionResult(
            {
                "SuccessfullyDeletedLaunchTemplateVersions": done,
                "UnsuccessfullyDeletedLaunchTemplateVersions": refused,
            }
        )

    LaunchTemplates.delete_launch_template_versions = delete_launch_template_versions
    # moto keeps the tags of the template's first moment; the base class notes them when the object is made.
    LaunchTemplate.tags = property(lambda self: self.get_tags(), lambda self, value: None)
    LaunchTemplates.create_launch_template = create_launch_template
    LaunchTemplates.create_launch_template_version = create_launch_template_version
