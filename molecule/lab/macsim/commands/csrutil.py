"""csrutil: System Integrity Protection, which cannot be changed outside Recovery."""

from __future__ import annotations

from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.registry import Command

_USAGE = (
    "usage: csrutil <command>\n"
    "Modify the System Integrity Protection configuration. "
    "All configuration changes apply to the entire machine.\n"
    "Available commands:\n\n"
    "    clear\n        Clear the existing configuration. Only available in Recovery OS.\n"
    "    disable\n        Disable the protection on the machine. Only available in Recovery OS.\n"
    "    enable\n        Enable the protection on the machine. Only available in Recovery OS.\n"
    "    status\n        Display the current configuration.\n"
)


def run(argv: list[str], context: Context) -> int:
    """Answer `status`; refuse what only Recovery can do."""
    if argv == ["status"]:
        context.print("System Integrity Protection status: enabled.")
        return 0
    if argv and argv[0] in {"clear", "disable", "enable"}:
        raise ExitError(1, out="csrutil: This tool needs to be executed from Recovery OS.\n")
    raise ExitError(64, err=_USAGE)


COMMAND = Command("csrutil", ("/usr/bin/csrutil",), run)
