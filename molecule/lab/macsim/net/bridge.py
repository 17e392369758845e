"""bridge0, the Thunderbolt Bridge. Its members are kept, its traffic is not simulated.

On a Mac the bridge has every Thunderbolt port as member after a start, whatever was removed before; whether a
service that is switched off changes that is not known, so the simulator takes the worse case: the members are
back after every start.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from macsim.core import state
from macsim.core.context import Context


class Bridge(NamedTuple):
    """State of bridge0 since the start."""

    exists: bool
    members: tuple[str, ...]
    mtu: int


def _path(context: Context) -> Path:
    return context.paths.volatile / "bridge.json"


def load(context: Context) -> Bridge:
    """Return what bridge0 is now; all ports are members until somebody removes them."""
    raw = state.load(_path(context), None)
    if raw is None:
        return Bridge(True, tuple(port.device for port in context.node.ports), 1500)
    return Bridge(bool(raw["exists"]), tuple(raw["members"]), int(raw["mtu"]))


def save(context: Context, bridge: Bridge) -> None:
    """Keep the state until the next start."""
    with state.locked(_path(context)):
        state.save(_path(context), bridge._asdict())
