"""One loaded job: what happened to it, and when it must start again. It decides; others act."""

from __future__ import annotations

from typing import Any

from macsim.launchd.spec import Spec

# A booted-out job stays known for a while after its process ended; a bootstrap in that time fails with 5.
TEARDOWN_RUNNING_S = 1.0
TEARDOWN_IDLE_S = 0.3
# launchd gives this status to a job whose program or files cannot be opened (sysexits.h, EX_CONFIG).
EX_CONFIG = 78


class Job:
    """A job and its history since it was loaded.

    Attributes:
        spec: What the property list says.
        pid: Its process, 0 when it does not run.
        runs: How often it was started.
        exit_code: How the last process ended: its status, or minus the signal; None before the first end.
        started_s: When the last process was started.
        start_s: When it must be started, or None.
        kill_s: When SIGKILL follows SIGTERM, or None.
        remove_s: When it is forgotten, or None.
        leaving: Whether it was booted out.
    """

    def __init__(self, spec: Spec, now_s: float) -> None:
        self.spec = spec
        self.pid = 0
        self.runs = 0
        self.exit_code: int | None = None
        self.started_s = float("-inf")
        self.kill_s: float | None = None
        self.remove_s: float | None = None
        self.leaving = False
        self.start_s: float | None = now_s if spec.starts_by_itself else None
        self._interval_from_s = now_s
        if self.start_s is None:
            self._schedule_interval(now_s)

    def _schedule_interval(self, now_s: float) -> None:
        if self.spec.interval_s <= 0:
            return
        passed = int((now_s - self._interval_from_s) // self.spec.interval_s) + 1
        self.start_s = self._interval_from_s + passed * self.spec.interval_s

    def started(self, pid: int, now_s: float) -> None:
        """Note that a process was started; pid 0 means that it could not be, which counts as status 78."""
        self.runs += 1
        self.started_s = now_s
        self.start_s = None
        self.pid = pid
        if pid == 0:
            self.ended(EX_CONFIG, now_s)

    def ended(self, code: int, now_s: float) -> None:
        """Note how the process ended, and decide when the next one starts."""
        self.pid = 0
        self.exit_code = code
        self.kill_s = None
        if self.leaving:
            self.remove_s = now_s + TEARDOWN_RUNNING_S
            return
        again = {
            "always": True,
            "never": False,
            "successful": code == 0,
            "unsuccessful": code != 0,
            "crashed": code < 0,
        }[self.spec.keep_alive]
        if self.start_s is not None:
            return  # a kickstart is waiting
        if again:
            self.start_s = max(now_s, self.started_s + self.spec.throttle_s)
        else:
            self._schedule_interval(now_s)

    def leave(self, now_s: float) -> bool:
        """Boot the job out; return whether its process must get SIGTERM."""
        self.leaving = True
        self.start_s = None
        if self.pid:
            self.kill_s = now_s + self.spec.exit_timeout_s
            return True
        self.remove_s = now_s + TEARDOWN_IDLE_S
        return False

    @property
    def state(self) -> str:
        """The state in the words of `launchctl print`."""
        if self.pid:
            return "SIGTERMed" if self.leaving else "running"
        if self.leaving:
            return "exited"
        waiting = self.start_s is not None and (self.spec.keep_alive != "never" or self.runs == 0)
        return "spawn scheduled" if waiting and self.spec.starts_by_itself else "not running"

    def next_event_s(self) -> float | None:
        """Return when something must be done with this job, or None."""
        times = [time_s for time_s in (self.start_s, self.kill_s, self.remove_s) if time_s is not None]
        return min(times, default=None)

    def view(self) -> dict[str, Any]:
        """Return what launchctl is told about this job."""
        return {
            "spec": self.spec._asdict(),
            "pid": self.pid,
            "runs": self.runs,
            "exit_code": self.exit_code,
            "state": self.state,
        }
