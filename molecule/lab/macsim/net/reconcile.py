"""What configd does: brings the real interfaces to what the services say, also when a cable comes back."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple

from macsim.core import state
from macsim.core.context import Context
from macsim.core.linux import Interface
from macsim.net.services import Preferences, load


class Step(NamedTuple):
    """One change to a real interface: up, mtu, add or remove, with its value."""

    device: str
    action: str
    value: str


def plan(
    preferences: Preferences,
    ports: tuple[str, ...],
    interfaces: list[Interface],
    applied: dict[str, list[str]],
) -> tuple[list[Step], dict[str, list[str]]]:
    """Decide what to change.

    Only Thunderbolt ports are touched: the management interface belongs to the lab. Addresses set by
    `ifconfig` are left alone; those that come from a service go when the service or the cable goes.

    Args:
        preferences: The services.
        ports: Devices of the Thunderbolt ports.
        interfaces: The real interfaces.
        applied: Addresses (CIDR) that an earlier call gave each device.

    Returns:
        The steps in order, and the new `applied`.
    """
    steps: list[Step] = []
    now: dict[str, list[str]] = {}
    wanted = {
        service.device: f"{service.address}/{ipaddress.IPv4Network(f'0.0.0.0/{service.mask}').prefixlen}"
        for service in preferences.services
        if service.enabled and service.method == "manual"
    }
    for interface in interfaces:
        device = interface.name
        if device not in ports:
            continue
        if not interface.up:
            steps.append(Step(device, "up", ""))
        mtu = preferences.mtu.get(device)
        if mtu is not None and mtu != interface.mtu:
            steps.append(Step(device, "mtu", str(mtu)))
        present = {f"{address}/{prefix}" for address, prefix in interface.inet}
        # A service gives its address only while the cable carries.
        target = wanted.get(device) if interface.carrier else None
        for old in applied.get(device, []):
            if old != target and old in present:
                steps.append(Step(device, "remove", old))
        if target is not None:
            now[device] = [target]
            if target not in present:
                steps.append(Step(device, "add", target))
    return steps, now


def reconcile(context: Context) -> list[Step]:
    """Carry out the plan; return what was done."""
    path = context.paths.volatile / "configd.json"
    with state.locked(path):
        steps, applied = plan(
            load(context),
            tuple(port.device for port in context.node.ports),
            context.linux.interfaces(),
            state.load(path, {}),
        )
        for step in steps:
            if step.action == "up":
                context.linux.set_link(step.device, up=True)
            elif step.action == "mtu":
                context.linux.set_link(step.device, mtu=int(step.value))
            else:
                address, _, prefix = step.value.partition("/")
                change = context.linux.add_address if step.action == "add" else context.linux.remove_address
                change(step.device, address, int(prefix))
        state.save(path, applied)
    return steps
