"""Versions of launch templates, which moto 5.2.1 cannot delete."""

from __future__ import annotations

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import InvalidLaunchTemplateVersionNotFound
from moto.ec2.models.launch_templates import LaunchTemplate, LaunchTemplateVersion
from moto.ec2.responses.launch_templates import LaunchTemplates


def _get_version(self: Any, num: Any) -> Any:
    """Return a version by its number; moto takes the number for a place in the list."""
    match str(num).lower():
        case "$latest":
            return self.latest_version()
        case "$default":
            return self.default_version()
    for version in self.versions:
        if str(version.number) == str(num):
            return version
    raise InvalidLaunchTemplateVersionNotFound(template_id=self.id, version=num)


def _default_version(self: Any) -> Any:
    return _get_version(self, self.default_version_number)


def _create_version(self: Any, data: dict[str, Any], description: str) -> Any:
    # Numbers are never given twice; the newest version may have been deleted.
    self.icefield_last = getattr(self, "icefield_last", 0) + 1
    version = LaunchTemplateVersion(self, self.icefield_last, data, description)
    self.versions.append(version)
    return version


def delete_launch_template_versions(self: Any) -> ActionResult:
    """DeleteLaunchTemplateVersions."""
    backend, name = self.ec2_backend, self._get_param("LaunchTemplateName")
    template = (
        backend.get_launch_template_by_name(name)
        if name
        else backend.get_launch_template(self._get_param("LaunchTemplateId"))
    )
    asked = {int(number) for number in self._get_param("Versions", [])}
    self.error_on_dryrun()
    gone = [it for it in template.versions if it.number in asked and not template.is_default(it)]
    template.versions = [it for it in template.versions if it not in gone]
    row = {"LaunchTemplateId": template.id, "LaunchTemplateName": template.name}
    error = {"Code": "launchTemplateVersionDoesNotExist", "Message": "no such version, or the default one"}
    return ActionResult(
        {
            "SuccessfullyDeletedLaunchTemplateVersions": [{**row, "VersionNumber": it.number} for it in gone],
            "UnsuccessfullyDeletedLaunchTemplateVersions": [
                {**row, "VersionNumber": number, "ResponseError": error}
                for number in sorted(asked - {it.number for it in gone})
            ],
        }
    )


def install() -> None:
    """Teach moto to delete versions."""
    LaunchTemplate.get_version = _get_version
    LaunchTemplate.default_version = _default_version
    LaunchTemplate.create_version = _create_version
    LaunchTemplates.delete_launch_template_versions = delete_launch_template_versions
