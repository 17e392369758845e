"""Action espalier_clock: how far the machine's clock is from the controller's.

A module could only tell the machine's time; the round trip can be measured here alone.

Options: ``python``, the interpreter on the machine. Result: ``skew_s`` (the machine's clock minus ours) and
``within_s`` (how far off that may be). Changes nothing, also in check mode.
"""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

# Ansible puts module_utils into the path of modules, which run on nodes, and not of actions, which run here.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))

from espalier.clock_skew import Asked, clock_skew

# The first question may open the connection, so it is slow; the quickest of them counts.
_QUESTIONS = 3


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible-core has no types
    """What Ansible asks for."""

    _supports_check_mode = True
    _VALID_ARGS = frozenset(("python",))

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Ask the machine for its time, and compare.

        Raises:
            AnsibleActionFail: it answers with something else than a time.
        """
        result: dict[str, Any] = super().run(tmp, task_vars)
        python = shlex.quote(self._task.args.get("python", "python3"))
        asked = [self._ask(f"{python} -c 'import time; print(time.time())'") for _ in range(_QUESTIONS)]
        skew = clock_skew(asked)
        result.update(changed=False, skew_s=round(skew.skew_s, 3), within_s=round(skew.within_s, 3))
        return result

    def _ask(self, command: str) -> Asked:
        before_s = time.time()
        answer = self._low_level_execute_command(command, sudoable=False)
        after_s = time.time()
        try:
            return Asked(before_s, float(answer["stdout"].strip()), after_s)
        except ValueError:
            said = (answer["stdout"] + answer["stderr"]).strip()
            raise AnsibleActionFail(f"{command} was to print the time, and printed: {said}") from None
