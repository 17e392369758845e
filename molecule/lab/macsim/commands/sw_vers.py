"""sw_vers: which release of macOS this is."""

from __future__ import annotations

from macsim.core import system
from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.registry import Command

_FIELDS = {
    "productName": ("ProductName", system.PRODUCT_NAME),
    "productVersion": ("ProductVersion", system.PRODUCT_VERSION),
    "buildVersion": ("BuildVersion", system.BUILD_VERSION),
}
_USAGE = "Usage: sw_vers [--help|--productName|--productVersion|--productVersionExtra|--buildVersion]\n"


def run(argv: list[str], context: Context) -> int:
    """Print all three lines, or the value of the one that is asked for."""
    if not argv:
        for label, value in _FIELDS.values():
            context.print(f"{label}:\t\t{value}")
        return 0
    if len(argv) > 1:
        raise ExitError(1, err=_USAGE)
    option = argv[0].lstrip("-")
    if argv[0] == "--help":
        raise ExitError(0, out=_USAGE)
    if option == "productVersionExtra" and argv[0].startswith("-"):
        return 0
    if option not in _FIELDS or not argv[0].startswith("-"):
        raise ExitError(1, err=f"sw_vers: unrecognized option `{argv[0]}'\n{_USAGE}")
    context.print(_FIELDS[option][1])
    return 0


COMMAND = Command("sw_vers", ("/usr/bin/sw_vers",), run)
