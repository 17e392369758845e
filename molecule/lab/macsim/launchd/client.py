"""How launchctl talks to the daemon."""

from __future__ import annotations

import json
import socket
from typing import Any

from macsim.core.context import Context
from macsim.core.errors import ExitError


def ask(context: Context, **request: Any) -> dict[str, Any]:
    """Send one request and return the answer.

    Raises:
        ExitError: The daemon does not run.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(10)
        try:
            connection.connect(str(context.paths.launchd_socket))
            connection.sendall(json.dumps(request).encode())
            connection.shutdown(socket.SHUT_WR)
            parts = []
            while part := connection.recv(65536):
                parts.append(part)
            answer: dict[str, Any] = json.loads(b"".join(parts))
        except (OSError, ValueError) as error:
            raise ExitError(1, err=f"launchctl: macsim-launchd does not answer: {error}\n") from error
    return answer
