"""How launchctl talks to the daemon."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from typing import Any

from macsim.core.context import Context
from macsim.core.errors import ExitError

# launchd never is away on a Mac; here it is for a moment when a new version of the simulator is installed.
_WAIT_S = 10.0
_LOOK_S = 0.1


def _connected(path: Path) -> socket.socket:
    """Return a connection to the daemon, which may be starting.

    Raises:
        OSError: It did not answer in time.
    """
    limit_s = time.monotonic() + _WAIT_S
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(_WAIT_S)
        try:
            connection.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            if time.monotonic() > limit_s:
                raise
            time.sleep(_LOOK_S)
        else:
            return connection


def ask(context: Context, **request: Any) -> dict[str, Any]:
    """Send one request and return the answer.

    Raises:
        ExitError: The daemon does not run.
    """
    try:
        with _connected(context.paths.launchd_socket) as connection:
            connection.sendall(json.dumps(request).encode())
            connection.shutdown(socket.SHUT_WR)
            parts = []
            while part := connection.recv(65536):
                parts.append(part)
        answer: dict[str, Any] = json.loads(b"".join(parts))
    except (OSError, ValueError) as error:
        raise ExitError(1, err=f"launchctl: macsim-launchd does not answer: {error}\n") from error
    return answer
