"""Cables: what is plugged into the Thunderbolt ports of the machines.

Every port with a cable is a veth pair. One end lies in the machine, under the name that a Mac gives the port; the
other lies in the patch panel, a network namespace of the lab, where a bridge joins the two ends of a cable. So a
pulled cable, or a machine that is off, takes the carrier away from the other side and leaves its device, addresses
and settings as they are, as on a real Mac; and nothing shows among the interfaces of the machine underneath.

A cable is pulled when its bridge is switched off: the panel itself remembers it.
"""

from __future__ import annotations

import json
from typing import Any

from lab_plan import Cable, Host, Plan, port_device
from lab_podman import run

PANEL_MTU = 65535
"""Of the panel's side, the largest that veth takes: what fits is the machines' business."""


def ensure_panel(plan: Plan) -> bool:
    """Make the patch panel unless it is there; whether something had to be done."""
    made = False
    if not _links(plan):
        # What a killed run leaves is a file with no namespace behind it.
        run(["ip", "netns", "delete", plan.panel], check=False)
        run(["ip", "netns", "add", plan.panel])
        # The panel says nothing of its own on a cable.
        for scope in ("all", "default"):
            knob = f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"
            run(["ip", "netns", "exec", plan.panel, "sh", "-c", f"[ ! -e {knob} ] || echo 1 > {knob}"])
        made = True
    there = _links(plan)
    for bridge in (_bridge(plan, cable) for cable in plan.cables):
        if bridge not in there:
            # Without snooping: a cable carries every multicast packet.
            _ip(plan, "link", "add", bridge, "type", "bridge", "mcast_snooping", "0")
            _ip(plan, "link", "set", bridge, "mtu", str(PANEL_MTU), "up")
            made = True
    return made


def attach(plan: Plan, host: Host, process: int, *, booting: bool) -> bool:
    """Give a machine its ports, bare and switched off; whether something had to be done.

    Args:
        plan: The rack.
        host: The machine.
        process: One that is in the machine's network namespace.
        booting: Whether the namespace is a new one, so that what the panel still has belongs to the last one.
    """
    made = False
    panel = _links(plan)
    for cable, port in plan.ports(host):
        inside, outside = port_device(port), _outside(host, port)
        if not booting and outside in panel and _exists_inside(process, inside):
            continue
        if outside in panel:
            _ip(plan, "link", "delete", outside)
        _ip(
            plan, "link", "add", outside, "mtu", str(PANEL_MTU), "type", "veth",
            "peer", "name", inside, "address", plan.port_address(host, port), "netns", str(process),
        )  # fmt: skip
        _ip(plan, "link", "set", outside, "master", _bridge(plan, cable))
        made = True
    return made


def detach(plan: Plan, host: Host) -> None:
    """Take the ports of a machine that was switched off out of the panel; the kernel would be a moment late."""
    panel = _links(plan)
    for _, port in plan.ports(host):
        if _outside(host, port) in panel:
            _ip(plan, "link", "delete", _outside(host, port), check=False)


def connect(plan: Plan) -> None:
    """Give a carrier to the cables that are plugged in and have a machine at both ends, and to no other."""
    panel = _links(plan)
    for cable in plan.cables:
        ends = [end for end in _ends(plan, cable) if end in panel]
        live = len(ends) == 2 and _is_on(panel, _bridge(plan, cable))
        for end in ends:
            if _is_on(panel, end) != live:
                _ip(plan, "link", "set", end, "up" if live else "down")


def set_plugged(plan: Plan, cable: Cable, *, plugged: bool) -> bool:
    """Pull a cable or plug it in; whether it was otherwise before."""
    bridge = _bridge(plan, cable)
    before = _is_on(_links(plan), bridge)
    _ip(plan, "link", "set", bridge, "up" if plugged else "down")
    connect(plan)
    return before != plugged


def state(plan: Plan, cable: Cable) -> str:
    """`up`: packets can pass; `down`: plugged in, but a machine or its interface is off; `pulled`."""
    panel = _links(plan)
    if not _is_on(panel, _bridge(plan, cable)):
        return "pulled"
    ends = [panel.get(end, {}) for end in _ends(plan, cable)]
    return "up" if all(end.get("operstate") == "UP" for end in ends) else "down"


def remove_panel(name: str) -> bool:
    """Remove the patch panel of a lab and all cables with it; whether there was one."""
    panel = f"espalier-{name}"
    if panel not in (line.split()[0] for line in run(["ip", "netns", "list"]).splitlines()):
        return False
    run(["ip", "netns", "delete", panel])
    return True


def _ip(plan: Plan, *words: str, check: bool = True) -> str:
    return run(["ip", "-netns", plan.panel, *words], check=check)


def _links(plan: Plan) -> dict[str, dict[str, Any]]:
    """What is in the panel, by name; empty when there is no panel."""
    text = _ip(plan, "-json", "link", "show", check=False)
    return {str(link["ifname"]): link for link in json.loads(text)} if text.strip() else {}


def _is_on(panel: dict[str, dict[str, Any]], name: str) -> bool:
    return "UP" in panel.get(name, {}).get("flags", ())


def _exists_inside(process: int, device: str) -> bool:
    command = ["nsenter", "--target", str(process), "--net", "ip", "-json", "link", "show", device]
    return bool(run(command, check=False).strip())


def _bridge(plan: Plan, cable: Cable) -> str:
    return f"cable{plan.cables.index(cable)}"


def _outside(host: Host, port: int) -> str:
    return f"{host.name}.{port}"


def _ends(plan: Plan, cable: Cable) -> tuple[str, str]:
    return _outside(plan.host(cable.a), cable.a_port), _outside(plan.host(cable.b), cable.b_port)
