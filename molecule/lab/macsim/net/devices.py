"""The interfaces that a simulated Mac shows: the real ones, and those that only a Mac has."""

from __future__ import annotations

from typing import NamedTuple

from macsim.core.context import Context
from macsim.core.linux import Interface
from macsim.core.node import derived_mac
from macsim.net import bridge

# if.h and if_bridgevar.h of xnu
FLAGS = (
    (0x1, "UP"),
    (0x2, "BROADCAST"),
    (0x8, "LOOPBACK"),
    (0x10, "POINTOPOINT"),
    (0x20, "SMART"),
    (0x40, "RUNNING"),
    (0x100, "PROMISC"),
    (0x800, "SIMPLEX"),
    (0x8000, "MULTICAST"),
)
LOOPBACK_MTU = 16384


class Device(NamedTuple):
    """One interface as ifconfig shows it.

    Attributes:
        interface: Name, addresses and state.
        kind: loopback, ethernet, thunderbolt, adapter, wifi or bridge.
        real: Whether there is a Linux interface behind it.
    """

    interface: Interface
    kind: str
    real: bool

    @property
    def active(self) -> bool:
        """Whether a cable is connected and the other end answers."""
        return self.interface.up and self.interface.carrier


def devices(context: Context) -> list[Device]:
    """Return every interface in the order in which a Mac mini lists them."""
    node = context.node
    real = {interface.name: interface for interface in context.linux.interfaces()}
    members = bridge.load(context).members
    found: list[Device] = []

    def add(name: str, kind: str) -> None:
        interface = real.pop(name, None)
        exists = interface is not None
        if interface is None:
            mac = derived_mac(node.hostname, name)
            # Numbers above 20: the real interfaces of a container have the low ones.
            interface = Interface(name, len(found) + 20, mac, 1500, True, False, (), ())
        found.append(Device(interface, kind, exists))

    add("lo0", "loopback")
    for name in node.adapter_devices:
        add(name, "adapter")
    add(node.management_device, "ethernet")
    for port in node.ports:
        add(port.device, "thunderbolt")
    shown = bridge.load(context)
    if shown.exists:
        first = node.ports[0].device if node.ports else ""
        mac = next((item.interface.mac for item in found if item.interface.name == first), "36:00:00:00:00:00")
        active = any(item.active for item in found if item.interface.name in members)
        found.append(Device(Interface("bridge0", 40, mac, shown.mtu, True, active, (), ()), "bridge", False))
    add(node.wifi_device, "wifi")
    # What somebody made on the Linux side still shows, so that nothing is hidden.
    for name in sorted(real):
        found.append(Device(real[name], "ethernet", True))
    return found


def find(context: Context, name: str) -> Device | None:
    """Return one interface."""
    return next((device for device in devices(context) if device.interface.name == name), None)


def flags_of(device: Device, members: tuple[str, ...]) -> int:
    """Return the flags of an interface as the kernel of a Mac has them."""
    if device.kind == "loopback":
        return 0x8049
    flags = 0x8862 | (0x1 if device.interface.up else 0)
    if not device.interface.up:
        flags &= ~0x40
    if device.interface.name in members or device.kind == "adapter":
        flags |= 0x100
    return flags


def flag_names(flags: int) -> str:
    """Return the names of the flags, separated by commas."""
    return ",".join(name for bit, name in FLAGS if flags & bit)
