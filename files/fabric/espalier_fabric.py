#!/usr/bin/python3
"""espalier-fabric: keeps this machine's part of the Thunderbolt fabric as fabric.json declares it.

    espalier-fabric                 put right what differs (what the job dev.espalier.fabric does)
    espalier-fabric --check         change nothing; exit 0 as declared, 1 differs, 2 cannot tell; prints JSON
    espalier-fabric bridge          only take the Thunderbolt ports out of their bridge
    espalier-fabric remove          undo: addresses, services, MTU and forwarding as they were found
    espalier-fabric reach           see that every node's fabric address answers; names the cable when not

It finds the device of each port itself, because device numbers do not follow the port numbers. It touches
Thunderbolt ports, their bridge, the loopback's fabric address and IPv4 forwarding, and nothing else: no
Ethernet, no Wi-Fi, no network location. What it changed it notes in fabric-undo.json.

Standard library only; runs on the Python 3.9 of Apple's Command Line Tools. Reading, deciding and doing are
apart: the parsers and `plan_*` are pure.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import ipaddress
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

AS_DECLARED, DIFFERS, CANNOT_TELL = 0, 1, 2

CONFIG = Path("/etc/espalier/fabric.json")
KEY = Path("/etc/espalier/babel.key")
BABELD_CONFIG = Path("/etc/espalier/babeld.conf")
UNDO = Path("/etc/espalier/fabric-undo.json")
LOCK = Path("/var/run/espalier-fabric.lock")
BABELD_STATE = "/var/run/espalier-babel-state"
SERVICE = "Espalier Thunderbolt {port}"
DEFAULT_MTU = 1500  # bytes; what a Thunderbolt port has when nobody set it

# Seconds that configd may take to give an address after a service was changed.
CONFIGD_S = 5.0
# A refused connection is an answer too, so any port does; SSH is open on every node.
PROBE_PORT = 22


class CannotTellError(Exception):
    """The state of this machine could not be read; the message says what to look at."""


# ---------------------------------------------------------------------------- what was declared


@dataclass(frozen=True)
class Link:
    """One end of a cable. `device` is declared on Linux and found on a Mac, where it is empty."""

    port: int
    address: str
    netmask: str
    peer: str
    peer_port: int
    peer_address: str
    device: str = ""

    @property
    def prefix(self) -> int:
        """Length of the netmask."""
        return ipaddress.IPv4Network(f"0.0.0.0/{self.netmask}").prefixlen


@dataclass(frozen=True)
class Declared:
    """This node's part of the plan.

    Attributes:
        node: its name.
        system: Darwin or Linux.
        address: its fabric address.
        range: the private /16 of the fabric.
        mtu: bytes, of every cable.
        restore_bridge: whether an undo puts the ports back in their bridge; not where the cables make a loop.
        links: its ends of cables.
        peers: the fabric addresses of the others by name.
        hello_interval_s: seconds between two hellos of the routing daemon.
        update_interval_s: seconds between two of its full announcements.
    """

    node: str
    system: str
    address: str
    range: str
    mtu: int
    restore_bridge: bool
    links: tuple[Link, ...]
    peers: dict[str, str]
    hello_interval_s: float
    update_interval_s: float

    def cable(self, link: Link) -> str:
        """A cable as people say it."""
        return f"cable {self.node} port {link.port} to {link.peer} port {link.peer_port}"


def parse_declared(text: str) -> Declared:
    """Read fabric.json.

    Raises:
        CannotTellError: it is not what the role thunderbolt writes.
    """
    try:
        raw = json.loads(text)
        links = tuple(
            Link(**{key: entry[key] for key in Link.__dataclass_fields__ if key in entry}) for entry in raw["links"]
        )
        return Declared(
            node=str(raw["node"]),
            system=str(raw["system"]),
            address=str(ipaddress.IPv4Address(raw["address"])),
            range=str(ipaddress.IPv4Network(raw["range"])),
            mtu=int(raw["mtu"]),
            restore_bridge=bool(raw["restore_bridge"]),
            links=links,
            peers={entry["node"]: entry["address"] for entry in raw["peers"]},
            hello_interval_s=float(raw["babel"]["hello_interval_s"]),
            update_interval_s=float(raw["babel"]["update_interval_s"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise CannotTellError(
            f"fabric.json is not readable as the plan of a node ({type(error).__name__}: {error}). "
            "ansible-playbook site.yml writes it anew."
        ) from error


# ---------------------------------------------------------------------------- what the tools print


@dataclass(frozen=True)
class Interface:
    """One interface, as `ifconfig -a` or `ip -json address` shows it. `inet`: (address, prefix length)."""

    name: str
    up: bool = False
    active: bool = False
    mtu: int = 0
    inet: tuple[tuple[str, int], ...] = ()
    link_local: bool = False
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class Service:
    """A network service of macOS."""

    name: str
    enabled: bool
    port: str
    device: str


@dataclass(frozen=True)
class ServiceInfo:
    """How a service is configured. `method` is manual, dhcp, another first word, or empty."""

    method: str = ""
    address: str = ""
    netmask: str = ""
    ipv6: str = ""


def parse_hardware_ports(text: str) -> dict[int, str]:
    """Device by number of the Thunderbolt port, from `networksetup -listallhardwareports`.

    A bridge, an adapter in a port ("Thunderbolt Ethernet Slot 1") and a dock are no Thunderbolt ports.
    """
    ports: dict[int, str] = {}
    number = None
    for line in text.splitlines():
        key, _, value = line.strip().partition(": ")
        if key == "Hardware Port":
            found = re.fullmatch(r"Thunderbolt (\d+)", value.strip())
            number = int(found.group(1)) if found else None
        elif key == "Device" and number is not None and value.strip():
            ports[number] = value.strip()
            number = None
    return ports


def parse_service_order(text: str) -> list[Service]:
    """The services in order, from `networksetup -listnetworkserviceorder`."""
    services = []
    head: tuple[bool, str] | None = None
    for line in text.splitlines():
        named = re.fullmatch(r"\((\d+|\*)\) (.*)", line.rstrip("\r\n"))
        place = re.fullmatch(r"\(Hardware Port: (.*), Device: ?(.*)\)", line.strip())
        if place and head:
            services.append(Service(head[1], head[0], place.group(1), place.group(2)))
            head = None
        elif named:
            head = (named.group(1) != "*", named.group(2))
    return services


def parse_info(text: str) -> ServiceInfo:
    """How a service is configured, from `networksetup -getinfo`."""
    values: dict[str, str] = {}
    method = ""
    for line in text.splitlines():
        key, separator, value = line.strip().partition(": ")
        if separator:
            values.setdefault(key, value.strip())
        elif key.endswith("Configuration") and not method:
            method = key.split()[0].lower()
    return ServiceInfo(
        method=method,
        address=values.get("IP address", ""),
        netmask=values.get("Subnet mask", ""),
        ipv6=values.get("IPv6", ""),
    )


def parse_ifconfig(text: str) -> dict[str, Interface]:
    """The interfaces by name, from macOS's `ifconfig -a` or `ifconfig <name>`."""
    blocks: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        head = re.match(r"([A-Za-z][\w.]*): flags=", line)
        if head:
            blocks.append((head.group(1), [line]))
        elif blocks:
            blocks[-1][1].append(line)
    return {name: _interface(name, lines) for name, lines in blocks}


