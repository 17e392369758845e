"""arch: the architecture, or a program run for one."""

from __future__ import annotations

import os

from macsim.core import system
from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.registry import Command

_USAGE = "Usage: arch\nUsage: arch [-32] [-64] [[-arch_name | -arch arch_name] ...] prog [args ...]\n"


def run(argv: list[str], context: Context) -> int:
    """Print the architecture; with a program, run it when the architecture is this Mac's."""
    if not argv:
        context.print(system.MACHINE)
        return 0
    words = list(argv)
    while words and words[0].startswith("-"):
        option = words.pop(0)[1:]
        if option == "arch" and words:
            option = words.pop(0)
        if option in {"x86_64", "i386"}:
            raise ExitError(1, err=f"arch: posix_spawnp: {words[0] if words else ''}: Bad CPU type in executable\n")
        if option not in {"arm64", "arm64e", "64"}:
            raise ExitError(1, err=f"arch: Unknown architecture: {option}\n{_USAGE}")
    if not words:
        raise ExitError(1, err=_USAGE)
    try:
        os.execvp(words[0], words)
    except OSError as error:
        raise ExitError(1, err=f"arch: posix_spawnp: {words[0]}: {error.strerror}\n") from error


COMMAND = Command("arch", ("/usr/bin/arch",), run)
