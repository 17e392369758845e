"""What a launchd property list says, checked as launchd does before it loads one."""

from __future__ import annotations

import os
import plistlib
import stat
from pathlib import Path
from typing import Any, NamedTuple

EIO = 5
DEFAULT_THROTTLE_S = 10
DEFAULT_EXIT_TIMEOUT_S = 5  # what `launchctl print` shows for a job without ExitTimeOut


class SpecError(Exception):
    """A property list that launchd does not load; the text says why, the caller only gets the number 5."""


class Spec(NamedTuple):
    """One job.

    Attributes:
        label: Its name.
        path: The property list.
        program: What is run.
        arguments: Its arguments, the name first.
        inferred: Whether the program comes from the arguments.
        run_at_load: Whether it starts when it is loaded.
        keep_alive: "always", "never", "successful" (again after status 0), "unsuccessful" or "crashed".
        interval_s: It starts every so often, 0: never.
        throttle_s: Least time between two starts.
        exit_timeout_s: Time between SIGTERM and SIGKILL.
        stdout: File for standard output.
        stderr: File for standard error.
        stdin: File for standard input.
        environment: Extra variables.
        user: Who runs it.
        group: Its group.
        directory: Its working directory.
        umask: Its file mode mask, or None.
        nice: Its priority.
        soft_files: Soft limit of open files, or None.
        hard_files: Hard limit of open files, or None.
        abandon_group: Whether its children live on.
        disabled: Whether the list itself says that it is off.
    """

    label: str
    path: str
    program: str
    arguments: tuple[str, ...]
    inferred: bool = True
    run_at_load: bool = False
    keep_alive: str = "never"
    interval_s: int = 0
    throttle_s: int = DEFAULT_THROTTLE_S
    exit_timeout_s: int = DEFAULT_EXIT_TIMEOUT_S
    stdout: str = ""
    stderr: str = ""
    stdin: str = ""
    environment: dict[str, str] = {}  # noqa: RUF012 - a default of an immutable tuple, never changed
    user: str = ""
    group: str = ""
    directory: str = ""
    umask: int | None = None
    nice: int = 0
    soft_files: int | None = None
    hard_files: int | None = None
    abandon_group: bool = False
    disabled: bool = False

    @property
    def starts_by_itself(self) -> bool:
        """Whether loading starts it: KeepAlive includes RunAtLoad."""
        return self.run_at_load or self.keep_alive != "never"


def check_file(path: Path) -> None:
    """Check owner and mode.

    Raises:
        SpecError: The file is not a file of root and wheel, or somebody else could write it.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        raise SpecError(f"{path}: not a regular file")
    owner = os.geteuid()  # root, except in tests
    if status.st_uid != owner or (owner == 0 and status.st_gid != 0):
        raise SpecError(f"{path}: owned by {status.st_uid}:{status.st_gid}, launchd wants root:wheel")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SpecError(f"{path}: mode {stat.S_IMODE(status.st_mode):04o} lets others write, launchd wants 0644")


def load_spec(path: Path) -> Spec:
    """Read and check a property list.

    Raises:
        SpecError: launchd would not load it.
    """
    check_file(path)
    try:
        raw = plistlib.loads(path.read_bytes())
    except Exception as error:  # plistlib raises what expat and its own parser raise
        raise SpecError(f"{path}: not a property list ({error})") from error
    if not isinstance(raw, dict):
        raise SpecError(f"{path}: not a dictionary")
    return parse_spec(raw, str(path))


def parse_spec(raw: dict[str, Any], path: str) -> Spec:
    """Check the content of a property list.

    Raises:
        SpecError: A key that is needed is missing, or a value has the wrong type.
    """
    label = _typed(raw, "Label", str, "", path)
    if not label:
        raise SpecError(f"{path}: no Label")
    arguments = _typed(raw, "ProgramArguments", list, [], path)
    program = _typed(raw, "Program", str, "", path)
    if not arguments and not program:
        raise SpecError(f"{path}: neither Program nor ProgramArguments")
    if not all(isinstance(word, str) for word in arguments):
        raise SpecError(f"{path}: ProgramArguments holds something that is not a string")
    environment = _typed(raw, "EnvironmentVariables", dict, {}, path)
    if not all(isinstance(value, str) for value in environment.values()):
        raise SpecError(f"{path}: EnvironmentVariables holds a value that is not a string")
    umask = raw.get("Umask")
    return Spec(
        label=label,
        path=path,
        program=program or arguments[0],
        arguments=tuple(arguments or [program]),
        inferred=not program,
        run_at_load=_typed(raw, "RunAtLoad", bool, False, path),
        keep_alive=_keep_alive(raw.get("KeepAlive", False), path),
        interval_s=_typed(raw, "StartInterval", int, 0, path),
        throttle_s=_typed(raw, "ThrottleInterval", int, DEFAULT_THROTTLE_S, path),
        exit_timeout_s=_typed(raw, "ExitTimeOut", int, DEFAULT_EXIT_TIMEOUT_S, path),
        stdout=_typed(raw, "StandardOutPath", str, "", path),
        stderr=_typed(raw, "StandardErrorPath", str, "", path),
        stdin=_typed(raw, "StandardInPath", str, "", path),
        environment=environment,
        user=_typed(raw, "UserName", str, "", path),
        group=_typed(raw, "GroupName", str, "", path),
        directory=_typed(raw, "WorkingDirectory", str, "", path),
        umask=int(umask, 8) if isinstance(umask, str) else umask,
        nice=_typed(raw, "Nice", int, 0, path),
        soft_files=_typed(raw, "SoftResourceLimits", dict, {}, path).get("NumberOfFiles"),
        hard_files=_typed(raw, "HardResourceLimits", dict, {}, path).get("NumberOfFiles"),
        abandon_group=_typed(raw, "AbandonProcessGroup", bool, False, path),
        disabled=_typed(raw, "Disabled", bool, False, path),
    )


def _typed(raw: dict[str, Any], key: str, kind: type, default: Any, path: str) -> Any:
    value = raw.get(key, default)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise SpecError(f"{path}: {key} is {value!r}, not of type {kind.__name__}")
    return value


def _keep_alive(value: Any, path: str) -> str:
    if isinstance(value, bool):
        return "always" if value else "never"
    if not isinstance(value, dict):
        raise SpecError(f"{path}: KeepAlive is {value!r}, neither a boolean nor a dictionary")
    if "SuccessfulExit" in value:
        return "successful" if value["SuccessfulExit"] else "unsuccessful"
    if value.get("Crashed"):
        return "crashed"
    return "never"