def _interface(name: str, lines: Sequence[str]) -> Interface:
    block = "\n".join(lines)
    flags = re.search(r"flags=\w+<([^>]*)>", block)
    mtu = re.search(r"\bmtu (\d+)", block)
    inet = []
    for found in re.finditer(r"^\s*inet (\S+)(?: --> \S+)? netmask 0x([0-9a-fA-F]{8})", block, re.M):
        inet.append((found.group(1), bin(int(found.group(2), 16)).count("1")))
    return Interface(
        name=name,
        up=bool(flags) and "UP" in flags.group(1).split(",") if flags else False,
        active=re.search(r"^\s*status: active\s*$", block, re.M) is not None,
        mtu=int(mtu.group(1)) if mtu else 0,
        inet=tuple(inet),
        link_local=re.search(r"^\s*inet6 fe80:", block, re.M) is not None,
        members=tuple(re.findall(r"^\s*member: (\S+)", block, re.M)),
    )


def parse_ip_json(text: str) -> dict[str, Interface]:
    """The interfaces by name, from Linux's `ip -json address`; a bridge lists its members."""
    found: dict[str, Interface] = {}
    members: dict[str, list[str]] = {}
    for entry in json.loads(text or "[]"):
        if "ifname" not in entry:
            continue
        addresses = entry.get("addr_info", [])
        flags = entry.get("flags", [])
        if entry.get("master"):
            members.setdefault(entry["master"], []).append(entry["ifname"])
        found[entry["ifname"]] = Interface(
            name=entry["ifname"],
            up="UP" in flags,
            active="LOWER_UP" in flags,
            mtu=int(entry.get("mtu", 0)),
            inet=tuple((a["local"], a["prefixlen"]) for a in addresses if a.get("family") == "inet"),
            link_local=any(a.get("family") == "inet6" and a.get("scope") == "link" for a in addresses),
        )
    return {
        name: Interface(**{**asdict(one), "inet": one.inet, "members": tuple(members.get(name, ()))})
        for name, one in found.items()
    }


