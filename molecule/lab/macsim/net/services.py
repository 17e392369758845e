"""Network services as networksetup keeps them: pure data, read from and written to the kept state."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from macsim.core import state
from macsim.core.context import Context
from macsim.core.node import Node, derived_mac

BRIDGE_PORT = "Thunderbolt Bridge"


class HardwarePort(NamedTuple):
    """One hardware port: its name, its device, and the largest MTU that it takes, in bytes."""

    name: str
    device: str
    mtu_max: int


class Service(NamedTuple):
    """One network service.

    Attributes:
        name: Its name.
        port: Name of its hardware port.
        device: Device of its hardware port.
        enabled: Whether it is switched on.
        method: IPv4: dhcp, manual or off.
        address: IPv4 address, when manual.
        mask: Subnet mask, when manual.
        router: Router, when manual; may be empty.
        ipv6: automatic, linklocal, or off.
    """

    name: str
    port: str
    device: str
    enabled: bool = True
    method: str = "dhcp"
    address: str = ""
    mask: str = ""
    router: str = ""
    ipv6: str = "automatic"


class Preferences(NamedTuple):
    """What a Mac keeps about its network: the services in order, and the MTU set for a device."""

    services: tuple[Service, ...]
    mtu: dict[str, int]

    def find(self, name: str) -> Service | None:
        """Return the service of that name."""
        return next((service for service in self.services if service.name == name), None)

    def replace(self, changed: Service) -> Preferences:
        """Return these preferences with one service changed."""
        return self._replace(
            services=tuple(changed if service.name == changed.name else service for service in self.services)
        )


def hardware_ports(node: Node) -> list[HardwarePort]:
    """Return the ports in the order of `networksetup -listallhardwareports`."""
    ports = [HardwarePort("Ethernet", node.management_device, 9000)]
    ports += [HardwarePort(f"Ethernet Adapter ({name})", name, 1500) for name in node.adapter_devices]
    ports.append(HardwarePort(BRIDGE_PORT, "bridge0", 65518))
    ports.append(HardwarePort("Wi-Fi", node.wifi_device, 1500))
    # 65518 bytes is the largest MTU that the settings of a Thunderbolt port were seen to offer.
    ports += [HardwarePort(port.name, port.device, 65518) for port in node.ports]
    return ports


def port_mac(context: Context, port: HardwarePort) -> str:
    """Return the hardware address of a port; bridge0 has that of the first Thunderbolt port."""
    node = context.node
    device = node.ports[0].device if port.device == "bridge0" and node.ports else port.device
    real = {interface.name: interface.mac for interface in context.linux.interfaces()}
    return real.get(device, derived_mac(node.hostname, device))


def new_preferences(node: Node) -> Preferences:
    """Return what a new Mac has: services for Ethernet, bridge and Wi-Fi, none for a Thunderbolt port."""
    return Preferences(
        (
            Service("Ethernet", "Ethernet", node.management_device),
            Service(BRIDGE_PORT, BRIDGE_PORT, "bridge0"),
            Service("Wi-Fi", "Wi-Fi", node.wifi_device),
        ),
        {},
    )


def path(context: Context) -> Path:
    """Return the file of the preferences."""
    return context.paths.kept / "network.json"


def load(context: Context) -> Preferences:
    """Return the preferences."""
    raw = state.load(path(context), None)
    return new_preferences(context.node) if raw is None else _parse(raw)


def save(context: Context, preferences: Preferences) -> None:
    """Keep the preferences over restarts."""
    with state.locked(path(context)):
        state.save(
            path(context),
            {"services": [service._asdict() for service in preferences.services], "mtu": preferences.mtu},
        )


def _parse(raw: dict[str, Any]) -> Preferences:
    return Preferences(tuple(Service(**service) for service in raw["services"]), dict(raw["mtu"]))
