"""The Homebrew formulae that can be installed: each links Linux's own program into Homebrew's folders."""

from __future__ import annotations

from typing import NamedTuple


class Formula(NamedTuple):
    """One formula.

    Attributes:
        name: What `brew install` takes.
        version: The version that Homebrew has; the program that runs is Debian's.
        summary: One line about it.
        programs: Pairs of folder in the keg and program; the installer hides each from the Mac until it is
            installed by brew.
    """

    name: str
    version: str
    summary: str
    programs: tuple[tuple[str, str], ...]


FORMULAE = {
    formula.name: formula
    for formula in (
        Formula("babeld", "1.13.1", "Loop-avoiding distance-vector routing protocol", (("sbin", "babeld"),)),
        Formula("iperf3", "3.19.1", "Update of iperf: measures TCP, UDP, and SCTP bandwidth", (("bin", "iperf3"),)),
    )
}
