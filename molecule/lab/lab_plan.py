"""What a rack consists of: hosts, models, cables and names. Nothing here touches the machine."""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, pairwise
from typing import Any

CABLINGS = ("line", "ring", "mesh", "star")
LEAST_NODES, MOST_NODES = 2, 6
HEAD = "head"
USER = "admin"

# The smallest Mac that has the ports: a mini with an M4 Pro, else a Studio with an M3 Ultra.
MODELS = (("Mac16,11", 3), ("Mac15,14", 6))
FIRST_PORT_DEVICE = 2
"""Port 1 is en2: TN3205 names en2 to en4 on a mini, and `ibv_devices` en2 to en7 on a Studio."""

# A block that neither the fabric (10.77.0.0/16) nor podman's own networks use.
MANAGEMENT_RANGE = ipaddress.ip_network("10.231.0.0/16")
_NAME = re.compile(r"[a-z][a-z0-9]{0,15}")


class LabError(Exception):
    """Something about the lab that a person has to put right; the message says what."""


@dataclass(frozen=True)
class Cable:
    """One Thunderbolt cable, end to end."""

    a: str
    a_port: int
    b: str
    b_port: int


@dataclass(frozen=True)
class Host:
    """One machine of the rack."""

    name: str
    role: str
    model: str
    container: str
    address: str

    @property
    def is_mac(self) -> bool:
        """Whether the simulator runs on it."""
        return self.role == "mac"


@dataclass(frozen=True)
class Plan:
    """A whole rack."""

    name: str
    cabling: str
    subnet: str
    hosts: tuple[Host, ...]
    cables: tuple[Cable, ...]
    cpus: float | None = None
    """Cores that each machine may use at most; None: all there are."""

    @property
    def network(self) -> str:
        """The podman network of the management addresses."""
        return f"espalier-{self.name}"

    @property
    def panel(self) -> str:
        """The network namespace in which the cables' ends are joined."""
        return f"espalier-{self.name}"

    @property
    def macs(self) -> tuple[Host, ...]:
        """The nodes."""
        return tuple(host for host in self.hosts if host.is_mac)

    def host(self, name: str) -> Host:
        """The host of this name.

        Raises:
            LabError: There is none.
        """
        for host in self.hosts:
            if host.name == name:
                return host
        raise LabError(f"{name}: no such host in the lab {self.name}; it has {', '.join(h.name for h in self.hosts)}")

    def cable_at(self, host: str, port: int) -> Cable:
        """The cable in a port.

        Raises:
            LabError: The port is empty.
        """
        for cable in self.cables:
            if (host, port) in ((cable.a, cable.a_port), (cable.b, cable.b_port)):
                return cable
        raise LabError(f"{host} port {port}: no cable is in this port of the lab {self.name}")

    def ports(self, host: Host) -> list[tuple[Cable, int]]:
        """The cables of a host, each with the host's own port."""
        found = [(cable, cable.a_port) for cable in self.cables if cable.a == host.name]
        return found + [(cable, cable.b_port) for cable in self.cables if cable.b == host.name]

    def port_address(self, host: Host, port: int) -> str:
        """The Ethernet address of a Thunderbolt port; Macs count them from 36:... in steps of four."""
        return self._ethernet_address(0x36, host, 4 * (port - 1))

    def management_address(self, host: Host) -> str:
        """The Ethernet address of the management interface."""
        return self._ethernet_address(0x02, host, 0)

    def _ethernet_address(self, first: int, host: Host, last: int) -> str:
        """The same after every reboot, so that nobody's ARP table is out of date; another in every lab."""
        digest = hashlib.sha256(f"{self.name}/{host.name}".encode()).digest()
        return ":".join(f"{byte:02x}" for byte in (first, *digest[:4], last))

    def node_config(self, mac: Host) -> dict[str, Any]:
        """What the simulator on a Mac is told about itself."""
        peers = {}
        for cable in self.cables:
            ends = ((cable.a, cable.a_port), (cable.b, cable.b_port))
            for (host, port), (other, other_port) in (ends, ends[::-1]):
                if host == mac.name:
                    peers[port] = {"host": other, "port": other_port, "model": self.host(other).model}
        return {
            "model": mac.model,
            "hostname": mac.name,
            "management_device": "en0",
            "thunderbolt_ports": [
                {"port": port, "device": port_device(port), "peer": peers.get(port)}
                for port in range(1, dict(MODELS)[mac.model] + 1)
            ],
        }

    def as_dict(self) -> dict[str, Any]:
        """The plan as JSON takes it."""
        return {
            "name": self.name,
            "cabling": self.cabling,
            "subnet": self.subnet,
            "user": USER,
            "hosts": [asdict(host) for host in self.hosts],
            "cables": [asdict(cable) for cable in self.cables],
            **({} if self.cpus is None else {"cpus": self.cpus}),
        }


