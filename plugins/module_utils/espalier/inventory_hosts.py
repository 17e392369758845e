"""Hosts and groups: names, addresses, models and who belongs where."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .fabric_finding import Finding, error, named, warning
from .inventory_read import shown, whole_number
from .mac_models import MacModel
from .nearest import nearest

# A host's name becomes a file name, a word of a shell command and a line of a configuration.
_HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
# A DNS name, an IPv4 or an IPv6 address with its zone; a leading dash would be an option of ssh.
_ADDRESS = re.compile(r"[A-Za-z0-9:\[][A-Za-z0-9._:%\]-]{0,252}")


def membership_findings(groups: Mapping[str, Sequence[str]]) -> list[Finding]:
    """Whether there is anyone, and each in the groups that Espalier looks at."""
    macs, heads, rack = (groups.get(name, ()) for name in ("macs", "heads", "rack"))
    if not macs and not heads and not rack:
        message = "the inventory has no nodes: no host is in one of the groups macs, heads and rack."
        fix = "Copy inventory/example and list your Macs in the group macs, or name another inventory with -i."
        return [error("no-nodes", "inventory", message, fix)]
    findings = []
    if not macs:
        message = "the group macs has no hosts: there is nothing to train on."
        findings.append(warning("no-macs", "inventory", message, "List your Macs in it."))
    if len(heads) > 1:
        message = f"the group heads has {len(heads)} hosts: {named(heads[:5])}."
        findings.append(error("head-many", "inventory", message, "Keep one; the others may be in rack alone."))
    for name in sorted(set(macs) & set(heads)):
        message = "it is in both groups macs and heads."
        findings.append(error("host-twofold", f"host {name}", message, "Take it out of one of them."))
    for name in sorted((set(macs) | set(heads)) - set(rack)):
        message = "it is not in the group rack, and would be left out of the set-up."
        fix = "Make macs and heads children of rack, as in inventory/example/hosts.yml."
        findings.append(error("host-outside-rack", f"host {name}", message, fix))
    return findings


def name_findings(hosts: Sequence[str]) -> list[Finding]:
    """Names that could be taken for something else by a shell or a file system."""
    return [
        error(
            "host-name",
            f"host {shown(name)}",
            "its name has characters that do not belong in a host's name.",
            "Use at most 63 letters, digits, dots, dashes and underscores; begin with a letter or digit.",
        )
        for name in hosts
        if not _HOST_NAME.fullmatch(name)
    ]


def address_findings(hosts: Sequence[str], variables: Mapping[str, Mapping[str, Any]]) -> list[Finding]:
    """Management addresses that are none, and two hosts with one address."""
    findings = []
    holders: dict[tuple[str, int], str] = {}
    for name in hosts:
        own = variables.get(name, {})
        address = own.get("ansible_host", name)
        if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
            if "ansible_host" in own:
                message = f"ansible_host {shown(address)} is not a name or an address."
                fix = "Write the Mac's management address, such as 192.168.1.11 or mac1.local."
                findings.append(
                    error("address-invalid", f"host {name}", message, fix, host=name, variable="ansible_host")
                )
            continue
        port = whole_number(own.get("ansible_port")) or 22
        other = holders.setdefault((_canonical(address), port), name)
        if other != name:
            message = f"it has the same address as {other}: {address}."
            fix = f"Correct ansible_host of {name} or {other}; a Mac prints its own: ipconfig getifaddr en0."
            findings.append(error("address-taken", f"host {name}", message, fix, host=name, variable="ansible_host"))
    return findings


def _canonical(address: str) -> str:
    try:
        return str(ipaddress.ip_address(address.strip("[]")))
    except ValueError:
        return address.lower().rstrip(".")


def model_findings(
    macs: Sequence[str], variables: Mapping[str, Mapping[str, Any]], models: Mapping[str, MacModel]
) -> list[Finding]:
    """Macs whose ports cannot be checked, because their model is not declared or not known."""
    findings = []
    for name in macs:
        model = variables.get(name, {}).get("espalier_model")
        place = f"host {name}"
        if model is None:
            message = "it has no espalier_model, so its Thunderbolt ports are not checked."
            fix = "Write what sysctl -n hw.model prints on it."
            findings.append(warning("model-missing", place, message, fix, host=name))
        elif not isinstance(model, str):
            message = f"espalier_model {shown(model)} is not a model identifier."
            fix = "Write what sysctl -n hw.model prints on it, in quotes."
            findings.append(error("model-type", place, message, fix, host=name, variable="espalier_model"))
        elif model not in models:
            guess = nearest(model, models)
            message = f"the model {shown(model)} is not known, so its Thunderbolt ports are not checked."
            fix = f"Did you mean {guess}?" if guess else "Add it to files/mac_models.yml."
            findings.append(warning("model-unknown", place, message, fix, host=name, variable="espalier_model"))
    return findings
