"""Installs, reloads and removes a job of the system domain, and waits until launchd agrees.

The order makes a kill at any moment harmless: the old job goes first, then the property list is replaced,
then the new job is loaded. Whoever comes after an interruption finds a property list that differs, or no job.
"""

from __future__ import annotations

import os
import plistlib
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .launchd import (
    BUSY,
    NOT_LOADED,
    Job,
    definition_problems,
    differences,
    parse_disabled,
    parse_failure,
    parse_lint,
    parse_print,
)

LAUNCHCTL = "/bin/launchctl"
PLUTIL = "/usr/bin/plutil"
FOLDER = Path("/Library/LaunchDaemons")
_POLL_S = 0.2

# Runs a command and returns its exit status, standard output and standard error.
Runner = Callable[[Sequence[str]], tuple[int, str, str]]


class LaunchdError(Exception):
    """A job that could not be brought to what is wanted; the message names the job and the next step."""


@dataclass(frozen=True)
class Plan:
    """What is to be done.

    Attributes:
        write: whether the property list is written.
        unload: whether a loaded job is booted out first.
        load: whether the job is bootstrapped.
        enable: whether a record that disables the label is taken back.
        delete: whether the property list is deleted.
        reasons: why, a few words each.
    """

    write: bool = False
    unload: bool = False
    load: bool = False
    enable: bool = False
    delete: bool = False
    reasons: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.write or self.unload or self.load or self.enable or self.delete


def property_list(label: str, definition: Mapping[str, Any]) -> bytes:
    """The property list, the same bytes for the same definition.

    Raises:
        LaunchdError: launchd would refuse it.
    """
    problems = definition_problems(label, definition)
    if problems:
        raise LaunchdError(f"{label}: " + "; ".join(problems) + ".")
    try:
        return plistlib.dumps({"Label": label, **definition}, sort_keys=True)
    except (TypeError, OverflowError) as error:
        raise LaunchdError(f"{label}: the definition does not fit a property list: {error}.") from error