# ---------------------------------------------------------------------------- what is, what to do


@dataclass(frozen=True)
class Facts:
    """The machine as it is.

    Attributes:
        devices: device by number of the Thunderbolt port.
        interfaces: the interfaces by name.
        services: the network services of a Mac, in order.
        infos: the configuration of our services by name.
        forwarding: whether IPv4 packets are forwarded.
        babeld_config: content of the routing daemon's configuration, None when there is none.
        key: the fabric's key, None when there is none.
        undo: what an earlier run noted.
    """

    devices: dict[int, str]
    interfaces: dict[str, Interface]
    services: tuple[Service, ...] = ()
    infos: dict[str, ServiceInfo] = field(default_factory=dict)
    forwarding: bool = False
    babeld_config: str | None = None
    key: str | None = None
    undo: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """One difference, and what puts it right.

    Attributes:
        place: what differs, as a person names it.
        want: what is declared.
        have: what is.
        command: what puts it right; empty when only a person can (a cable that is not plugged in), or when
            this program itself does it.
        act: what this program does itself: write-babeld, delete-babeld, or nothing.
        note: a key and value for the undo file, written before the step.
        late: configd does it on its own shortly after the other steps.
    """

    place: str
    want: str
    have: str
    command: tuple[str, ...] = ()
    act: str = ""
    note: tuple[str, Any] | None = None
    late: bool = False

    @property
    def can_act(self) -> bool:
        """Whether this program puts it right."""
        return bool(self.command or self.act)


def device_of(declared: Declared, facts: Facts, link: Link) -> str:
    """The device of a cable's port, empty when the machine has no such port."""
    return link.device or facts.devices.get(link.port, "")


