"""What Ansible's network facts say of the interface that has an address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def interface_mtu(facts: Mapping[str, Any], address: str) -> int | None:
    """The MTU of the interface with this IPv4 address, or None when no interface has it.

    Args:
        facts: Ansible's facts, with the prefix `ansible_` or without. macOS lists several addresses in
        `ipv4`;
            Linux has one there and the others in `ipv4_secondaries`.
        address: the address, without a prefix length.
    """
    for interface in facts.values():
        if isinstance(interface, Mapping) and address in _addresses(interface):
            mtu = interface.get("mtu")
            return int(mtu) if mtu is not None and str(mtu).isdigit() else None
    return None


def _addresses(interface: Mapping[str, Any]) -> Iterator[str]:
    for key in ("ipv4", "ipv4_secondaries"):
        entries = interface.get(key) or []
        for entry in [entries] if isinstance(entries, Mapping) else entries:
            if isinstance(entry, Mapping) and "address" in entry:
                yield str(entry["address"])
