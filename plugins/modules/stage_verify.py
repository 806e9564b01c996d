#!/usr/bin/python
"""Ansible module: verify folders that were copied to a node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: stage_verify
short_description: Compare staged folders with the digests under which they were staged
options:
  stage_dir:
    description: Folder of staged files.
    type: path
    required: true
  trees:
    description: Staged folders, each with C(kind) and C(digest).
    type: list
    elements: dict
    required: true
author: Icefield
"""

RETURN = r"""
verified:
  description: Number of folders whose content is as expected.
  returned: always
  type: int
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

try:
    from ansible.module_utils import staging
except ImportError:  # imported by tests, from the checkout
    from plugins.module_utils import staging


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "stage_dir": {"type": "path", "required": True},
            "trees": {"type": "list", "elements": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=True, verified=0)
    try:
        for tree in module.params["trees"]:
            staging.verify(Path(module.params["stage_dir"]), tree)
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(module.params["trees"]), verified=len(module.params["trees"]))


if __name__ == "__main__":
    main()
