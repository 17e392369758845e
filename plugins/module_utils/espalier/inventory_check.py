"""Everything that can be known to be wrong with an inventory before a machine is contacted.

Pure and total: the same inventory gives the same findings, and no inventory makes it raise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .fabric_finding import Finding, error
from .fabric_inputs import DEFAULT_RANGE, MAX_NODE_ID, Settings
from .fabric_plan import plan_fabric
from .inventory_hosts import address_findings, membership_findings, model_findings, name_findings
from .inventory_read import CABLES, read_cables, read_nodes, shown
from .inventory_spelling import group_findings, known_variables, some_hosts, variable_findings
from .inventory_types import type_problem
from .inventory_variables import FABRIC_VARIABLES, OWN_NAMES
from .mac_models import MacModel

RANGE = "thunderbolt_range"
# What an error in a cable makes look wrong too, though it is not.
_FOLLOWS_FROM_A_CABLE = ("node-without-cable", "fabric-parts")


@dataclass(frozen=True)
class Inventory:
    """What is checked.

    Attributes:
        groups: names of the hosts of each group.
        variables: for each host its variables; a value that is not looked at may be anything.
        specs: for each role, the options of its meta/argument_specs.yml.
        models: the known Macs.
        origins: file and line of a variable, by host and name; a cable's under ("", "cable 1") and so on.
    """

    groups: Mapping[str, Sequence[str]]
    variables: Mapping[str, Mapping[str, Any]]
    specs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    models: Mapping[str, MacModel] = field(default_factory=dict)
    origins: Mapping[tuple[str, str], str] = field(default_factory=dict)


def rack_hosts(groups: Mapping[str, Sequence[str]]) -> list[str]:
    """The hosts that Espalier looks after, each once."""
    return list(dict.fromkeys(host for name in ("rack", "macs", "heads") for host in groups.get(name, ())))


def check_inventory(inventory: Inventory) -> list[Finding]:
    """All findings, errors first."""
    groups, variables = inventory.groups, inventory.variables
    hosts = rack_hosts(groups)
    macs = groups.get("macs", ())
    own = _own_names(hosts, variables)
    findings = [
        *membership_findings(groups),
        *group_findings(groups, own),
        *name_findings(hosts),
        *address_findings(hosts, variables),
        *model_findings(macs, variables, inventory.models),
        *_spelling(hosts, inventory, own),
        *_types(hosts, inventory),
        *_fabric(hosts, inventory),
    ]
    located = [_located(finding, inventory) for finding in findings]
    return sorted(located, key=lambda finding: finding.severity)


def _own_names(hosts: Sequence[str], variables: Mapping[str, Mapping[str, Any]]) -> set[str]:
    names: set[str] = set()
    for host in hosts:
        declared = variables.get(host, {}).get(OWN_NAMES)
        if isinstance(declared, Sequence) and not isinstance(declared, (str, bytes)):
            names.update(str(name) for name in declared)
    return names


def _spelling(hosts: Sequence[str], inventory: Inventory, own: set[str]) -> list[Finding]:
    names = {host: inventory.variables.get(host, {}) for host in hosts}
    prefixes = ["espalier", "thunderbolt", *inventory.specs]
    return variable_findings(names, known_variables(inventory.specs), prefixes, own)


def _types(hosts: Sequence[str], inventory: Inventory) -> list[Finding]:
    """Values of another type than the role declares; the fabric's have checks of their own."""
    options = {name: option for specs in inventory.specs.values() for name, option in specs.items()}
    hosts_of: dict[tuple[str, str], list[str]] = {}
    for host in hosts:
        for name, value in inventory.variables.get(host, {}).items():
            if name in options and name not in FABRIC_VARIABLES:
                problem = type_problem(value, options[name])
                if problem is not None:
                    hosts_of.setdefault((name, problem), []).append(host)
    findings = []
    for (name, problem), wrong in hosts_of.items():
        description = options[name].get("description", "")
        hint = description if isinstance(description, str) else " ".join(description)
        place = f"variable {name} of {some_hosts(wrong, len(hosts))}"
        findings.append(error("variable-type", place, f"{problem}.", hint, host=wrong[0], variable=name))
    return findings


def _fabric(hosts: Sequence[str], inventory: Inventory) -> list[Finding]:
    """The findings of the fabric plan."""
    variables = inventory.variables
    declared_cables, findings = _shared(CABLES, hosts, variables, None)
    declared_range, found = _shared(RANGE, hosts, variables, DEFAULT_RANGE)
    findings += found
    cables, cable_findings = read_cables(declared_cables)
    ports = {identifier: model.ports for identifier, model in inventory.models.items()}
    nodes, node_findings = read_nodes(inventory.groups, variables, cables, ports)
    findings += cable_findings + node_findings
    if len(nodes) > MAX_NODE_ID:
        message = f"{len(nodes)} nodes are more than the range has addresses for ({MAX_NODE_ID})."
        fix = "Split the rack in two, each with an inventory of its own."
        return [*findings, error("nodes-many", "inventory", message, fix)]
    if not isinstance(declared_range, str):
        message = f"{shown(declared_range)} is not a block of IPv4 addresses."
        fix = f"Write it like {DEFAULT_RANGE}."
        return [*findings, error("range-invalid", RANGE, message, fix, host=_first(hosts), variable=RANGE)]
    planned = plan_fabric(nodes, cables, Settings(declared_range)).findings
    incomplete = bool(cable_findings or node_findings)
    findings += [finding for finding in planned if not (incomplete and finding.code in _FOLLOWS_FROM_A_CABLE)]
    return findings


def _shared(
    name: str, hosts: Sequence[str], variables: Mapping[str, Mapping[str, Any]], default: Any
) -> tuple[Any, list[Finding]]:
    """The value of a variable that is one for the whole rack, and a finding where it is not."""
    value, holder = default, ""
    for host in hosts:
        own = variables.get(host, {})
        if name not in own or own[name] is None:
            continue
        if not holder:
            value, holder = own[name], host
        elif own[name] != value:
            message = f"{holder} and {host} have different values, and there is one fabric."
            fix = "Set it once, in group_vars/all.yml beside the inventory."
            return value, [error("variable-differs", f"variable {name}", message, fix, host=host, variable=name)]
    return value, []


def _first(hosts: Sequence[str]) -> str:
    return hosts[0] if hosts else ""


def _located(finding: Finding, inventory: Inventory) -> Finding:
    """The finding with file and line in front of its place, where they are known."""
    origins = inventory.origins
    cable = re.match(rf"{CABLES}, (cable \d+)", finding.place)
    origin = origins.get(("", cable.group(1))) if cable else None
    hosts = [finding.host] if finding.host else rack_hosts(inventory.groups)[:1]
    if origin is None and finding.variable and hosts:
        origin = origins.get((hosts[0], finding.variable))
    if origin is None and finding.place in (CABLES, RANGE) and hosts:
        origin = origins.get((hosts[0], finding.place))
    return finding if origin is None else replace(finding, place=f"{origin}: {finding.place}")
