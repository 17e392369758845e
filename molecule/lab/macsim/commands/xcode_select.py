"""xcode-select: where the developer tools are; here always the Command Line Tools."""

from __future__ import annotations

from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.registry import Command

TOOLS = "/Library/Developer/CommandLineTools"


def run(argv: list[str], context: Context) -> int:
    """Answer -p and -v; refuse --install, because the tools are there."""
    if argv in (["-p"], ["--print-path"]):
        context.print(TOOLS)
        return 0
    if argv in (["-v"], ["--version"]):
        context.print("xcode-select version 2412.")
        return 0
    if argv == ["--install"]:
        raise ExitError(
            1,
            err="xcode-select: note: Command line tools are already installed. "
            'Use "Software Update" in System Settings or the softwareupdate '
            "command line interface to install updates\n",
        )
    if argv:
        raise ExitError(1, err=f"xcode-select: error: invalid argument '{argv[0]}'\n")
    raise ExitError(1, err="xcode-select: error: no command option given\n")


COMMAND = Command("xcode-select", ("/usr/bin/xcode-select",), run)
