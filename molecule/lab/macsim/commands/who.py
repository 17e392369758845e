"""who: Linux's own, and -b in the form of a Mac."""

from __future__ import annotations

import os
import time

from macsim.core import state
from macsim.core.context import Context
from macsim.core.registry import Command


def boot_minute(context: Context) -> int:
    """Return the minute of the start, in minutes since 1970.

    `who -b` has no seconds, and a container starts faster than a Mac: two starts within one minute would look
    like none to a program that compares. The second is then shown one minute later.
    """
    boot_s = int(context.boot_time_s())
    path = context.paths.kept / "boots.json"
    seen = state.load(path, {})
    if seen.get("boot_s") == boot_s:
        return int(seen["minute"])
    minute = max(boot_s // 60, int(seen.get("minute", -1)) + 1)
    try:
        state.save(path, {"boot_s": boot_s, "minute": minute})
    except PermissionError:
        return minute  # macsim-configd, which is root, keeps it at every start
    return minute


def run(argv: list[str], context: Context) -> int:
    """Print the start for -b; hand everything else to the real who."""
    if argv == ["-b"]:
        stamp = time.strftime("%b %e %H:%M", time.localtime(boot_minute(context) * 60))
        context.print(f"                 reboot   ~        {stamp} ")
        return 0
    context.out.flush()
    status = os.spawnvp(os.P_WAIT, context.linux.tool("who"), ["who", *argv])
    return status if status >= 0 else 128 - status


COMMAND = Command("who", ("/usr/bin/who",), run)
