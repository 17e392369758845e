"""uname: the kernel, which a Mac calls Darwin."""

from __future__ import annotations

import os

from macsim.core import system
from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.options import getopt
from macsim.core.registry import Command

_USAGE = "usage: uname [-amnoprsv]\n"
# The order in which the fields are printed, whatever the order of the options.
_ORDER = "snrvm"


def run(argv: list[str], context: Context) -> int:
    """Print the fields that are asked for."""
    options, operands = getopt("uname", argv, "amnoprsv", _USAGE, status=1)
    if operands:
        raise ExitError(1, err=_USAGE)
    letters = {letter for letter, _ in options} or {"s"}
    if "a" in letters:
        letters |= set(_ORDER)
    values = {
        "s": "Darwin",
        "o": "Darwin",
        "n": os.uname().nodename,
        "r": system.KERNEL_RELEASE,
        "v": system.KERNEL_VERSION,
        "m": system.MACHINE,
        "p": "arm",
    }
    context.print(" ".join(values[letter] for letter in _ORDER + "po" if letter in letters))
    return 0


COMMAND = Command("uname", ("/usr/bin/uname",), run)
