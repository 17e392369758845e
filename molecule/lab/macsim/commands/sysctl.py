"""sysctl: kernel variables; forwarding really switches Linux's."""

from __future__ import annotations

import os
import struct
import sys

from macsim.core import oids
from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.options import getopt
from macsim.core.registry import Command

_USAGE = "usage: sysctl [-bdehiNnoqx] name[=value] ...\n       sysctl [-bdehNnoqx] -a\n"
_FLAGS = "AabdehiNnoqwXx"


def run(argv: list[str], context: Context) -> int:
    """Read or write variables, in the order of the operands; stop at nothing, fail at the end."""
    options, operands = getopt("sysctl", argv, _FLAGS, _USAGE, status=1)
    letters = {letter for letter, _ in options}
    if letters & set("aAX"):
        for oid in oids.everything():
            _show(oid, letters, context)
        return 0
    if not operands:
        raise ExitError(1, err=_USAGE)
    status = 0
    for operand in operands:
        name, sign, value = operand.partition("=")
        status |= _write(name, value, letters, context) if sign else _read(name, letters, context)
    return status


def _unknown(name: str, letters: set[str], context: Context) -> int:
    if "i" in letters:
        return 0
    if "q" not in letters:
        context.out.flush()
        context.warn(f"sysctl: unknown oid '{name}'")
    return 1


def _read(name: str, letters: set[str], context: Context) -> int:
    found = oids.select(name)
    if not found:
        return _unknown(name, letters, context)
    for oid in found:
        _show(oid, letters, context)
    return 0


def _show(oid: oids.Oid, letters: set[str], context: Context) -> None:
    if "N" in letters:
        context.print(oid.name)
        return
    value = oids.read(oid, context)
    if "b" in letters:
        _show_bytes(oid.name, value, context)
        return
    if "n" in letters:
        context.print(value)
    else:
        context.print(f"{oid.name}{'=' if 'e' in letters else ': '}{value}")


def _show_bytes(name: str, value: str, context: Context) -> None:
    if name == "kern.boottime":
        words = value.split()
        raw = struct.pack("@ll", int(words[3].rstrip(",")), int(words[6]))  # struct timeval
    elif value.isdigit():
        raw = struct.pack("@q" if int(value) >= 2**31 else "@i", int(value))
    else:
        raw = value.encode()
    context.out.flush()
    if context.out is sys.stdout:
        os.write(sys.stdout.fileno(), raw)
    else:
        context.out.write(raw.decode("latin-1"))


def _write(name: str, value: str, letters: set[str], context: Context) -> int:
    found = [oid for oid in oids.select(name) if oid.name == name]
    if not found:
        return _unknown(name, letters, context)
    oid = found[0]
    if not oid.writable:
        context.warn(f"sysctl: oid '{name}' is read only")
        return 1
    if not value.lstrip("-").isdigit():
        context.warn(f"sysctl: invalid integer '{value}'")
        return 1
    if not context.is_root:
        context.warn(f"sysctl: {name}={value}: Operation not permitted")
        return 1
    old = oids.read(oid, context)
    try:
        oids.write(oid, value, context)
    except OSError as error:
        context.warn(f"sysctl: {name}={value}: {error.strerror}")
        return 1
    if "n" in letters:
        context.print(f"{old} -> {value}")
    else:
        context.print(f"{name}: {old} -> {value}")
    return 0


COMMAND = Command("sysctl", ("/usr/sbin/sysctl",), run)
