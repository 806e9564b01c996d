#!/usr/bin/python
"""Ansible module: remove the images and environments that clusters on this machine started from."""

from __future__ import annotations

DOCUMENTATION = r"""
module: podman_purge
short_description: Remove Icefield's images and environment volumes that no container uses
options:
  cluster:
    description: Only nodes' images and environments that this cluster built; empty = all, base images too.
    type: str
    default: ""
  stack:
    description: With O(cluster), only those of this stack.
    type: str
    default: ""
  keep_env:
    description: The environment's volume that stays, with its image.
    type: str
    default: ""
author: Icefield
"""

RETURN = r"""
removed:
  description: Names of what was removed.
  returned: always
  type: list
kept:
  description: Names of what containers still use.
  returned: always
  type: list
"""

import json
import re

from ansible.module_utils.basic import AnsibleModule


def listed(module: AnsibleModule, podman: str, *args: str) -> list[dict[str, object]]:
    """Return the rows of a podman list command."""
    code, out, err = module.run_command([podman, *args, "--format", "json"])
    if code != 0:
        module.fail_json(msg=err.strip())
    return list(json.loads(out or "[]") or [])


def concerned(env: str, cluster: str, stack: str, keep_env: str) -> bool:
    """Tell whether an image with this environment, or the environment itself, is to go."""
    if cluster and not re.fullmatch(f"{re.escape(cluster)}-env-{re.escape(stack)}-[0-9a-f]+", env):
        return False
    return not keep_env or env != keep_env


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "cluster": {"type": "str", "default": ""},
            "stack": {"type": "str", "default": ""},
            "keep_env": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    which = (module.params["cluster"], module.params["stack"], module.params["keep_env"])
    podman = module.get_bin_path("podman")
    if podman is None:
        module.exit_json(changed=False, removed=[], kept=[])
    removed: list[str] = []
    kept: list[str] = []
    in_use = {str(row["ImageID"]) for row in listed(module, podman, "ps", "--all")}
    for image in listed(module, podman, "images", "--filter", "label=icefield.kind"):
        labels = image.get("Labels") or {}
        assert isinstance(labels, dict)
        if not concerned(str(labels.get("icefield.env", "")), *which):
            continue
        names = image.get("Names") or [image["Id"]]
        assert isinstance(names, list)
        for name in names:
            if str(image["Id"]) in in_use:
                kept.append(str(name))
                continue
            if not module.check_mode:
                code, _, _ = module.run_command([podman, "rmi", str(name)])
                if code != 0:
                    kept.append(str(name))
                    continue
            removed.append(str(name))
    for volume in listed(module, podman, "volume", "ls", "--filter", "label=icefield.kind=env"):
        name = str(volume["Name"])
        if not concerned(name, *which):
            continue
        code = 0 if module.check_mode else module.run_command([podman, "volume", "rm", name])[0]
        (removed if code == 0 else kept).append(name)
    module.exit_json(changed=bool(removed), removed=removed, kept=kept)


if __name__ == "__main__":
    main()
