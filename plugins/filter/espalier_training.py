"""Filters of the role training and of the playbooks training.yml and benchmark.yml."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError

# Filters run on the controller, where Ansible does not put module_utils on the path.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))

from espalier.interface_facts import interface_mtu
from espalier.iperf import parse_iperf
from espalier.ping import parse_ping
from espalier.rack_report import environment_content, rack_content
from espalier.run_plan import choose_ring
from espalier.wheel_transfer import transfer_plan


def sentences(function: Callable[..., Any]) -> Callable[..., Any]:
    """Turn the ValueError of a pure function into Ansible's error, with the same sentence."""

    def filtered(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except ValueError as error:
            raise AnsibleFilterError(str(error)) from error

    return filtered


def json_file(path: str) -> Any:
    """The content of a JSON file on the controller.

    Raises:
        AnsibleFilterError: it cannot be read, or is not JSON.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AnsibleFilterError(f"{path} cannot be read as JSON: {error}") from error


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {
            "espalier_environment": environment_content,
            "espalier_iperf": parse_iperf,
            "espalier_json_file": json_file,
            "espalier_mtu": interface_mtu,
            "espalier_ping": parse_ping,
            "espalier_rack": rack_content,
            "espalier_ring": sentences(choose_ring),
            "espalier_wheel_transfer": transfer_plan,
        }
