"""The fabric's block of addresses: which address belongs to which node and cable.

Nothing is ever renumbered: an address depends on the node or cable that it belongs to, and on no other.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from .fabric_finding import Finding, error
from .fabric_inputs import DEFAULT_RANGE, Node

LINK_NETMASK = "255.255.255.252"
_PLACE = "thunderbolt_range"
# RFC 1918 blocks that hold a /16. ipaddress.is_private also says yes to blocks that are not for private
# networks (192.0.2.0/24, 127.0.0.0/8, 169.254.0.0/16).
_PRIVATE = tuple(ipaddress.IPv4Network(block) for block in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))


@dataclass(frozen=True)
class FabricRange:
    """A /16 and the addresses in it."""

    network: ipaddress.IPv4Network

    def node_address(self, node_id: int) -> str:
        """Fabric address of a node: ``<range>.0.<node_id>``."""
        return str(self.network.network_address + node_id)

    def link(self, low_id: int, low_port: int) -> tuple[str, str, str]:
        """Network, address of the end with the lower node id, and address of the other end, of one cable.

        Args:
            low_id: node id of the end with the lower one.
            low_port: the port at that end.
        """
        base = self.network.network_address + 256 * low_id + 4 * low_port
        return f"{base}/30", str(base + 1), str(base + 2)


def parse_range(text: str) -> tuple[FabricRange | None, list[Finding]]:
    """The range, or what is wrong with it."""
    try:
        network = ipaddress.IPv4Network(text)
    except ValueError as problem:
        message = f"{text!r} is not a block of IPv4 addresses: {problem}."
        return None, [error("range-invalid", _PLACE, message, f"Write it like {DEFAULT_RANGE}.")]
    if network.prefixlen != 16:
        message = f"{text} is a /{network.prefixlen}; nodes and cables are numbered in a /16."
        return None, [error("range-size", _PLACE, message, f"Choose a /16, such as {DEFAULT_RANGE}.")]
    if not any(network.subnet_of(block) for block in _PRIVATE):
        message = f"{text} is not private: its addresses belong to others."
        fix = f"Choose a /16 of 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16, such as {DEFAULT_RANGE}."
        return None, [error("range-public", _PLACE, message, fix)]
    return FabricRange(network), []


def free_range(addresses: Iterable[str]) -> str:
    """A /16 in which none of the addresses lies; text that is no address counts for nothing."""
    taken = set()
    for text in addresses:
        try:
            taken.add(ipaddress.ip_interface(text).packed[:2])
        except ValueError:
            continue
    for second in [77, *range(64, 128), *range(0, 64), *range(128, 256)]:
        if bytes((10, second)) not in taken:
            return f"10.{second}.0.0/16"
    return "172.30.0.0/16"


def management_findings(fabric: FabricRange, nodes: Iterable[Node]) -> list[Finding]:
    """One finding for each node whose management address lies in the fabric's range."""
    known = list(nodes)
    free = free_range(node.management_address for node in known if node.management_address)
    findings = []
    for node in known:
        try:
            address = ipaddress.IPv4Address(node.management_address or "")
        except ValueError:
            continue
        if address in fabric.network:
            message = f"{fabric.network} overlaps the management network: {node.name} has {address} in it."
            fix = (
                f"Choose a range that no machine of the rack uses (thunderbolt_range: {free}), "
                f"or give {node.name} its Ethernet or Wi-Fi address as ansible_host."
            )
            findings.append(error("range-overlap", _PLACE, message, fix))
    return findings
