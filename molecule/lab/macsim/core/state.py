"""State on disk: JSON files, written whole, with one lock a file."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock that belongs to a state file, so that two commands do not lose each other's change."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(path.name + ".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def load(path: Path, default: Any) -> Any:
    """Return what a state file holds, or `default` where there is none.

    Raises:
        ValueError: The file is not JSON; the message names it.
    """
    try:
        text = path.read_text()
    except FileNotFoundError:
        return default
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{path} is not JSON ({error}); remove it to begin with the state of a new Mac") from error


def save(path: Path, value: Any) -> None:
    """Write a state file so that a reader sees the old content or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")
    part.replace(path)


def update(path: Path, default: Any, change: Callable[[Any], Any]) -> Any:
    """Replace the content of a state file by `change(content)`, and return what was written."""
    with locked(path):
        value = change(load(path, default))
        save(path, value)
    return value
