#!/usr/bin/python
"""Ansible module: a job of launchd's system domain, installed, loaded, and seen to be the wanted one."""

from __future__ import annotations

import os
import plistlib
from collections.abc import Sequence

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.espalier.launchd_control import LaunchdError, LaunchdJob, Plan, property_list

DOCUMENTATION = r"""
module: launchd_job
short_description: A job of launchd's system domain
description:
  - Writes C(/Library/LaunchDaemons/<label>.plist), owned by root:wheel and checked by plutil, and loads it.
  - A job that is loaded and as defined is left alone. Otherwise the old one is booted out, launchd is asked
    until it is gone, and the new one is bootstrapped, again while launchd answers that it is busy (5).
  - Afterwards launchd is asked whether the job that it has is the one of the new property list.
  - A label that is loaded from another place is refused.
options:
  label:
    description: Label of the job.
    type: str
    required: true
  definition:
    description: The property list, without C(Label). Needed with O(state=present).
    type: dict
  state:
    description: Whether the job is installed and loaded, or gone.
    type: str
    choices: [present, absent]
    default: present
  restart:
    description:
      - With O(state=present), start the job's process anew where the job was already as defined; for a
        handler whose reason is a file that the job reads.
    type: bool
    default: false
  timeout_s:
    description: How long to wait for launchd at each step, in seconds.
    type: float
    default: 30.0
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
author:
  - The Espalier authors
"""

EXAMPLES = r"""
- name: Install the job
  launchd_job:
    label: dev.espalier.example
    definition:
      ProgramArguments: [/usr/local/libexec/espalier-example, --quiet]
      RunAtLoad: true
      StartInterval: 60

- name: Remove the job
  launchd_job:
    label: dev.espalier.example
    state: absent
"""

RETURN = r"""
path:
  description: The property list.
  returned: always
  type: str
reasons:
  description: Why something was changed, or would be in check mode.
  returned: always
  type: list
  elements: str
"""


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "label": {"type": "str", "required": True},
            "definition": {"type": "dict"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "restart": {"type": "bool", "default": False},
            "timeout_s": {"type": "float", "default": 30.0},
        },
        required_if=[("state", "present", ["definition"])],
        supports_check_mode=True,
    )
    wanted = module.params
    definition = wanted["definition"] or {}

    def run(command: Sequence[str]) -> tuple[int, str, str]:
        status, out, err = module.run_command(list(command))
        return int(status), str(out), str(err)

    job = LaunchdJob(wanted["label"], run, float(wanted["timeout_s"]))
    present = wanted["state"] == "present"
    try:
        if os.geteuid() != 0 and not module.check_mode:
            raise LaunchdError(f"{job.target}: only root may change the system domain; add become: true.")
        plan = job.plan_present(definition) if present else job.plan_absent()
        before = job.installed()
        after = before
        if plan.write:
            after = property_list(job.label, definition)
        elif plan.delete:
            after = None
        restart = present and wanted["restart"] and not plan.load
        if not module.check_mode:
            job.carry_out(plan, definition)
            if restart:
                job.restart()
    except LaunchdError as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=plan.changes or restart,
        path=str(job.path),
        reasons=list(plan.reasons) + (["a restart was asked for"] if restart else []),
        diff=_diff(job, plan, before, after),
    )


def _diff(job: LaunchdJob, plan: Plan, before: bytes | None, after: bytes | None) -> list[dict[str, str]]:
    """The property list before and after, and what launchd is told."""
    texts = [
        {
            "before_header": str(job.path),
            "after_header": str(job.path),
            "before": _text(before),
            "after": _text(after),
        }
    ]
    verbs = [
        verb for verb, wanted in (("bootout", plan.unload), ("enable", plan.enable), ("bootstrap", plan.load)) if wanted
    ]
    if verbs:
        texts.append({"prepared": f"launchctl {', '.join(verbs)} {job.target}: {'; '.join(plan.reasons)}\n"})
    return texts


def _text(content: bytes | None) -> str:
    """A property list as text; a binary one is converted."""
    if content is None:
        return ""
    if content.startswith(b"bplist"):
        try:
            content = plistlib.dumps(plistlib.loads(content), sort_keys=True)
        except plistlib.InvalidFileException:
            return "a binary property list that does not parse\n"
    return content.decode("utf-8", "replace")


if __name__ == "__main__":
    main()
