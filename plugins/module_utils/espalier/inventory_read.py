"""Nodes and cables out of an inventory's groups and variables, and what is wrong with the values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .fabric_finding import Finding, error, named
from .fabric_inputs import MAX_NODE_ID, MAX_PORT, Cable, Node, default_node_id
from .nearest import nearest

CABLES = "thunderbolt_cables"
CABLE_KEYS = ("a", "a_port", "b", "b_port")
# Each node and each of its ports, two ends a cable.
MAX_CABLES = MAX_NODE_ID * MAX_PORT // 2
_SHOWN = 60


def shown(value: object) -> str:
    """A value for a message: one line, and no longer than a line."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def whole_number(value: object) -> int | None:
    """An integer, also when it is written as digits in quotes; None for anything else, also for true and 1.0.

    Quoted digits are accepted because ``-e`` and INI inventories know nothing but text.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value):
        return int(value)
    return None


def read_cables(declared: Any) -> tuple[list[Cable], list[Finding]]:
    """The cables of ``thunderbolt_cables``, and a finding for each entry that is none."""
    example = "Write each as {a: mac1, a_port: 1, b: mac2, b_port: 2}."
    if declared is None:
        return [], []
    if isinstance(declared, (str, bytes, Mapping)) or not isinstance(declared, Sequence):
        message = f"{shown(declared)} is not a list of cables."
        return [], [error("cables-type", CABLES, message, example)]
    if len(declared) > MAX_CABLES:
        message = f"{len(declared)} cables are more than {MAX_NODE_ID} nodes can have."
        return [], [error("cables-many", CABLES, message, "Declare each cable once.")]
    cables: list[Cable] = []
    findings: list[Finding] = []
    for index, entry in enumerate(declared):
        place = f"{CABLES}, cable {index + 1}"
        if not isinstance(entry, Mapping):
            findings.append(error("cable-type", place, f"{shown(entry)} is not a cable.", example))
            continue
        found = _key_findings(place, entry) or _value_findings(place, entry)
        findings.extend(found)
        if not found:
            a_port, b_port = whole_number(entry["a_port"]), whole_number(entry["b_port"])
            cables.append(Cable(str(entry["a"]), a_port or 0, str(entry["b"]), b_port or 0, index + 1))
    return cables, findings


def _key_findings(place: str, entry: Mapping[Any, Any]) -> list[Finding]:
    findings = []
    missing = [key for key in CABLE_KEYS if key not in entry]
    for key in entry:
        if key not in CABLE_KEYS:
            guess = nearest(str(key), missing)
            fix = f"Did you mean {guess}?" if guess else f"A cable has the keys {named(CABLE_KEYS)}."
            findings.append(error("cable-key", place, f"{shown(key)} is not a key of a cable.", fix))
            missing = [name for name in missing if name != guess]
    for key in missing:
        fix = f"A cable has the keys {named(CABLE_KEYS)}."
        findings.append(error("cable-key-missing", place, f"{key} is missing.", fix))
    return findings


def _value_findings(place: str, entry: Mapping[str, Any]) -> list[Finding]:
    findings = []
    for key in ("a", "b"):
        if not isinstance(entry[key], str) or not entry[key]:
            message = f"{key}: {shown(entry[key])} is not the name of a host."
            findings.append(error("cable-host-type", place, message, "Write the host's name in the inventory."))
    for key in ("a_port", "b_port"):
        if whole_number(entry[key]) is None:
            message = f"{key}: {shown(entry[key])} is not the number of a port."
            findings.append(error("cable-port-type", place, message, "Write a whole number from 1."))
    return findings


def read_nodes(
    groups: Mapping[str, Iterable[str]],
    variables: Mapping[str, Mapping[str, Any]],
    cables: Iterable[Cable],
    ports: Mapping[str, int] | None = None,
) -> tuple[list[Node], list[Finding]]:
    """The nodes of the fabric: every Mac, and every other host of the rack with a cable or a node id.

    Args:
        groups: names of the hosts of each group.
        variables: for each host its variables; only those that are needed are looked at.
        cables: the declared cables.
        ports: number of Thunderbolt ports by model identifier, where it is to be checked.
    """
    macs = set(groups.get("macs", ()))
    rack = dict.fromkeys([*groups.get("macs", ()), *groups.get("heads", ()), *groups.get("rack", ())])
    mentioned = {name for cable in cables for name in (cable.a, cable.b)}
    nodes: list[Node] = []
    findings: list[Finding] = []
    for name in rack:
        own = variables.get(name, {})
        declared_id = own.get("thunderbolt_node_id")
        if name not in macs and name not in mentioned and declared_id is None:
            continue
        node_id = default_node_id(name) if declared_id is None else whole_number(declared_id)
        if declared_id is not None and node_id is None:
            message = f"thunderbolt_node_id {shown(declared_id)} is not a whole number."
            fix = f"Give it a number from 1 to {MAX_NODE_ID} that no other node has."
            findings.append(error("node-id-type", f"host {name}", message, fix, name, "thunderbolt_node_id"))
            continue
        model = own.get("espalier_model")
        model = model if isinstance(model, str) else None
        management = own.get("ansible_host", name)
        nodes.append(
            Node(
                name=name,
                node_id=node_id,
                ports=(ports or {}).get(model or ""),
                model=model,
                trains=name in macs,
                management_address=management if isinstance(management, str) else None,
            )
        )
    return nodes, findings