def babeld_config(declared: Declared, facts: Facts) -> str:
    """The routing daemon's configuration: it speaks on cables, with a key, of fabric addresses alone."""
    fabric = ipaddress.IPv4Network(declared.range)
    addresses = f"{fabric.network_address}/24"
    devices = [device for device in (device_of(declared, facts, link) for link in declared.links) if device]
    lines = [
        "# Written by espalier-fabric; changes here are lost.",
        "# A new router id at each start: neighbours take a restarted node back at once.",
        "random-id true",
        f"state-file {BABELD_STATE}",
        # babeld would switch IPv6 forwarding on, and with it a Mac's router discovery on Ethernet off.
        "skip-kernel-setup true",
        "link-detect true",
        f"key id fabric type hmac-sha256 value {facts.key}",
        f"default type wired hello-interval {declared.hello_interval_s:g} "
        f"update-interval {declared.update_interval_s:g} key fabric",
        *(f"interface {device}" for device in devices),
        f"redistribute local ip {declared.address}/32 eq 32 allow",
        "redistribute local deny",
        "redistribute deny",
        f"in ip {addresses} eq 32 allow",
        "in deny",
        f"out ip {addresses} eq 32 allow",
        "out deny",
    ]
    if declared.system == "Linux":
        lines.append(f"install ip {addresses} eq 32 pref-src {declared.address}")
    return "\n".join(lines) + "\n"


def plan_bridge(declared: Declared, facts: Facts) -> list[Step]:
    """Take every Thunderbolt port out of its bridge, which is known by its members, not by its name."""
    steps = []
    ports = set(facts.devices.values()) | {link.device for link in declared.links if link.device}
    for bridge in facts.interfaces.values():
        inside = [member for member in bridge.members if member in ports]
        if inside and declared.system == "Darwin":
            for service in facts.services:
                if service.device == bridge.name and service.enabled:
                    steps.append(_disable(service))
        for member in inside:
            command: tuple[str, ...] = ("ifconfig", bridge.name, "deletem", member)
            if declared.system == "Linux":
                command = ("ip", "link", "set", "dev", member, "nomaster")
            place, note = f"{member} in {bridge.name}", ("members", [[bridge.name, member]])
            steps.append(Step(place, "not a member", "a member", command, note=note))
    return steps


def _disable(service: Service) -> Step:
    command = ("networksetup", "-setnetworkserviceenabled", service.name, "off")
    note = ("services", [service.name])
    return Step(f"service {service.name}", "disabled", "enabled", command, note=note)


def plan_apply(declared: Declared, facts: Facts) -> list[Step]:
    """Everything that differs from what is declared, in the order in which it is put right."""
    steps = plan_bridge(declared, facts)
    for link in declared.links:
        device = device_of(declared, facts, link)
        interface = facts.interfaces.get(device)
        if not device or interface is None:
            have = f"no device {device}" if device else "no such port"
            steps.append(Step(declared.cable(link), f"port {link.port}", have))
            continue
        if declared.system == "Darwin":
            steps += _plan_service(declared, facts, link, device)
        steps += _plan_device(declared, link, interface)
    loopback = "lo0" if declared.system == "Darwin" else "lo"
    if (declared.address, 32) not in facts.interfaces.get(loopback, Interface(loopback)).inet:
        steps.append(_add_address(declared, loopback, declared.address, 32, f"fabric address on {loopback}"))
    if not facts.forwarding:
        name = "net.inet.ip.forwarding" if declared.system == "Darwin" else "net.ipv4.ip_forward"
        steps.append(Step("IPv4 forwarding", "on", "off", ("sysctl", "-w", f"{name}=1"), note=("forwarding", False)))
    if facts.key is None:
        steps.append(Step(str(KEY), "the fabric's key", "missing"))
    elif facts.babeld_config != babeld_config(declared, facts):
        have = "missing" if facts.babeld_config is None else "other content"
        steps.append(Step(str(BABELD_CONFIG), "as declared", have, act="write-babeld"))
    return steps


