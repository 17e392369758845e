"""sntp: asks a server for the time. A container has its host's clock, so the offset is what a test set."""

from __future__ import annotations

import socket

from macsim.core import state
from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.options import getopt
from macsim.core.registry import Command

_USAGE = "usage: sntp [-K keyfile] [-n count] [-sS] [-t timeout] server ...\n"


def run(argv: list[str], context: Context) -> int:
    """Print the offset to each server; -s and -S set the clock, which needs root.

    The offset is `offset_s` in the file clock.json of the kept state, 0.000042 without one. A server must be
    known by address or name.
    """
    options, operands = getopt("sntp", argv, "K:n:sSt:", _USAGE, status=1)
    if not operands:
        raise ExitError(1, err=_USAGE)
    letters = {letter for letter, _ in options}
    clock = context.paths.kept / "clock.json"
    for server in operands:
        try:
            address = socket.getaddrinfo(server, 123, socket.AF_INET)[0][4][0]
        except OSError as error:
            raise ExitError(1, err=f"sntp: Exchange failed: {server}: {error.strerror}\n") from error
        offset_s = float(state.load(clock, {}).get("offset_s", 0.000042))
        if letters & set("sS"):
            if not context.is_root:
                raise ExitError(1, err="sntp: Failed to set time: Operation not permitted\n")
            state.save(clock, {"offset_s": 0.0})
        context.print(f"{offset_s:+.6f} +/- 0.000117 {server} {address}")
    return 0


COMMAND = Command("sntp", ("/usr/bin/sntp",), run)
