"""ipconfig: the address of one interface."""

from __future__ import annotations

from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.registry import Command
from macsim.net.devices import devices, find

_USAGE = (
    "usage: ipconfig <command> <args>\n"
    "where <command> is one of waitall, getifaddr, ifcount, getoption, getpacket, "
    "getv6packet, set, setverbose\n"
)


def run(argv: list[str], context: Context) -> int:
    """Answer getifaddr and ifcount; without an address the answer is a status alone."""
    if argv == ["ifcount"]:
        context.print(str(len(devices(context))))
        return 0
    if len(argv) == 2 and argv[0] == "getifaddr":
        device = find(context, argv[1])
        if device is None or not device.interface.inet:
            return 1
        context.print(device.interface.inet[0].address)
        return 0
    raise ExitError(1, err=_USAGE)


COMMAND = Command("ipconfig", ("/usr/sbin/ipconfig",), run)
