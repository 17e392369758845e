"""scutil: the three names of a Mac."""

from __future__ import annotations

import socket

from macsim.core import state
from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.registry import Command

_NAMES = ("ComputerName", "LocalHostName", "HostName")
_USAGE = "usage: scutil --get <pref>\n\tpref: ComputerName, LocalHostName, HostName\n"


def run(argv: list[str], context: Context) -> int:
    """Read or set a name. HostName is not set on a new Mac."""
    path = context.paths.kept / "names.json"
    names = state.load(path, {"ComputerName": context.node.hostname, "LocalHostName": context.node.hostname})
    if len(argv) == 2 and argv[0] == "--get" and argv[1] in _NAMES:
        if argv[1] not in names:
            raise ExitError(1, err=f"{argv[1]}: not set\n")
        context.print(names[argv[1]])
        return 0
    if len(argv) in {2, 3} and argv[0] == "--set" and argv[1] in _NAMES:
        if not context.is_root:
            raise ExitError(1, err="Permission denied\n")
        value = argv[2] if len(argv) == 3 else ""
        kept = {name: text for name, text in names.items() if name != argv[1]}
        state.update(path, {}, lambda _: {**kept, argv[1]: value} if value else kept)
        if argv[1] == "HostName" and value:
            _set_kernel_name(value)
        return 0
    raise ExitError(1, err=_USAGE)


def _set_kernel_name(name: str) -> None:
    try:
        socket.sethostname(name)
    except PermissionError:
        return  # a container without the capability keeps its name; scutil shows the new one


COMMAND = Command("scutil", ("/usr/sbin/scutil",), run)
