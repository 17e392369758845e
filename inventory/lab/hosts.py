#!/usr/bin/env python3
"""The inventory of the rack in a box: what molecule/lab/rack.py made, as Ansible wants to read it.

The lab is the one named by ESPALIER_LAB, else demo. Its hosts look like any others: an address, a user, a key.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


class NoLabError(Exception):
    """There is no such lab; the message says how to make it."""


def read_lab(name: str, root: Path = ROOT) -> dict[str, Any]:
    """What the lab says of itself.

    Raises:
        NoLabError: There is none of this name, or its file is damaged.
    """
    path = root / "build" / "lab" / name / "lab.json"
    try:
        lab: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        raise NoLabError(
            f"there is no lab {name!r}: make it with `make lab`, or name your own inventory: -i inventory/mine"
        ) from None
    except ValueError as error:
        raise NoLabError(f"{path}: cannot be read ({error}): make demo-down, then make lab") from error
    return lab


def inventory(lab: dict[str, Any]) -> dict[str, Any]:
    """Groups, hosts and variables in the form of `ansible-inventory --list`."""
    macs = [host["name"] for host in lab["hosts"] if host["role"] == "mac"]
    heads = [host["name"] for host in lab["hosts"] if host["role"] == "head"]
    hostvars = {}
    for host in lab["hosts"]:
        hostvars[host["name"]] = {"ansible_host": host["address"]}
        if host["role"] == "mac":
            hostvars[host["name"]] |= {
                "espalier_model": host["model"],
                "thunderbolt_node_id": macs.index(host["name"]) + 1,
            }
    variables = {
        "ansible_user": lab["user"],
        "ansible_ssh_private_key_file": lab["ssh_key"],
        "ansible_ssh_common_args": f"-F {lab['ssh_config']}",
        "thunderbolt_cables": lab["cables"],
    }
    return {
        "_meta": {"hostvars": hostvars},
        "all": {"children": ["rack"], "vars": variables},
        "rack": {"children": ["macs", "heads"]},
        "macs": {"hosts": macs},
        "heads": {"hosts": heads},
    }


def main() -> int:
    """Print the inventory; all of it whatever is asked, since host variables come along."""
    try:
        answer = inventory(read_lab(os.environ.get("ESPALIER_LAB") or "demo"))
    except NoLabError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(answer if "--host" not in sys.argv[1:] else {}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
