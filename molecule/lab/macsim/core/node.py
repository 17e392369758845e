"""Which Mac this is: its model, its ports, its cables, and identifiers derived from its name."""

from __future__ import annotations

import hashlib
import json
import uuid
from pathlib import Path
from typing import NamedTuple

from macsim.core.models import Model, find_model

# Any fixed value does: identifiers only have to be the same at both ends of a cable.
_NAMESPACE = uuid.UUID("6f1d7c1e-2f5b-4c39-9a55-0b6d5d0f9a11")

# Pseudo-ports that a Mac mini or Studio lists beside its Thunderbolt ports; nothing can be plugged into them.
ETHERNET_ADAPTERS = 3


class Peer(NamedTuple):
    """The other end of a cable: host and port; model, where it is known."""

    host: str
    port: int
    model: str


class ThunderboltPort(NamedTuple):
    """One Thunderbolt port: its number, its device, and what is at the other end."""

    port: int
    device: str
    peer: Peer | None

    @property
    def name(self) -> str:
        """Name of the hardware port."""
        return f"Thunderbolt {self.port}"


class Node(NamedTuple):
    """One simulated Mac."""

    model_id: str
    hostname: str
    management_device: str
    ports: tuple[ThunderboltPort, ...]

    @property
    def model(self) -> Model:
        """What the model identifier stands for."""
        return find_model(self.model_id)

    @property
    def wifi_device(self) -> str:
        """Device of the wireless card, never connected."""
        return "en1" if self.management_device == "en0" else "en0"

    @property
    def adapter_devices(self) -> tuple[str, ...]:
        """Devices of the pseudo-ports, numbered after the Thunderbolt ports."""
        taken = [self.management_device, self.wifi_device, *(port.device for port in self.ports)]
        last = max((int(device[2:]) for device in taken if device[2:].isdigit()), default=0)
        return tuple(f"en{last + 1 + index}" for index in range(ETHERNET_ADAPTERS))

    def port_of(self, device: str) -> ThunderboltPort | None:
        """Return the Thunderbolt port with this device."""
        return next((port for port in self.ports if port.device == device), None)


def derived_uuid(*words: object) -> str:
    """Return an identifier that always is the same for the same words, as macOS prints one."""
    return str(uuid.uuid5(_NAMESPACE, ":".join(str(word) for word in words))).upper()


def derived_hex(digits: int, *words: object) -> str:
    """Return hexadecimal digits that always are the same for the same words."""
    return hashlib.sha256(":".join(str(word) for word in words).encode()).hexdigest()[:digits]


def derived_mac(host: str, device: str) -> str:
    """Return the hardware address of a device that does not exist underneath (locally administered)."""
    digits = derived_hex(10, "mac", host, device)
    return ":".join(["36", *(digits[at : at + 2] for at in range(0, 10, 2))])


def parse_node(text: str, place: str) -> Node:
    """Read the description that the lab gives a Mac.

    Raises:
        ValueError: A key is missing or has the wrong form; the message names the file and the key.
    """
    try:
        raw = json.loads(text)
        ports = tuple(
            ThunderboltPort(
                int(port["port"]),
                str(port["device"]),
                None
                if port.get("peer") is None
                else Peer(str(port["peer"]["host"]), int(port["peer"]["port"]), str(port["peer"].get("model", ""))),
            )
            for port in raw["thunderbolt_ports"]
        )
        return Node(str(raw["model"]), str(raw["hostname"]), str(raw.get("management_device", "en0")), ports)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{place}: {error!r} while reading the description of this Mac; it needs model, hostname, "
            "management_device and thunderbolt_ports [{port, device, peer}]"
        ) from error


def load_node(path: Path) -> Node:
    """Read the description from its file.

    Raises:
        ValueError: The file is missing or wrong.
    """
    try:
        text = path.read_text()
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}; the lab writes it when it makes the node") from error
    return parse_node(text, str(path))
