"""vm_stat: memory in pages of 16 KiB, with the layout of Apple silicon."""

from __future__ import annotations

from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.registry import Command

PAGE_BYTES = 16384
_USAGE = "usage: vm_stat [-c count] [interval]\n"


def run(argv: list[str], context: Context) -> int:
    """Print the counters of a Mac that has little to do: three quarters of its memory are free."""
    if argv:
        raise ExitError(1, err=_USAGE)
    pages = context.node.model.memory_gib * 1024**3 // PAGE_BYTES
    context.print(f"Mach Virtual Memory Statistics: (page size of {PAGE_BYTES} bytes)")
    for name, value in (
        ("Pages free", pages * 3 // 4),
        ("Pages active", pages // 10),
        ("Pages inactive", pages // 10),
        ("Pages speculative", pages // 100),
        ("Pages throttled", 0),
        ("Pages wired down", pages // 25),
        ("Pages purgeable", 2048),
        ('"Translation faults"', 31250000),
        ("Pages copy-on-write", 812000),
        ("Pages zero filled", 15400000),
        ("Pages reactivated", 0),
        ("Pages purged", 0),
        ("File-backed pages", pages // 20),
        ("Anonymous pages", pages // 8),
        ("Pages stored in compressor", 0),
        ("Pages occupied by compressor", 0),
        ("Decompressions", 0),
        ("Compressions", 0),
        ("Pageins", 402000),
        ("Pageouts", 0),
        ("Swapins", 0),
        ("Swapouts", 0),
    ):
        context.print(f"{name}:".ljust(36) + f"{value}.".rjust(12))
    return 0


COMMAND = Command("vm_stat", ("/usr/bin/vm_stat",), run)
