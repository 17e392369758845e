"""Filters of playbooks/preflight.yml: what is wrong with the machines, before anything is changed on them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

# Ansible puts module_utils into the path of modules, which run on nodes, and not of filters, which run here
# (`from ansible.module_utils.espalier import ...` finds nothing outside a collection).
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))

from espalier.clock_skew import Skew
from espalier.fabric_finding import named
from espalier.machine_check import Machine, check_lines, check_machine

DEFAULT_MOST_SKEW_S = 2.0


def espalier_machine_check(
    hosts: Iterable[str],
    hostvars: Mapping[str, Mapping[str, Any]],
    macs: Iterable[str],
    fabric_range: str,
    most_skew_s: float = DEFAULT_MOST_SKEW_S,
) -> dict[str, list[str]]:
    """What the machines said, judged.

    Gives ``lines``, one a check, and ``errors``, sentences; the latter empty where all is well.

    Args:
        hosts: the machines that were asked by playbooks/preflight.yml.
        hostvars: with their facts, and what the play registered.
        macs: those that are declared to be Macs.
        fabric_range: the block of the fabric.
        most_skew_s: how far clocks may be apart, in seconds.
    """
    mac_names = set(macs)
    machines = [_machine(name, hostvars[name], name in mac_names) for name in hosts]
    findings = [finding for machine in machines for finding in check_machine(machine, float(most_skew_s), fabric_range)]
    return {
        "lines": check_lines(machines, findings),
        "errors": [finding.to_dict()["text"] for finding in findings],
    }


def espalier_unreachable(hosts: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What to say of the machines that could not be reached; empty where all were.

    Args:
        hosts: the machines that playbooks/preflight.yml tried to reach.
        hostvars: with the result of that, ``espalier_reached``.
    """
    lost = [name for name in hosts if hostvars[name]["espalier_reached"].get("unreachable")]
    if not lost:
        return []
    lines = [f"{named(lost)} cannot be reached. Nothing was changed on any machine."]
    for name in lost:
        own = hostvars[name]
        reason = " ".join(str(own["espalier_reached"].get("msg", "")).split())[:300]
        lines.append(f"{name} (ansible_host {own.get('ansible_host', name)}): {reason}")
    return [
        *lines,
        "Is it on and awake? On a Mac: System Settings, General, Sharing, Remote Login.",
        "Does ssh reach it from here, at the same address and as the same user (ansible_host, ansible_user)?",
        f"To go on without it: --limit 'all:{':'.join(f'!{name}' for name in lost)}'",
    ]


def _machine(name: str, own: Mapping[str, Any], is_mac: bool) -> Machine:
    facts = own["ansible_facts"]
    clock, become = own["espalier_clock"], own["espalier_become"]
    return Machine(
        name=name,
        is_mac=is_mac,
        declared_model=own.get("espalier_model"),
        system=facts["system"],
        distribution=facts["distribution"],
        version=facts["distribution_version"],
        model=facts.get("model", ""),
        address=facts.get("default_ipv4", {}).get("address", ""),
        python=facts["python_version"],
        become_problem=_become_problem(become),
        skew=Skew(clock["skew_s"], clock["within_s"]),
    )


def _become_problem(result: Mapping[str, Any]) -> str:
    """Why ``id -u`` did not print 0."""
    if str(result.get("stdout", "")).strip() == "0":
        return ""
    said = result.get("module_stderr") or result.get("stderr") or result.get("msg") or result.get("stdout")
    return " ".join(str(said or "no reason was given").split())[:300]


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {
            "espalier_machine_check": espalier_machine_check,
            "espalier_unreachable": espalier_unreachable,
        }
