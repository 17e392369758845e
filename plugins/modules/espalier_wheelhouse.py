#!/usr/bin/python
"""Ansible module: a hash-checked wheelhouse for one platform and Python version, on the controller."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.espalier.wheel_lock import LockError, Pin
from ansible.module_utils.espalier.wheelhouse import (
    Target,
    bundle,
    current_lock,
    exclusive,
    fetch,
    inspect,
    load_lock,
    project_dependencies,
)

DOCUMENTATION = r"""
module: espalier_wheelhouse
short_description: Fetches the wheels of a lock file, once, for all nodes of one platform
description:
  - Runs on the controller. Every wheel must have the hash that the lock file names.
  - Without a lock file, the first run resolves C(pyproject.toml) under C(constraints.txt) and writes one.
options:
  project:
    description: Folder with C(pyproject.toml) and C(constraints.txt).
    type: path
    required: true
  lock:
    description: The lock file.
    type: path
    required: true
  shipped:
    description: The lock belongs to the project; it is never written here.
    type: bool
    default: false
  dest:
    description: Folder of the wheelhouse; wheels that are not in the lock are removed from it.
    type: path
    required: true
  platforms:
    description: Wheel platform tags that the nodes accept, the best one first.
    type: list
    elements: str
    required: true
  python_version:
    description: CPython version of the nodes, such as C(3.12).
    type: str
    required: true
  index_args:
    description: More arguments for C(pip download), such as C(--index-url).
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: full
author:
  - The Espalier authors
"""

EXAMPLES = r"""
- name: Fetch the wheels
  espalier_wheelhouse:
    project: /home/me/espalier
    lock: /home/me/espalier/files/wheels/macosx_14_0_arm64-cp312.lock
    shipped: true
    dest: /home/me/espalier/build/wheelhouse/macosx_14_0_arm64-cp312
    platforms: [macosx_14_0_arm64]
    python_version: "3.12"
"""

RETURN = r"""
complete:
  description: All wheels of the lock are there. False only in check mode.
  returned: success
  type: bool
bundle:
  description: Path of one archive of all wheels. Empty in check mode.
  returned: success
  type: str
wheels:
  description: The files, with their name, version, hash and size in bytes.
  returned: success
  type: list
  elements: dict
"""


def answer(changed: bool, complete: bool, wheels: dict[str, Any], archive: str = "") -> dict[str, Any]:
    """The module's return values."""
    files = [dataclasses.asdict(wheels[name]) for name in sorted(wheels)]
    return {"changed": changed, "complete": complete, "wheels": files, "bundle": archive}


def preview(lock: Path, dest: Path) -> dict[str, Any]:
    """What a real run would find, without writing anything."""
    pins: dict[str, Pin] = load_lock(lock) or {}
    found, _ = inspect(dest, pins)
    complete = bool(pins) and len(found) == len(pins)
    return answer(not complete, complete, found)


def ensure(params: dict[str, Any]) -> dict[str, Any]:
    """Make lock and wheelhouse what they should be."""
    project, lock, dest = (Path(params[key]) for key in ("project", "lock", "dest"))
    target = Target(tuple(params["platforms"]), params["python_version"], tuple(params["index_args"]))
    requirements = project_dependencies(project / "pyproject.toml")
    constraints = (project / "constraints.txt").read_text(encoding="utf-8")
    with exclusive(dest):
        before = {path.name for path in dest.glob("*.whl")}
        pins, written = current_lock(lock, requirements, constraints, target, dest, not params["shipped"])
        wheels = fetch(pins, target, dest)
        archive = bundle(dest, wheels)
        after = {path.name for path in dest.glob("*.whl")}
    return answer(written or before != after, True, wheels, str(archive))


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "project": {"type": "path", "required": True},
            "lock": {"type": "path", "required": True},
            "shipped": {"type": "bool", "default": False},
            "dest": {"type": "path", "required": True},
            "platforms": {"type": "list", "elements": "str", "required": True},
            "python_version": {"type": "str", "required": True},
            "index_args": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    try:
        if module.check_mode:
            result = preview(Path(module.params["lock"]), Path(module.params["dest"]))
        else:
            result = ensure(module.params)
    except LockError as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
