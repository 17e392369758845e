"""ps: Linux's own, except that process 1 is launchd."""

from __future__ import annotations

import os

from macsim.core.context import Context
from macsim.core.registry import Command


def run(argv: list[str], context: Context) -> int:
    """Say launchd where only process 1 is asked about by name; hand everything else to the real ps."""
    if argv in (["-p", "1", "-o", "comm"], ["-o", "comm", "-p", "1"]):
        context.print("COMM")
        context.print("/sbin/launchd")
        return 0
    answer = context.linux.tool("ps")
    context.out.flush()
    status = os.spawnvp(os.P_WAIT, answer, ["ps", *argv])
    return status if status >= 0 else 128 - status


COMMAND = Command("ps", ("/usr/bin/ps",), run)
