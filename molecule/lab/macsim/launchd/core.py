"""launchd without its socket: requests in, answers out, and what to do as time passes."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from macsim.core import oids, state
from macsim.core.context import Context
from macsim.launchd.job import Job
from macsim.launchd.spawn import file_limits, spawn
from macsim.launchd.spec import EIO, Spec, SpecError, load_spec

ESRCH, NOT_FOUND = 3, 113
DEFAULT_SOFT_FILES = 256

Spawner = Callable[[Spec, tuple[int, int]], int]
Killer = Callable[[int, int], None]


class Launchd:
    """The jobs of the system domain.

    Attributes:
        jobs: The loaded jobs by label.
        soft_files: launchd's soft limit of open files, lost at a restart.
        hard_files: launchd's hard limit, None when unlimited.
    """

    def __init__(
        self, context: Context, clock: Callable[[], float], spawner: Spawner = spawn, kill: Killer = os.kill
    ) -> None:
        self._context = context
        self._clock = clock
        self._spawn = spawner
        self._kill = kill
        self._disabled_path = context.paths.kept / "launchd-disabled.json"
        self.jobs: dict[str, Job] = {}
        self.soft_files = DEFAULT_SOFT_FILES
        self.hard_files: int | None = None

    def load_all(self) -> None:
        """Load every property list of /Library/LaunchDaemons that is not disabled, as at a start."""
        for path in sorted(self._context.paths.launch_daemons.glob("*.plist")):
            if self._load(path) != 0:
                print(f"{path}: not loaded", file=sys.stderr, flush=True)

    def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one request of launchctl; `code` 0 is success."""
        verb = str(request["verb"])
        actions: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "bootstrap": lambda ask: {"code": self._load(Path(ask["path"]))},
            "bootout": self._bootout,
            "print": self._print,
            "list": lambda ask: {"code": 0, "jobs": [job.view() for job in self.jobs.values()]},
            "kickstart": self._kickstart,
            "kill": self._signal,
            "enable": lambda ask: self._record(ask["label"], False),
            "disable": lambda ask: self._record(ask["label"], True),
            "disabled": lambda ask: {"code": 0, "records": self._records()},
            "limit": self._limit,
        }
        return actions[verb](request)

    def tick(self) -> float | None:
        """Do what is due; return in how many seconds something is due again, or None."""
        now_s = self._clock()
        for label, job in list(self.jobs.items()):
            if job.remove_s is not None and job.remove_s <= now_s:
                del self.jobs[label]
            elif job.kill_s is not None and job.kill_s <= now_s:
                job.kill_s = None
                self._send(job.pid, signal.SIGKILL)
            elif job.start_s is not None and job.start_s <= now_s and not job.pid:
                job.started(self._spawn(job.spec, self._limits(job.spec)), now_s)
        due = [time_s for job in self.jobs.values() if (time_s := job.next_event_s()) is not None]
        return max(0.0, min(due) - self._clock()) if due else None

    def ended(self, pid: int, code: int) -> None:
        """Note that a process ended; its process group ends with it unless the job says otherwise."""
        for job in self.jobs.values():
            if job.pid == pid:
                job.ended(code, self._clock())
                if not job.spec.abandon_group:
                    self._send(-pid, signal.SIGKILL)

    def _send(self, pid: int, number: int) -> None:
        try:
            self._kill(pid, number)
        except ProcessLookupError:
            return  # it ended between the look and the signal

    def _limits(self, spec: Spec) -> tuple[int, int]:
        per_process = int(oids.read(oids.select("kern.maxfilesperproc")[0], self._context))
        ceiling = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        return file_limits(spec, self.soft_files, self.hard_files, per_process, ceiling)

    def _records(self) -> dict[str, bool]:
        records: dict[str, bool] = state.load(self._disabled_path, {})
        return records

    def _record(self, label: str, disabled: bool) -> dict[str, Any]:
        state.update(self._disabled_path, {}, lambda records: {**records, label: disabled})
        return {"code": 0}

    def _load(self, path: Path) -> int:
        try:
            spec = load_spec(path)
        except SpecError as error:
            print(error, file=sys.stderr, flush=True)
            return EIO
        if spec.label in self.jobs or self._records().get(spec.label, spec.disabled):
            return EIO
        self.jobs[spec.label] = Job(spec, self._clock())
        return 0

    def _bootout(self, request: dict[str, Any]) -> dict[str, Any]:
        job = self.jobs.get(request["label"])
        if job is None or job.leaving:
            return {"code": ESRCH}
        if job.leave(self._clock()):
            self._send(job.pid, signal.SIGTERM)
        return {"code": 0}

    def _print(self, request: dict[str, Any]) -> dict[str, Any]:
        job = self.jobs.get(request["label"])
        return {"code": NOT_FOUND} if job is None else {"code": 0, "job": job.view()}

    def _kickstart(self, request: dict[str, Any]) -> dict[str, Any]:
        job = self.jobs.get(request["label"])
        if job is None or job.leaving:
            return {"code": NOT_FOUND}
        if job.pid and not request["kill"]:
            return {"code": 0, "pid": job.pid}
        job.start_s = self._clock()
        if job.pid:
            # The new process starts when the old one is gone; a job that ignores SIGTERM is killed.
            self._send(job.pid, signal.SIGTERM)
            job.kill_s = self._clock() + job.spec.exit_timeout_s
            return {"code": 0, "pid": job.pid, "killed": job.pid}
        self.tick()
        return {"code": 0, "pid": job.pid}

    def _signal(self, request: dict[str, Any]) -> dict[str, Any]:
        job = self.jobs.get(request["label"])
        if job is None:
            return {"code": NOT_FOUND}
        if not job.pid:
            return {"code": ESRCH}
        self._send(job.pid, int(request["signal"]))
        return {"code": 0}

    def _limit(self, request: dict[str, Any]) -> dict[str, Any]:
        if "soft" in request:
            self.soft_files, self.hard_files = request["soft"], request["hard"]
        return {"code": 0, "soft": self.soft_files, "hard": self.hard_files}
