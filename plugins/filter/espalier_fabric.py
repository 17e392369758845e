"""Filter espalier_fabric_plan: the plan of the Thunderbolt fabric, out of the inventory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError

# Ansible puts module_utils into the path of modules, which run on nodes, and not of filters, which run here
# (`from ansible.module_utils.espalier import ...` finds nothing outside a collection).
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))

from espalier.fabric_finding import errors_of
from espalier.fabric_inputs import DEFAULT_RANGE, BabelOptions, Settings
from espalier.fabric_plan import plan_fabric
from espalier.inventory_read import read_cables, read_nodes


def espalier_fabric_plan(
    groups: Mapping[str, list[str]],
    hostvars: Mapping[str, Mapping[str, Any]],
    cables: Any = (),
    fabric_range: str = DEFAULT_RANGE,
    hello_interval_s: float = BabelOptions.hello_interval_s,
    update_interval_s: float = BabelOptions.update_interval_s,
) -> dict[str, Any]:
    """The plan as plain values; ``nodes[inventory_hostname]`` is one node's part.

    ``groups | espalier_fabric_plan(hostvars, thunderbolt_cables, thunderbolt_range)``

    Raises:
        AnsibleFilterError: the inventory cannot be built; with every reason.
    """
    read, findings = read_cables(cables)
    nodes, found = read_nodes(groups, hostvars, read)
    findings += found
    options = BabelOptions(float(hello_interval_s), float(update_interval_s))
    plan = plan_fabric(nodes, read, Settings(str(fabric_range), options))
    findings += plan.findings
    wrong = [finding.to_dict()["text"] for finding in errors_of(findings)]
    if wrong:
        raise AnsibleFilterError("The fabric cannot be planned.\n" + "\n".join(wrong))
    return plan.to_dict()


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"espalier_fabric_plan": espalier_fabric_plan}
