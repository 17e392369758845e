"""The log of every call: one JSON line each, also for calls that fail."""

from __future__ import annotations

import json
import os
from pathlib import Path


def record(path: Path, *, time_s: float, argv: list[str], uid: int, exit_status: int) -> None:
    """Append one call. A log that cannot be written does not change what the command does.

    Args:
        path: The log.
        time_s: When the call began, in seconds since 1970.
        argv: Name of the command and its arguments.
        uid: Who called.
        exit_status: What the call returned.
    """
    line = json.dumps(
        {
            "time": round(time_s, 3),
            "command": argv[0],
            "argv": argv[1:],
            "uid": uid,
            "exit_status": exit_status,
        }
    )
    try:
        # One write to a file opened for appending: lines of calls at the same time do not mix.
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    except OSError:
        return
    try:
        os.write(handle, line.encode() + b"\n")
    finally:
        os.close(handle)