def _plan_service(declared: Declared, facts: Facts, link: Link, device: str) -> list[Step]:
    """The service of a cable on a Mac: it is what brings the address back after a start or a new plug."""
    steps = []
    name = SERVICE.format(port=link.port)
    place = f"service {name}"
    present = next((service for service in facts.services if service.name == name), None)
    for other in facts.services:
        if other.device == device and other.name != name and other.enabled:
            steps.append(_disable(other))
    if present is not None and present.device != device:
        steps.append(
            Step(place, f"on {device}", f"on {present.device}", ("networksetup", "-removenetworkservice", name))
        )
        present = None
    if present is None:
        create = ("networksetup", "-createnetworkservice", name, f"Thunderbolt {link.port}")
        steps.append(Step(place, f"on {device}", "missing", create))
    elif not present.enabled:
        enable = ("networksetup", "-setnetworkserviceenabled", name, "on")
        steps.append(Step(place, "enabled", "disabled", enable))
    info = facts.infos.get(name, ServiceInfo()) if present is not None else ServiceInfo()
    if (info.method, info.address, info.netmask) != ("manual", link.address, link.netmask):
        have = f"{info.method} {info.address}".strip() or "no address"
        # The empty word stands for the router: a cable leads to one peer and to nowhere else.
        manual = ("networksetup", "-setmanual", name, link.address, link.netmask, "")
        steps.append(Step(place, f"manual {link.address}", have, manual))
    if info.ipv6 in ("", "Off", "Automatic"):
        # babeld speaks over IPv6 link-local addresses; router discovery has no place on a cable.
        have = f"IPv6 {info.ipv6 or 'automatic'}"
        steps.append(Step(place, "IPv6 link-local", have, ("networksetup", "-setv6LinkLocal", name)))
    return steps


def _plan_device(declared: Declared, link: Link, interface: Interface) -> list[Step]:
    steps = []
    mac = declared.system == "Darwin"
    cable = declared.cable(link)
    device = interface.name
    if interface.mtu != declared.mtu:
        command: tuple[str, ...] = ("networksetup", "-setMTU", device, str(declared.mtu))
        if not mac:
            command = ("ip", "link", "set", "dev", device, "mtu", str(declared.mtu))
        steps.append(Step(f"MTU of {device} ({cable})", str(declared.mtu), str(interface.mtu), command))
    if not interface.up:
        command = ("ifconfig", device, "up") if mac else ("ip", "link", "set", "dev", device, "up")
        steps.append(Step(f"{device} ({cable})", "up", "down", command))
    elif not interface.active:
        steps.append(Step(f"{device} ({cable})", "a link", "no link: is the cable plugged in at both ends?"))
    if (link.address, link.prefix) not in interface.inet and (interface.active or not mac):
        place = f"address on {device} ({cable})"
        steps.append(_add_address(declared, device, link.address, link.prefix, place, late=mac))
    return steps


def _add_address(declared: Declared, device: str, address: str, prefix: int, place: str, *, late: bool = False) -> Step:
    if declared.system == "Darwin":
        netmask = str(ipaddress.IPv4Network(f"0.0.0.0/{prefix}").netmask)
        command: tuple[str, ...] = ("ifconfig", device, "alias", address, "netmask", netmask)
    else:
        command = ("ip", "address", "add", f"{address}/{prefix}", "dev", device)
    return Step(place, f"{address}/{prefix}", "missing", command, late=late)


