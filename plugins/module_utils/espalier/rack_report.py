"""What the benchmark writes about the rack itself: rack.json and environment.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def rack_content(
    groups: Mapping[str, Sequence[str]], hostvars: Mapping[str, Any], plan: Mapping[str, Any]
) -> dict[str, Any]:
    """The content of rack.json (docs/architecture.md, "Raw measurements").

    Args:
        groups: Ansible's groups.
        hostvars: Ansible's variables of each host, with facts where they were gathered.
        plan: the fabric's plan, `{}` for a rack without cables.
    """
    planned = plan.get("nodes", {})
    return {
        "nodes": [
            {
                "name": name,
                "role": "mac" if name in groups["macs"] else "head",
                "model": hostvars[name].get("espalier_model"),
                "chip": chip_of(hostvars[name].get("ansible_facts") or {}),
                "fabric_address": planned[name]["address"] if name in planned else None,
            }
            for name in groups["rack"]
        ],
        "cables": [{key: cable[key] for key in ("a", "a_port", "b", "b_port")} for cable in plan.get("cables", [])],
    }


def chip_of(facts: Mapping[str, Any]) -> str | None:
    """The processor's name: one string on macOS, a list of number, maker and name for each core on Linux."""
    processor = facts.get("processor")
    if isinstance(processor, str):
        return processor or None
    if isinstance(processor, Sequence) and processor:
        return str(processor[-1])
    return None


def environment_content(
    runs: Sequence[Mapping[str, Any]],
    groups: Mapping[str, Sequence[str]],
    hostvars: Mapping[str, Any],
    ansible_version: str,
    shared_cores: int | None,
) -> dict[str, Any]:
    """The content of environment.json: the versions that were measured, and how to measure them again.

    Args:
        runs: results of training runs; the first that has an environment tells the versions on the nodes.
        groups: Ansible's groups.
        hostvars: Ansible's variables of each host.
        ansible_version: of the controller.
        shared_cores: processor cores that all nodes share, when they are no machines of their own.
    """
    measured: Mapping[str, Any] = next((run["environment"] for run in runs if run.get("environment")), {})
    content = {key: value for key, value in measured.items() if key not in ("command", "release")}
    content["ansible"] = ansible_version
    content["systems"] = {
        name: " ".join(
            str(facts[key]) for key in ("distribution", "distribution_version", "architecture") if facts.get(key)
        )
        for name in groups["macs"]
        if (facts := hostvars[name].get("ansible_facts") or {}).get("distribution")
    }
    commands = ["ansible-playbook site.yml", "ansible-playbook playbooks/benchmark.yml"]
    for run in runs:
        command = (run.get("environment") or {}).get("command")
        if command and command not in commands:
            commands.append(str(command))
    content["commands"] = commands
    if shared_cores is not None:
        content["shared_cores"] = int(shared_cores)
    return content
