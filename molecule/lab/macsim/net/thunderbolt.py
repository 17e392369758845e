"""The Thunderbolt buses as system_profiler reports them: one a port, with the Mac at the end of its cable.

A domain's identifier is derived from host and port, so both ends of a cable name the same two domains.
"""

from __future__ import annotations

from typing import Any

from macsim.core.context import Context
from macsim.core.models import find_model
from macsim.core.node import Node, ThunderboltPort, derived_hex, derived_uuid
from macsim.core.report import Report

_IDLE_SPEED = {4: "Up to 40 Gb/s", 5: "Up to 120 Gb/s"}
_LINKED_SPEED = {4: "40 Gb/s", 5: "80 Gb/s"}


def domain_uuid(host: str, port: int) -> str:
    """Return the identifier of the domain behind a port."""
    return derived_uuid("thunderbolt", host, port)


def thunderbolt_report(context: Context) -> Report:
    """Return the buses, highest port first; a peer shows only while its cable carries."""
    carrying = {item.name for item in context.linux.interfaces() if item.carrier}
    node = context.node
    ports = sorted(node.ports, key=lambda port: -port.port)
    items = [_bus(node, port, port.peer is not None and port.device in carrying) for port in ports]
    return Report(items, "Thunderbolt/USB4:\n" + "".join(_text(item) for item in items) + "\n")


def _bus(node: Node, port: ThunderboltPort, connected: bool) -> dict[str, Any]:
    generation = node.model.thunderbolt_generation
    receptacle: dict[str, Any] = {
        "current_speed_key": (_LINKED_SPEED if connected else _IDLE_SPEED)[generation],
        "link_status_key": "0x2" if connected else "0x100",
        "receptacle_id_key": str(port.port),
        "receptacle_status_key": "receptacle_connected" if connected else "receptacle_no_devices_connected",
    }
    if connected:
        receptacle["micro_version_key"] = "0.0.0"
    switch = derived_hex(11, "switch", node.hostname).upper()
    bus: dict[str, Any] = {
        "_name": f"thunderboltusb4_bus_{port.port - 1}",
        "device_name_key": node.model.name,
        "domain_uuid_key": domain_uuid(node.hostname, port.port),
        "receptacle_1_tag": receptacle,
        "route_string_key": "0",
        "switch_uid_key": f"0x05AC{switch}{port.port - 1:X}",
        "vendor_name_key": "Apple Inc.",
    }
    if connected:
        bus["_items"] = [_peer(node, port)]
    return bus


def _peer(node: Node, port: ThunderboltPort) -> dict[str, Any]:
    peer = port.peer
    if peer is None:
        raise ValueError(f"{port.name} has no peer, so there is nothing to report about it")
    common = {
        "domain_uuid_key": domain_uuid(peer.host, peer.port),
        "services_title": [
            {
                "_name": "service_ip",
                "protocol_id_key": 1,
                "protocol_revision_key": 1,
                "protocol_version_key": 1,
                "service_uuid_key": derived_uuid("service", peer.host, peer.port),
            }
        ],
    }
    if peer.model == "Linux":
        return {
            "_name": peer.host,
            "device_id_key": "0x1",
            "device_name_key": peer.host,
            "vendor_id_key": "0x1D6B",
            "vendor_name_key": "Linux",
            **common,
        }
    model_id = peer.model or node.model_id
    return {
        "_name": find_model(model_id).name,
        "device_id_key": "0xA",
        "device_name_key": model_id,
        "vendor_id_key": "0x0A27",
        "vendor_name_key": "Apple Inc.",
        **common,
    }


def _text(bus: dict[str, Any]) -> str:
    receptacle = bus["receptacle_1_tag"]
    connected = receptacle["receptacle_status_key"] == "receptacle_connected"
    number = str(bus["_name"]).rpartition("_")[2]
    lines = [
        "",
        f"    Thunderbolt/USB4 Bus {number}:",
        "",
        f"      Vendor Name: {bus['vendor_name_key']}",
        f"      Device Name: {bus['device_name_key']}",
        f"      UID: {bus['switch_uid_key']}",
        f"      Route String: {bus['route_string_key']}",
        f"      Domain UUID: {bus['domain_uuid_key']}",
        "      Port:",
        f"          Status: {'Device connected' if connected else 'No device connected'}",
        f"          Link Status: {receptacle['link_status_key']}",
        f"          Speed: {receptacle['current_speed_key']}",
        f"          Receptacle: {receptacle['receptacle_id_key']}",
    ]
    if "micro_version_key" in receptacle:
        lines.append(f"          Micro Firmware Version: {receptacle['micro_version_key']}")
    for item in bus.get("_items", []):
        service = item["services_title"][0]
        lines += [
            "",
            f"        {item['_name']}:",
            "",
            f"          Vendor Name: {item['vendor_name_key']}",
            f"          Device Name: {item['device_name_key']}",
            f"          Device ID: {item['device_id_key']}",
            f"          Vendor ID: {item['vendor_id_key']}",
            f"          Domain UUID: {item['domain_uuid_key']}",
            "          Services:",
            "            Internet Protocol:",
            f"              Protocol ID: {service['protocol_id_key']}",
            f"              Protocol Version: {service['protocol_version_key']}",
            f"              Protocol Revision: {service['protocol_revision_key']}",
            f"              Service UUID: {service['service_uuid_key']}",
        ]
    return "\n".join(lines) + "\n"