def plan_remove(declared: Declared, facts: Facts) -> list[Step]:
    """Undo: what is there of ours, and what the undo file says of how it was before."""
    steps = []
    mac = declared.system == "Darwin"
    for link in declared.links:
        device = device_of(declared, facts, link)
        interface = facts.interfaces.get(device, Interface(device))
        name = SERVICE.format(port=link.port)
        if any(service.name == name for service in facts.services):
            gone = ("networksetup", "-removenetworkservice", name)
            steps.append(Step(f"service {name}", "gone", "there", gone))
        if interface.mtu not in (0, DEFAULT_MTU) and interface.mtu == declared.mtu:
            command: tuple[str, ...] = ("networksetup", "-setMTU", device, str(DEFAULT_MTU))
            if not mac:
                command = ("ip", "link", "set", "dev", device, "mtu", str(DEFAULT_MTU))
            steps.append(Step(f"MTU of {device}", str(DEFAULT_MTU), str(interface.mtu), command))
        if (link.address, link.prefix) in interface.inet:
            # On a Mac the address goes with its service, shortly after.
            steps.append(_drop_address(declared, device, link.address, link.prefix, late=mac))
    loopback = "lo0" if mac else "lo"
    if (declared.address, 32) in facts.interfaces.get(loopback, Interface(loopback)).inet:
        steps.append(_drop_address(declared, loopback, declared.address, 32))
    if facts.undo.get("forwarding") is False and facts.forwarding:
        name = "net.inet.ip.forwarding" if mac else "net.ipv4.ip_forward"
        steps.append(Step("IPv4 forwarding", "off", "on", ("sysctl", "-w", f"{name}=0")))
    bridges = facts.undo.get("members", []) if declared.restore_bridge else []
    for bridge, member in bridges:
        there = facts.interfaces.get(bridge)
        if there is not None and member in facts.interfaces and member not in there.members:
            add: tuple[str, ...] = ("ifconfig", bridge, "addm", member)
            if not mac:
                add = ("ip", "link", "set", "dev", member, "master", bridge)
            steps.append(Step(f"{member} in {bridge}", "a member", "not a member", add))
    for service in facts.services:
        restore = declared.restore_bridge or not service.device.startswith("bridge")
        if restore and not service.enabled and service.name in facts.undo.get("services", []):
            on = ("networksetup", "-setnetworkserviceenabled", service.name, "on")
            steps.append(Step(f"service {service.name}", "enabled", "disabled", on))
    if facts.babeld_config is not None:
        steps.append(Step(str(BABELD_CONFIG), "gone", "there", act="delete-babeld"))
    return steps


def _drop_address(declared: Declared, device: str, address: str, prefix: int, *, late: bool = False) -> Step:
    command: tuple[str, ...] = ("ifconfig", device, "-alias", address)
    if declared.system == "Linux":
        command = ("ip", "address", "del", f"{address}/{prefix}", "dev", device)
    return Step(f"address on {device}", "gone", f"{address}/{prefix}", command, late=late)


PLANS = {"apply": plan_apply, "bridge": plan_bridge, "remove": plan_remove}


def explain(declared: Declared, facts: Facts, silent: Sequence[str], mute_links: Sequence[Link]) -> list[str]:
    """Sentences for the nodes that do not answer, with the cables that may be why."""
    lines = []
    doubtful = []
    for link in declared.links:
        interface = facts.interfaces.get(device_of(declared, facts, link))
        if interface is None:
            doubtful.append(f"{declared.cable(link)}: this machine has no port {link.port}")
        elif not interface.active:
            doubtful.append(f"{declared.cable(link)}: no link on {interface.name}, is it plugged in at both ends?")
        elif link in mute_links:
            doubtful.append(
                f"{declared.cable(link)}: {interface.name} has a link, and {link.peer_address} does not answer: "
                f"does the cable end in port {link.peer_port} of {link.peer}?"
            )
    for name in silent:
        lines.append(f"{declared.node} does not reach {name} at {declared.peers[name]} over the fabric.")
    if silent and not doubtful:
        doubtful.append(
            f"The cables of {declared.node} are well; look at those of {', '.join(silent)}, and at babeld on "
            "the nodes between."
        )
    return lines + (doubtful if silent else [])


# ---------------------------------------------------------------------------- reading and doing


