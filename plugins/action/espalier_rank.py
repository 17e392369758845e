"""Ansible action: watch the rank that `espalier_rank.py start` left on a node, until it ends.

Each host's copy of this action runs in a process of its own on the controller. They tell each other of a
failure through a folder on the controller, so that when one rank fails the others are ended within seconds:
a rank that waits for a peer which never came would otherwise wait for its whole timeout.
"""

from __future__ import annotations

import json
import os
import shlex
import time
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

POLL_S = 1.0
LOST_S = 60.0
"""How long a node may be out of reach over SSH before its rank counts as lost."""
TAIL_LINES = 25

_ARGUMENTS = {"run_dir", "supervisor", "python", "lock", "signals", "timeout_s"}


GONE = "gone"


def status_command(run_dir: str) -> str:
    """The shell command that renews the lease and prints exit.json, or that nobody is left."""
    quoted = shlex.quote(run_dir)
    return (
        f"cd {quoted} && touch lease && {{ cat exit.json 2>/dev/null || "
        f'kill -0 "$(cat supervisor.pid)" 2>/dev/null || cat exit.json 2>/dev/null || echo {GONE}; }}'
    )


def last_line(text: str) -> str:
    """The last line that is not empty; a login shell may print others before it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def first_failure(signals: Path, host: str) -> dict[str, Any] | None:
    """What another host has said of its failed rank, or None."""
    for path in sorted(signals.glob("*.failed")):
        if path.name != f"{host}.failed":
            try:
                value = json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue
            if isinstance(value, dict):
                return value
    return None


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible has no types
    """The action plugin; options are those in _ARGUMENTS."""

    TRANSFERS_FILES = False
    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Wait for the rank's end; fails when its status is not 0, or another rank's was not."""
        variables = task_vars or {}
        result: dict[str, Any] = super().run(tmp, variables)
        unknown = sorted(set(self._task.args) - _ARGUMENTS)
        missing = sorted(_ARGUMENTS - set(self._task.args))
        if unknown or missing:
            raise AnsibleActionFail(f"espalier_rank: unknown options {unknown}, missing options {missing}")
        if self._task.check_mode:
            return {**result, "changed": False, "skipped": True}
        host = str(variables["inventory_hostname"])
        signals = Path(str(self._task.args["signals"]))
        signals.mkdir(parents=True, exist_ok=True)
        ended = self._watch(host, signals, float(self._task.args["timeout_s"]))
        failed = ended["status"] != 0
        if failed and not ended.get("because_of"):
            mark = {"host": host, "status": ended["status"], "reason": ended["reason"]}
            part = signals / f".{host}.part"
            part.write_text(json.dumps(mark), encoding="utf-8")
            part.replace(signals / f"{host}.failed")
        result.update(changed=True, failed=failed, rank=ended)
        if failed:
            result["msg"] = self._message(host, ended)
        return result

    def _remote(self, command: str) -> str | None:
        """Output of a command on the node, None when the node cannot be reached."""
        try:
            done = self._low_level_execute_command(command)
        except AnsibleConnectionFailure:
            return None
        return str(done["stdout"]) if done["rc"] == 0 else None

    def _watch(self, host: str, signals: Path, timeout_s: float) -> dict[str, Any]:
        """Poll until the rank has ended, has to be ended, or the node has been away for too long."""
        run_dir = str(self._task.args["run_dir"])
        began = seen = time.monotonic()
        told: dict[str, Any] = {}
        playbook = os.getppid()
        while True:
            if os.getppid() != playbook:
                # ansible-playbook was killed: whoever goes on watching keeps ranks alive that nobody wants
                return {"status": 1, "reason": "ansible-playbook was killed"}
            output = self._remote(status_command(run_dir))
            now = time.monotonic()
            if output is not None:
                seen = now
                line = last_line(output)
                if line == GONE:
                    self._stop()
                    return {"status": 137, "reason": "its supervisor was killed", **told}
                if line.startswith("{"):
                    ended: dict[str, Any] = json.loads(line)
                    # a rank that was told to end has failed, even if it then ended in order
                    return {**ended, "status": ended["status"] or 1, **told} if told else ended
            elif now - seen > LOST_S:
                return {"status": 1, "reason": f"{host} has not answered over SSH for {LOST_S:.0f} s", **told}
            if not told:
                other = first_failure(signals, host)
                if other is not None:
                    told = {
                        "because_of": other["host"],
                        "reason": f"ended because the rank on {other['host']} failed",
                    }
                elif 0 < timeout_s < now - began:
                    told = {"reason": f"it did not end within training_timeout_s = {timeout_s:.0f} s"}
                if told:
                    self._stop()
                    continue
            time.sleep(POLL_S)

    def _stop(self) -> None:
        args = self._task.args
        self._remote(shlex.join([str(args["python"]), str(args["supervisor"]), "stop", "--lock", str(args["lock"])]))

    def _message(self, host: str, ended: dict[str, Any]) -> str:
        """A sentence for people; the last lines of the log follow for the rank that failed by itself."""
        if ended.get("because_of"):
            return f"The rank on {host} was {ended['reason']}."
        log = f"{self._task.args['run_dir']}/rank.log"
        tail = self._remote(f"tail -n {TAIL_LINES} {shlex.quote(log)}")
        if tail is None:
            tail = "(the log could not be read)"
        elif not tail.strip():
            tail = "(it printed nothing)"
        reason = f" ({ended['reason']})" if ended.get("reason") else ""
        sentence = f"The rank on {host} ended with status {ended['status']}{reason}."
        return f"{sentence} End of {host}:{log}:\n{tail.rstrip()}"
