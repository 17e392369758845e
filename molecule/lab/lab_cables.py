"""Cables: veth pairs between the network namespaces of two machines, bare, as a Thunderbolt cable arrives."""

from __future__ import annotations

import json

from lab_plan import Cable, Plan, port_device
from lab_podman import process_id, run


def _in_namespace(process: int, *command: str, check: bool = True) -> str:
    return run(["nsenter", "--target", str(process), "--net", *command], check=check)


def _link(process: int, device: str) -> dict[str, object] | None:
    text = _in_namespace(process, "ip", "-json", "-details", "link", "show", device, check=False)
    found = json.loads(text) if text.strip() else []
    return dict(found[0]) if found else None


def ends(plan: Plan, cable: Cable) -> list[tuple[int, str]]:
    """Namespace (a process in it) and device of both ends."""
    return [
        (process_id(plan.host(cable.a).container), port_device(cable.a_port)),
        (process_id(plan.host(cable.b).container), port_device(cable.b_port)),
    ]


def ensure(plan: Plan, cable: Cable) -> bool:
    """Plug a cable in unless it is; whether something had to be done.

    A pair dies with either namespace, so an end that is there has its other end there too, in the same cable:
    a device of this name is never anything else.
    """
    (process_a, device_a), (process_b, device_b) = ends(plan, cable)
    there = [_link(process_a, device_a) is not None, _link(process_b, device_b) is not None]
    if all(there):
        return False
    for process, device, exists in ((process_a, device_a, there[0]), (process_b, device_b, there[1])):
        if exists:
            _in_namespace(process, "ip", "link", "delete", device)
    pair = ["ip", "link", "add", device_a, "netns", str(process_a), "type", "veth"]
    run([*pair, "peer", "name", device_b, "netns", str(process_b)])
    return True


def is_up(plan: Plan, cable: Cable) -> bool:
    """Whether both ends of the cable have a carrier."""
    links = [_link(process, device) for process, device in ends(plan, cable)]
    return all(link is not None and link.get("operstate") == "UP" for link in links)


def set_plugged(plan: Plan, cable: Cable, *, plugged: bool) -> None:
    """Take the carrier of a cable away, or give it back: what pulling and plugging it does."""
    for process, device in ends(plan, cable):
        _in_namespace(process, "ip", "link", "set", device, "up" if plugged else "down")
