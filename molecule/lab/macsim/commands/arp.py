"""arp: the neighbours, without leading zeros in their addresses."""

from __future__ import annotations

from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.linux import mac_name
from macsim.core.options import getopt
from macsim.core.registry import Command

_USAGE = "usage: arp [-n] [-i interface] hostname\n       arp [-n] [-i interface] [-l] -a\n"


def run(argv: list[str], context: Context) -> int:
    """Print all neighbours; changing them is not simulated."""
    options, operands = getopt("arp", argv, "ani:", _USAGE, status=1)
    values = dict(options)
    if "a" not in values or operands:
        raise ExitError(1, err=_USAGE)
    for row in context.linux.neighbours():
        device = mac_name(str(row.get("dev", "")))
        if values.get("i", device) != device:
            continue
        mac = ":".join(f"{int(part, 16):x}" for part in str(row.get("lladdr", "")).split(":") if part)
        scope = " ifscope" if mac else ""
        context.print(f"? ({row['dst']}) at {mac or '(incomplete)'} on {device}{scope} [ethernet]")
    return 0


COMMAND = Command("arp", ("/usr/sbin/arp",), run)
