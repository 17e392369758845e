"""Misspelt names of variables and groups, each with the name that was meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from .fabric_finding import Finding, error, named
from .inventory_variables import (
    ANSIBLE_VARIABLES,
    ESPALIER_VARIABLES,
    FABRIC_VARIABLES,
    GROUPS,
    MAGIC_VARIABLES,
    OWN_NAMES,
    PLAYBOOK_VARIABLES,
)
from .nearest import nearest

# How many different unknown names are compared with the known ones; an inventory of people has a few.
_MAX_COMPARED = 2000
# A name that begins with none of our prefixes must be this like one of ours to be taken for it.
_ALIKE = 0.87
# Names with one prefix are alike for that alone.
_ALIKE_WITH_PREFIX = 0.8


def known_variables(specs: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Every variable that an inventory may set, roles' variables included.

    Args:
        specs: for each role, the options of its meta/argument_specs.yml.
    """
    known = {*ANSIBLE_VARIABLES, *ESPALIER_VARIABLES, *FABRIC_VARIABLES, *PLAYBOOK_VARIABLES}
    for options in specs.values():
        known.update(options)
    return known


def variable_findings(
    variables: Mapping[str, Iterable[str]], known: Set[str], prefixes: Iterable[str], own: Set[str]
) -> list[Finding]:
    """One finding for each variable that is not known and that looks like one of ours.

    A name with one of our prefixes must be known. A name with another prefix is the owner's, unless it is
    very like a known one.

    Args:
        variables: for each host, the names of its variables.
        known: the names that are right.
        prefixes: the roles' names, and espalier.
        own: names that their owner declares to be his own.
    """
    hosts_of: dict[str, list[str]] = {}
    for host, names in variables.items():
        for name in names:
            if name not in known and name not in own and name not in MAGIC_VARIABLES:
                hosts_of.setdefault(name, []).append(host)
    starts = tuple(f"{prefix}_" for prefix in prefixes)
    findings = []
    for name in sorted(hosts_of)[:_MAX_COMPARED]:
        ours = name.startswith(starts)
        guess = nearest(name, known, _ALIKE_WITH_PREFIX if ours else _ALIKE)
        if guess is None and not ours:
            continue
        fix = f"Did you mean {guess}?" if guess else "See the tables in the roles' READMEs."
        fix += f" If the name is your own, list it in {OWN_NAMES}."
        place = f"variable {name} of {some_hosts(hosts_of[name], len(variables))}"
        findings.append(
            error(
                "variable-unknown",
                place,
                "there is no such variable.",
                fix,
                host=hosts_of[name][0],
                variable=name,
            )
        )
    return findings


def group_findings(groups: Iterable[str], own: Set[str]) -> list[Finding]:
    """One finding for each group whose name is very like one of ours."""
    findings = []
    for group in sorted(set(groups) - {*GROUPS, "all", "ungrouped"} - own)[:_MAX_COMPARED]:
        guess = nearest(group, GROUPS, 0.8)
        if guess is not None:
            fix = f"Did you mean {guess}? If the name is your own, list it in {OWN_NAMES}."
            message = f"Espalier knows the groups {named(GROUPS)}."
            findings.append(error("group-unknown", f"group {group}", message, fix))
    return findings


def some_hosts(hosts: list[str], of_all: int) -> str:
    """Hosts for a message: by name where they are few, and all hosts where they are all."""
    if len(hosts) > 1 and len(hosts) == of_all:
        return "all hosts"
    return named(hosts) if len(hosts) <= 3 else f"{named(hosts[:2])} and {len(hosts) - 2} more"
