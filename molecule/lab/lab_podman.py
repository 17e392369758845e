"""Runs podman and other programs of this machine, with errors that say what failed."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab_plan import LabError

_PR_SET_PDEATHSIG = 1  # prctl(2)
HERE = Path(__file__).resolve().parent


def containers_conf() -> str:
    """The containers.conf that the lab uses.

    ESPALIER_LAB_CONTAINERS_CONF names another; empty uses the machine's own. The lab's own asks for the runtime
    runc, since crun refuses some cgroup layouts.
    """
    return os.environ.get("ESPALIER_LAB_CONTAINERS_CONF", str(HERE / "containers.conf"))


def run(
    command: Sequence[str | Path], *, stdin: bytes | None = None, check: bool = True, ends_with_us: bool = False
) -> str:
    """Run a program and return what it printed.

    Args:
        command: The program and its arguments.
        stdin: What it reads; nothing without.
        check: Whether a status other than 0 is an error.
        ends_with_us: Whether the kernel ends it (SIGTERM) when this process is killed, even with -9.

    Raises:
        LabError: It is not installed, or (with `check`) it failed; the message has its own words.
    """
    environment = dict(os.environ)
    if containers_conf():
        environment["CONTAINERS_CONF"] = containers_conf()
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            check=False,
            env=environment,
            preexec_fn=_end_with_parent if ends_with_us else None,
        )
    except FileNotFoundError as error:
        raise LabError(f"{words[0]} is not installed: run tools/bootstrap.sh rack") from error
    if check and done.returncode != 0:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        raise LabError(f"{' '.join(words[:4])} ... ended with status {done.returncode}: {said}")
    return done.stdout.decode("utf-8", "replace")


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def podman(*arguments: str | Path, stdin: bytes | None = None, check: bool = True) -> str:
    """Run podman."""
    return run(["podman", *arguments], stdin=stdin, check=check)


def execute(container: str, *command: str, stdin: bytes | None = None, check: bool = True) -> str:
    """Run a command as root in a container."""
    interactive = ["--interactive"] if stdin is not None else []
    return podman("exec", *interactive, container, *command, stdin=stdin, check=check)


def inspect(container: str) -> dict[str, Any] | None:
    """What podman knows of a container, or None when there is none of this name."""
    text = podman("container", "inspect", container, check=False)
    found = json.loads(text) if text.strip() else []
    return dict(found[0]) if found else None


def is_running(container: str) -> bool:
    """Whether the container exists and runs."""
    found = inspect(container)
    return bool(found and found["State"]["Running"])
