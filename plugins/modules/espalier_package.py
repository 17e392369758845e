#!/usr/bin/python
"""Ansible module: this checkout's Python package as a wheel, built when its sources changed."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.espalier.package_wheel import BuildError, build, built
from ansible.module_utils.espalier.wheelhouse import exclusive

DOCUMENTATION = r"""
module: espalier_package
short_description: Builds the wheel of the package training, when its sources changed
description:
  - Runs on the controller. The same sources give the same wheel, byte by byte.
options:
  project:
    description: Folder with C(pyproject.toml), C(README.md) and the package C(training).
    type: path
    required: true
  dest:
    description: Folder for the wheel; a previous one is replaced.
    type: path
    required: true
attributes:
  check_mode:
    support: full
author:
  - The Espalier authors
"""

EXAMPLES = r"""
- name: Build the package
  espalier_package:
    project: /home/me/espalier
    dest: /home/me/espalier/build/package
"""

RETURN = r"""
complete:
  description: The wheel is there. False only in check mode.
  returned: success
  type: bool
wheel:
  description: Its file, name, version, hash and size in bytes.
  returned: when complete
  type: dict
"""


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "project": {"type": "path", "required": True},
            "dest": {"type": "path", "required": True},
        },
        supports_check_mode=True,
    )
    project, dest = Path(module.params["project"]), Path(module.params["dest"])
    wheel = built(project, dest)
    if wheel is not None:
        module.exit_json(changed=False, complete=True, wheel=dataclasses.asdict(wheel))
    if module.check_mode:
        module.exit_json(changed=True, complete=False, wheel=None)
    try:
        with exclusive(dest):
            wheel = built(project, dest) or build(project, dest)
    except BuildError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=True, complete=True, wheel=dataclasses.asdict(wheel))


if __name__ == "__main__":
    main()