def port_device(port: int) -> str:
    """The network device of a Thunderbolt port."""
    return f"en{port - 1 + FIRST_PORT_DEVICE}"


def plan_from_dict(value: dict[str, Any]) -> Plan:
    """The plan that `as_dict` wrote."""
    return Plan(
        value["name"],
        value["cabling"],
        value["subnet"],
        tuple(Host(**host) for host in value["hosts"]),
        tuple(Cable(**cable) for cable in value["cables"]),
        value.get("cpus"),
    )


def check_name(name: str) -> str:
    """The name, if containers, networks and files can be named after it.

    Raises:
        LabError: They cannot.
    """
    if not _NAME.fullmatch(name):
        raise LabError(f"--name {name!r}: use a letter, then letters and digits, 16 at most, such as demo")
    return name


def pairs(nodes: Sequence[str], cabling: str) -> list[tuple[str, str]]:
    """Which nodes a cable joins, in the order in which the cables are plugged in.

    Raises:
        LabError: The number of nodes or the cabling is not one that the lab makes.
    """
    if not LEAST_NODES <= len(nodes) <= MOST_NODES:
        raise LabError(f"--nodes {len(nodes)}: a lab has {LEAST_NODES} to {MOST_NODES} Macs")
    if cabling not in CABLINGS:
        raise LabError(f"--cabling {cabling}: there are {', '.join(CABLINGS)}")
    line = list(pairwise(nodes))
    if cabling == "line":
        return line
    if cabling == "ring":
        # Two nodes close no ring; a second cable between them would be a doubled one.
        return [*line, (nodes[-1], nodes[0])] if len(nodes) > 2 else line
    if cabling == "star":
        return [(nodes[0], other) for other in nodes[1:]]
    return list(combinations(nodes, 2))


def make_plan(name: str, nodes: int, cabling: str, taken: Collection[str] = (), cpus: float | None = None) -> Plan:
    """A rack with a head and Macs.

    Args:
        name: Of the lab.
        nodes: Number of Macs.
        cabling: line, ring, mesh or star.
        taken: Networks already in use on this machine, as CIDR.
        cpus: Cores that each machine may use at most.

    Raises:
        LabError: An argument is not one that the lab can make.
    """
    check_name(name)
    if cpus is not None and cpus <= 0:
        raise LabError(f"--cpus {cpus:g}: give a machine more than none, such as 0.5")
    names = [f"mac{number}" for number in range(1, nodes + 1)]
    used = dict.fromkeys(names, 0)
    cables = []
    for a, b in pairs(names, cabling):
        used[a] += 1
        used[b] += 1
        cables.append(Cable(a, used[a], b, used[b]))
    subnet = free_subnet(name, taken)
    addresses = list(subnet.hosts())
    hosts = [Host(HEAD, "head", "", f"espalier-{name}-{HEAD}", str(addresses[9]))]
    for index, mac in enumerate(names):
        model = next(model for model, ports in MODELS if ports >= used[mac])
        hosts.append(Host(mac, "mac", model, f"espalier-{name}-{mac}", str(addresses[10 + index])))
    return Plan(name, cabling, str(subnet), tuple(hosts), tuple(cables), cpus)


def free_subnet(name: str, taken: Collection[str]) -> ipaddress.IPv4Network:
    """A /24 that follows from the name, or the next one that nothing uses.

    Raises:
        LabError: None is free.
    """
    blocks = [block for block in MANAGEMENT_RANGE.subnets(new_prefix=24) if isinstance(block, ipaddress.IPv4Network)]
    used = [ipaddress.ip_network(network, strict=False) for network in taken]
    first = int.from_bytes(hashlib.sha256(name.encode()).digest()[:2], "big")
    for step in range(len(blocks)):
        block = blocks[(first + step) % len(blocks)]
        if not any(block.overlaps(network) for network in used if network.version == 4):
            return block
    raise LabError(f"no network is free in {MANAGEMENT_RANGE}: remove a lab (rack.py down --name NAME)")