class LaunchdJob:
    """One job of the system domain.

    Args:
        label: its label.
        run: runs a command.
        timeout_s: how long to wait for launchd at each step.
        folder: where the property list is.
        owner: user and group number that the property list must have; launchd refuses others than root:wheel.
        sleep: waits that many seconds.
    """

    def __init__(
        self,
        label: str,
        run: Runner,
        timeout_s: float = 30.0,
        folder: Path = FOLDER,
        owner: tuple[int, int] = (0, 0),
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.label = label
        self.path = folder / f"{label}.plist"
        self.target = f"system/{label}"
        self._run = run
        self._timeout_s = timeout_s
        self._owner = owner
        self._sleep = sleep

    def loaded(self) -> Job | None:
        """The job as launchd knows it, None when it knows none."""
        status, out, err = self._run([LAUNCHCTL, "print", self.target])
        if status in NOT_LOADED:
            return None
        if status != 0:
            raise LaunchdError(f"launchctl print {self.target} ended with {status}: {_said(out, err)}")
        try:
            return parse_print(out)
        except ValueError as error:
            raise LaunchdError(f"{self.target}: {error}") from error

    def disabled(self) -> bool:
        """Whether a record keeps launchd from starting this label; `print` does not show it."""
        status, out, err = self._run([LAUNCHCTL, "print-disabled", "system"])
        if status != 0:
            raise LaunchdError(f"launchctl print-disabled system ended with {status}: {_said(out, err)}")
        return parse_disabled(out).get(self.label, False)

    def installed(self) -> bytes | None:
        """The property list on disk, None when there is none."""
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None

    def plan_present(self, definition: Mapping[str, Any]) -> Plan:
        """What it takes for the job to be installed and loaded as defined."""
        content = property_list(self.label, definition)
        job, now, disabled = self.loaded(), self.installed(), self.disabled()
        self._refuse_foreign(job)
        reasons = []
        write = now != content or not self._well_owned()
        if write:
            reasons.append("the property list is new" if now is None else "the property list differs")
        if job is None:
            reasons.append("it is not loaded")
        elif not write:
            reasons += differences(job, str(self.path), definition)
        if disabled:
            reasons.append("its label is disabled")
        reload = bool(reasons) and reasons != ["its label is disabled"]
        return Plan(
            write=write,
            unload=reload and job is not None,
            load=reload,
            enable=disabled,
            reasons=tuple(reasons),
        )

    def plan_absent(self) -> Plan:
        """What it takes for the job to be gone."""
        job, exists = self.loaded(), self.installed() is not None
        self._refuse_foreign(job)
        reasons = (["it is loaded"] if job else []) + (["its property list is there"] if exists else [])
        return Plan(unload=job is not None, delete=exists, reasons=tuple(reasons))

    def carry_out(self, plan: Plan, definition: Mapping[str, Any]) -> None:
        """Do what the plan says.

        Raises:
            LaunchdError: launchd refused, or did not agree within the timeout.
        """
        # Refused before the old job is stopped: a mistake in a property list must not end what runs.
        draft = self._draft(property_list(self.label, definition)) if plan.write else None
        try:
            if plan.unload:
                self.unload()
            if draft is not None:
                draft.replace(self.path)
                draft = None
        finally:
            if draft is not None:
                draft.unlink()
        if plan.delete:
            self.path.unlink()
        if plan.enable:
            self._must([LAUNCHCTL, "enable", self.target])
        if plan.load:
            self.load(definition)

    def unload(self) -> None:
        """Boot the job out, and wait until it is gone: launchctl returns before the process has ended."""
        status, out, err = self._run([LAUNCHCTL, "bootout", self.target])
        if status != 0 and status not in (*NOT_LOADED, *BUSY):
            raise LaunchdError(f"launchctl bootout {self.target} ended with {status}: {_said(out, err)}")
        if not self._wait(lambda: self.loaded() is None):
            raise LaunchdError(
                f"{self.target} was still there {self._timeout_s:g} s after launchctl bootout. "
                f"Look at what it does: launchctl print {self.target}"
            )

    def load(self, definition: Mapping[str, Any]) -> None:
        """Bootstrap the job, again while launchd is busy, and see that it is the one of the file."""
        command = [LAUNCHCTL, "bootstrap", "system", str(self.path)]
        last = (0, "", "")

        def attempt() -> bool:
            nonlocal last
            last = self._run(command)
            return last[0] not in BUSY

        done = self._wait(attempt)
        status, out, err = last
        if status != 0:
            hint = (
                " If it stays so: is the label disabled (launchctl print-disabled system), and does the "
                "property list belong to root:wheel?"
                if not done
                else ""
            )
            raise LaunchdError(f"{' '.join(command)} ended with {status}: {_said(out, err)}.{hint}")
        job = self.loaded()
        if job is None:
            raise LaunchdError(
                f"launchd took {self.path} and does not know {self.target}: was it removed in the meantime? "
                "Run it again."
            )
        wrong = differences(job, str(self.path), definition)
        if wrong:
            raise LaunchdError(f"{self.target} is loaded, but not from the new property list: {'; '.join(wrong)}.")

    def restart(self) -> None:
        """Stop the job's process and start it again. The property list is not read again by that."""
        self._must([LAUNCHCTL, "kickstart", "-k", self.target])

    def _refuse_foreign(self, job: Job | None) -> None:
        if job is not None and job.path != str(self.path):
            raise LaunchdError(
                f"{self.target} is loaded from {job.path or 'an unknown place'}, not from {self.path}: the "
                f"label belongs to somebody else. Remove that job (launchctl bootout {self.target}), or use "
                "another label."
            )

    def _well_owned(self) -> bool:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return False
        return (found.st_uid, found.st_gid) == self._owner and found.st_mode & 0o7777 == 0o644

    def _draft(self, content: bytes) -> Path:
        """The property list beside its place, checked by plutil; launchd ignores a file of this name."""
        self.path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{self.label}.", dir=self.path.parent)
        draft = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            draft.chmod(0o644)
            os.chown(draft, *self._owner)
            status, out, err = self._run([PLUTIL, "-lint", name])
            if status != 0 or parse_lint(out):
                found = "; ".join(parse_lint(out)) or _said(out, err)
                raise LaunchdError(f"plutil refuses the property list of {self.label}: {found}")
        except BaseException:
            draft.unlink()
            raise
        return draft

    def _must(self, command: Sequence[str]) -> None:
        status, out, err = self._run(command)
        if status != 0:
            raise LaunchdError(f"{' '.join(command)} ended with {status}: {_said(out, err)}")

    def _wait(self, ready: Callable[[], bool]) -> bool:
        """Whether `ready` came true within the timeout; asked once at least."""
        for _ in range(max(1, round(self._timeout_s / _POLL_S))):
            if ready():
                return True
            self._sleep(_POLL_S)
        return False


def _said(out: str, err: str) -> str:
    failure = parse_failure(err) or parse_failure(out)
    return failure.text if failure else " ".join(f"{out} {err}".split()) or "no message"