def run(command: Sequence[str]) -> tuple[int, str]:
    """Run a command; its status, and what it printed on both streams."""
    environment = {**os.environ, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program with words of the checked plan, no shell
            list(command), capture_output=True, text=True, timeout=60, env=environment, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return 127, str(error)
    return done.returncode, done.stdout + done.stderr


def read(command: Sequence[str]) -> str:
    """What a command prints.

    Raises:
        CannotTellError: it fails.
    """
    status, said = run(command)
    if status != 0:
        raise CannotTellError(f"{' '.join(command)} ended with {status}: {' '.join(said.split())[:300]}")
    return said


def read_file(path: Path) -> str | None:
    """The content of a file, None when there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CannotTellError(f"{path} cannot be read ({error.strerror}); run it as root.") from error


def read_facts(declared: Declared) -> Facts:
    """Look at the machine."""
    key = read_file(KEY)
    common: dict[str, Any] = {
        "babeld_config": read_file(BABELD_CONFIG),
        "key": key.strip() if key else None,
        "undo": _read_undo(),
    }
    if declared.system == "Linux":
        return Facts(
            devices={link.port: link.device for link in declared.links if link.device},
            interfaces=parse_ip_json(read(["ip", "-json", "address", "show"])),
            forwarding=read(["sysctl", "-n", "net.ipv4.ip_forward"]).strip() == "1",
            **common,
        )
    services = tuple(parse_service_order(read(["networksetup", "-listnetworkserviceorder"])))
    ours = {SERVICE.format(port=link.port) for link in declared.links}
    return Facts(
        devices=parse_hardware_ports(read(["networksetup", "-listallhardwareports"])),
        interfaces=parse_ifconfig(read(["ifconfig", "-a"])),
        services=services,
        infos={
            service.name: parse_info(read(["networksetup", "-getinfo", service.name]))
            for service in services
            if service.name in ours
        },
        forwarding=read(["sysctl", "-n", "net.inet.ip.forwarding"]).strip() == "1",
        **common,
    )


def _read_undo() -> dict[str, Any]:
    text = read_file(UNDO)
    try:
        undo = json.loads(text) if text else {}
    except ValueError:
        undo = {}
    return undo if isinstance(undo, dict) else {}


def write_file(path: Path, content: str, mode: int) -> None:
    """Replace a file in one step."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content)
        draft.chmod(mode)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def do(step: Step, declared: Declared, facts: Facts) -> str:
    """Carry out one step; what went wrong, or nothing."""
    if step.note is not None:
        key, value = step.note
        undo = _read_undo()
        if isinstance(value, list):
            undo[key] = undo.get(key, []) + [one for one in value if one not in undo.get(key, [])]
        else:
            undo.setdefault(key, value)
        write_file(UNDO, json.dumps(undo, indent=2) + "\n", 0o600)
    if step.act == "write-babeld":
        write_file(BABELD_CONFIG, babeld_config(declared, facts), 0o600)
        _restart_babeld(declared)
    elif step.act == "delete-babeld":
        BABELD_CONFIG.unlink(missing_ok=True)
    elif step.command:
        status, said = run(step.command)
        if status != 0:
            return f"{' '.join(step.command)} ended with {status}: {' '.join(said.split())[:300]}"
    return ""


def _restart_babeld(declared: Declared) -> None:
    """Only where it is set up already; the role does that, after the first configuration is there."""
    if declared.system == "Linux":
        run(["systemctl", "try-restart", "espalier-babeld.service"])
    elif run(["launchctl", "print", "system/dev.espalier.babeld"])[0] == 0:
        run(["launchctl", "kickstart", "-k", "system/dev.espalier.babeld"])


def carry_out(action: str, declared: Declared) -> tuple[list[Step], list[str], list[Step]]:
    """Do what the plan says; the steps that were taken, what went wrong, and what differs afterwards."""
    plan = PLANS[action]
    taken: list[Step] = []
    errors: list[str] = []
    facts = read_facts(declared)
    for step in plan(declared, facts):
        if step.can_act and not step.late:
            errors += filter(None, [do(step, declared, facts)])
            taken.append(step)
    deadline = time.monotonic() + CONFIGD_S
    while True:
        facts = read_facts(declared)
        late = [step for step in plan(declared, facts) if step.late]
        if not late or time.monotonic() > deadline:
            break
        time.sleep(0.25)
    for step in late:
        errors += filter(None, [do(step, declared, facts)])
        taken.append(step)
    left = plan(declared, read_facts(declared)) if taken else plan(declared, facts)
    if action == "remove" and not errors and not left:
        UNDO.unlink(missing_ok=True)
    return taken, errors, left


def answers(peer: str, source: str, timeout_s: float) -> bool:
    """Whether an address answers a connection that comes from ours; a refusal is an answer."""
    try:
        with socket.create_connection((peer, PROBE_PORT), timeout=timeout_s, source_address=(source, 0)):
            return True
    except ConnectionRefusedError:
        return True
    except OSError:
        return False


def reach(declared: Declared, timeout_s: float) -> list[str]:
    """Sentences about the nodes whose fabric address does not answer within the timeout; none when all do."""
    deadline = time.monotonic() + timeout_s
    silent = list(declared.peers)
    while True:
        silent = [name for name in silent if not answers(declared.peers[name], declared.address, 1.0)]
        if not silent or time.monotonic() > deadline:
            break
        time.sleep(0.25)
    if not silent:
        return []
    mute = [link for link in declared.links if not answers(link.peer_address, link.address, 1.0)]
    return explain(declared, read_facts(declared), silent, mute)


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Wait for another run of this program to end: the job and a person may start it at one time."""
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def wait_for_ports(declared: Declared, timeout_s: float) -> None:
    """After a start, wait until the ports of all cables are known: configd takes some seconds."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        with contextlib.suppress(CannotTellError):
            facts = read_facts(declared)
            if all(device_of(declared, facts, link) in facts.interfaces for link in declared.links):
                return
        time.sleep(1.0)


def shown(step: Step) -> dict[str, str]:
    """A step for the report."""
    return {"what": step.place, "want": step.want, "have": step.have}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one action; see the top of this file."""
    text = (__doc__ or "").split("\n\n")[0]
    parser = argparse.ArgumentParser(prog="espalier-fabric", description=text)
    parser.add_argument("action", nargs="?", choices=[*PLANS, "reach"], default="apply")
    parser.add_argument("--check", action="store_true", help="change nothing, say what differs")
    parser.add_argument("--config", type=Path, default=CONFIG, help="this node's part of the plan")
    parser.add_argument("--plan", help="the same as JSON text, for a machine that has no such file yet")
    parser.add_argument("--wait", type=float, default=0.0, help="seconds to wait for the ports, or for answers")
    parser.add_argument("--quiet", action="store_true", help="print only when something was done")
    options = parser.parse_args(arguments)
    try:
        declared = _declared(options)
        if options.action == "reach":
            silent = reach(declared, options.wait)
            print(json.dumps({"unreachable": silent}, indent=2))
            return DIFFERS if silent else AS_DECLARED
        if options.check:
            steps = PLANS[options.action](declared, read_facts(declared))
            print(json.dumps({"differences": [shown(step) for step in steps]}, indent=2))
            return DIFFERS if steps else AS_DECLARED
        wait_for_ports(declared, options.wait)
        with alone():
            taken, errors, left = carry_out(options.action, declared)
    except (CannotTellError, OSError) as error:
        print(json.dumps({"error": str(error)}, indent=2))
        return CANNOT_TELL
    report: dict[str, Any] = {
        "done": [shown(step) for step in taken],
        "errors": errors,
        "differences": [shown(step) for step in left],
    }
    if taken or not options.quiet:
        print(json.dumps(report, indent=2), flush=True)
    return DIFFERS if left else AS_DECLARED


def _declared(options: argparse.Namespace) -> Declared:
    text = options.plan or read_file(options.config)
    if text is None:
        raise CannotTellError(f"{options.config} is missing: this machine has no part in a fabric.")
    declared = parse_declared(text)
    if declared.system not in ("Darwin", "Linux"):
        raise CannotTellError(f"fabric.json: system is {declared.system!r}; Darwin and Linux are known.")
    return declared


if __name__ == "__main__":
    sys.exit(main())
