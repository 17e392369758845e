"""The service that stands for configd: applies the network services at the start and when a link changes."""

from __future__ import annotations

import select
import socket
import sys
import time

from macsim.commands.who import boot_minute
from macsim.core.context import Context
from macsim.net.reconcile import reconcile

_LINK_GROUP = 1  # RTMGRP_LINK, rtnetlink(7)
_SETTLE_S = 0.2  # a cable that is plugged in makes several messages
_LOOK_S = 5.0  # in case a message was lost
_FORWARDING = ("net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding")


def start(context: Context) -> None:
    """Do what happens once a start: forwarding is off, as on a Mac, and the time of the start is kept."""
    mark = context.paths.volatile / "started"
    if mark.exists():
        return
    for knob in _FORWARDING:
        try:
            context.paths.at(f"/proc/sys/{knob}").write_text("0")
        except OSError as error:
            print(f"macsim-configd: /proc/sys/{knob} cannot be set: {error.strerror}", file=sys.stderr)
    boot_minute(context)
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()


def main() -> int:
    """Run until the container stops."""
    context = Context()
    start(context)
    links = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    links.bind((0, _LINK_GROUP))
    while True:
        for step in reconcile(context):
            print(f"{step.device}: {step.action} {step.value}".rstrip(), flush=True)
        if select.select([links], [], [], _LOOK_S)[0]:
            time.sleep(_SETTLE_S)
            while select.select([links], [], [], 0)[0]:
                links.recv(65536)
