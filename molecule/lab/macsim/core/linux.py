"""The Linux system underneath: the only place that calls its network tools."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

# A Mac's loopback is lo0, Linux's is lo; every other device has the same name on both.
_TO_LINUX = {"lo0": "lo"}
_TO_MAC = {"lo": "lo0"}

# Routes made by `route add -host` are marked with this routing protocol number, so that the table shows them
# as a Mac does; rtnetlink(7) leaves numbers above 4 to the user, and iproute2 names none for this one.
HOST_ROUTE_PROTOCOL = "250"


class Address(NamedTuple):
    """One address of an interface."""

    address: str
    prefix: int


class Interface(NamedTuple):
    """One real interface, under the name that a Mac would give it.

    Attributes:
        name: Name on the Mac.
        number: Its number.
        mac: Hardware address.
        mtu: Largest packet in bytes.
        up: Whether it is switched on.
        carrier: Whether a cable is connected and the other end is on.
        inet: Its IPv4 addresses.
        inet6: Its IPv6 addresses.
    """

    name: str
    number: int
    mac: str
    mtu: int
    up: bool
    carrier: bool
    inet: tuple[Address, ...]
    inet6: tuple[Address, ...]


class Counters(NamedTuple):
    """What an interface has counted."""

    packets_in: int
    errors_in: int
    bytes_in: int
    packets_out: int
    errors_out: int
    bytes_out: int


class Route(NamedTuple):
    """One route: destination in CIDR form ("default" for all), gateway ("" when on the link), device."""

    destination: str
    gateway: str
    device: str
    protocol: str
    source: str = ""


class Answer(NamedTuple):
    """What a Linux tool said."""

    status: int
    out: str
    err: str


def mac_name(device: str) -> str:
    """Return the Mac's name of a Linux device."""
    return _TO_MAC.get(device, device)


def linux_name(device: str) -> str:
    """Return the Linux name of a Mac's device."""
    return _TO_LINUX.get(device, device)


class Linux:
    """Reads and changes the real interfaces and routes."""

    def __init__(self, tools: Path) -> None:
        self._tools = tools

    def tool(self, name: str) -> str:
        """Return the path of a Linux tool, which may have been moved out of the way of a simulated one."""
        moved = self._tools / name
        return str(moved) if moved.exists() else name

    def call(self, name: str, *arguments: str) -> Answer:
        """Run a Linux tool to its end."""
        done = subprocess.run(
            [self.tool(name), *arguments], capture_output=True, text=True, check=False, env=_ENVIRONMENT
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def _json(self, *arguments: str) -> list[dict[str, Any]]:
        answer = self.call("ip", "-j", *arguments)
        if answer.status != 0 or not answer.out.strip():
            return []
        rows: list[dict[str, Any]] = json.loads(answer.out)
        return [row for row in rows if row]

    def interfaces(self) -> list[Interface]:
        """Return the real interfaces, loopback first."""
        return [_interface(row) for row in self._json("address", "show") if row.get("ifname") != "sit0"]

    def counters(self) -> dict[str, Counters]:
        """Return what each interface has counted, by its name on the Mac."""
        found = {}
        for row in self._json("-s", "link", "show"):
            stats = row.get("stats64", {})
            rx, tx = stats.get("rx", {}), stats.get("tx", {})
            found[mac_name(row["ifname"])] = Counters(
                rx.get("packets", 0),
                rx.get("errors", 0),
                rx.get("bytes", 0),
                tx.get("packets", 0),
                tx.get("errors", 0),
                tx.get("bytes", 0),
            )
        return found

    def routes(self, family: int = 4) -> list[Route]:
        """Return the main routing table."""
        return [
            Route(
                row["dst"],
                row.get("gateway", ""),
                mac_name(row.get("dev", "lo")),
                str(row.get("protocol", "")),
                row.get("prefsrc", ""),
            )
            for row in self._json(f"-{family}", "route", "show")
        ]

    def route_get(self, address: str, family: int = 4) -> Route | None:
        """Return the route that a packet to an address would take."""
        rows = self._json(f"-{family}", "route", "get", address)
        if not rows or rows[0].get("type") in {"unreachable", "prohibit", "blackhole"}:
            return None
        row = rows[0]
        return Route(row["dst"], row.get("gateway", ""), mac_name(row.get("dev", "lo")), "", row.get("prefsrc", ""))

    def neighbours(self) -> list[dict[str, Any]]:
        """Return the IPv4 neighbours as `ip neigh` knows them."""
        return self._json("-4", "neigh", "show")

    def set_link(self, device: str, *, up: bool | None = None, mtu: int | None = None) -> Answer:
        """Switch an interface on or off, or set its MTU in bytes."""
        arguments = ["link", "set", "dev", linux_name(device)]
        if up is not None:
            arguments.append("up" if up else "down")
        if mtu is not None:
            arguments += ["mtu", str(mtu)]
        return self.call("ip", *arguments)

    def add_address(self, device: str, address: str, prefix: int) -> Answer:
        """Give an interface an address."""
        extra = ["broadcast", "+"] if ":" not in address and prefix < 31 else []
        return self.call("ip", "address", "add", f"{address}/{prefix}", *extra, "dev", linux_name(device))

    def remove_address(self, device: str, address: str, prefix: int) -> Answer:
        """Take an address from an interface."""
        return self.call("ip", "address", "del", f"{address}/{prefix}", "dev", linux_name(device))

    def change_route(self, verb: str, route: Route) -> Answer:
        """Add, delete or replace a route."""
        family = "-6" if ":" in route.destination or ":" in route.gateway else "-4"
        arguments = [family, "route", verb, route.destination]
        if route.gateway:
            arguments += ["via", route.gateway]
        if route.device:
            arguments += ["dev", linux_name(route.device)]
        if route.protocol and verb != "del":
            arguments += ["proto", route.protocol]
        return self.call("ip", *arguments)


# Messages are compared, so they are asked for in English.
_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}


def _interface(row: dict[str, Any]) -> Interface:
    addresses = row.get("addr_info", [])

    def of(family: str) -> tuple[Address, ...]:
        return tuple(
            Address(entry["local"], entry["prefixlen"]) for entry in addresses if entry.get("family") == family
        )

    flags = row.get("flags", [])
    return Interface(
        mac_name(row["ifname"]),
        int(row["ifindex"]),
        row.get("address", "00:00:00:00:00:00"),
        int(row["mtu"]),
        "UP" in flags,
        "LOWER_UP" in flags,
        of("inet"),
        of("inet6"),
    )
