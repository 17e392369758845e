"""Filter espalier_inventory_findings: what is wrong with the inventory, before a machine is contacted.

This is the part that reads: files of the project, and variables out of Ansible. What is wrong with them is
decided in module_utils/espalier/inventory_check.py, which reads nothing.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleError, AnsibleUndefinedVariable
from jinja2 import Undefined

# Ansible puts module_utils into the path of modules, which run on nodes, and not of filters, which run here
# (`from ansible.module_utils.espalier import ...` finds nothing outside a collection).
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "module_utils"))

from espalier.fabric_finding import Finding, condensed, error
from espalier.inventory_check import Inventory, check_inventory, rack_hosts
from espalier.inventory_read import CABLES
from espalier.inventory_spelling import known_variables
from espalier.mac_models import MacModel, parse_models

try:
    # Where a value stands in its file. Internal to ansible-core 2.19 and later; without it the messages name
    # the variable and the host, and no line.
    from ansible._internal._datatag._tags import Origin
except ImportError:  # pragma: no cover
    Origin = None

PROJECT = Path(__file__).resolve().parent.parent.parent

# These must have a value before anything is contacted; other variables may depend on facts.
_NEEDED = ("ansible_host", "espalier_model", "thunderbolt_cables", "thunderbolt_node_id", "thunderbolt_range")
_FIX_YAML = "Correct the file; the column is where YAML gave up, and the mistake may be a line above."


@functools.cache
def role_options() -> dict[str, dict[str, Any]]:
    """For each role of the project, the options of its main entry point."""
    options = {}
    for path in sorted(PROJECT.glob("roles/*/meta/argument_specs.yml")):
        specs = yaml.safe_load(path.read_text(encoding="utf-8"))
        options[path.parent.parent.name] = specs["argument_specs"]["main"].get("options", {})
    return options


@functools.cache
def mac_models() -> dict[str, MacModel]:
    """The known Macs."""
    return parse_models(yaml.safe_load((PROJECT / "files" / "mac_models.yml").read_text(encoding="utf-8")))


def espalier_inventory_findings(
    groups: Mapping[str, list[str]], hostvars: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, str]]:
    """What is wrong with the inventory.

    ``groups | espalier_inventory_findings(hostvars)`` gives a list; each of its items has ``severity`` (error
    or warning), ``code``, ``place``, ``message``, ``fix``, and all of it as ``text``.
    """
    hosts = rack_hosts(groups)
    known = known_variables(role_options())
    variables: dict[str, dict[str, Any]] = {}
    origins: dict[tuple[str, str], str] = {}
    findings: list[Finding] = []
    for host in hosts:
        try:
            raw = hostvars[host]
            names = [str(name) for name in raw]
        except AnsibleError as problem:
            findings.append(_unreadable(host, problem))
            continue
        variables[host] = {}
        for name in raw:
            origins[host, str(name)] = _origin(name)
        for name in names:
            variables[host][name] = None
            if name not in known:
                continue
            try:
                variables[host][name] = _plain(raw[name])
            except AnsibleError as problem:
                if name in _NEEDED:
                    findings.append(_without_value(host, name, origins[host, name], problem))
        if variables[host].get(CABLES):
            _cable_origins(raw[CABLES], origins)
    if not findings:
        known_origins = {key: origin for key, origin in origins.items() if origin}
        findings = check_inventory(Inventory(groups, variables, role_options(), mac_models(), known_origins))
    return [finding.to_dict() for finding in condensed(findings)]


def _plain(value: Any) -> Any:
    """The value with everything in it resolved; Ansible does that only when a part is looked at.

    Raises:
        AnsibleUndefinedVariable: a part refers to a variable that is not set.
    """
    if isinstance(value, Undefined):
        raise AnsibleUndefinedVariable(str(value._undefined_message))
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _cable_origins(cables: Any, origins: dict[tuple[str, str], str]) -> None:
    """File and line of each cable."""
    if isinstance(cables, list):
        for index, cable in enumerate(cables):
            origins.setdefault(("", f"cable {index + 1}"), _origin(cable))


def _origin(value: Any) -> str:
    """File and line of a value of the inventory, short where it lies below the working folder."""
    origin = Origin.get_tag(value) if Origin else None
    if origin is None or origin.path is None:
        return ""
    path = Path(origin.path)
    short = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return f"{short}:{origin.line_num}" if origin.line_num else str(short)


def _unreadable(host: str, problem: AnsibleError) -> Finding:
    """A file of variables that does not parse; the place of the mistake is in one of the causes."""
    cause: BaseException | None = problem
    place, reason = f"variables of host {host}", str(problem)
    while cause is not None:
        if isinstance(cause, AnsibleError):
            origin = _origin(cause.obj) or (_origin_text(cause.obj))
            if origin:
                place, reason = origin, cause.message
        cause = cause.__cause__ or cause.__context__
    return error("unreadable", place, reason.strip(), _FIX_YAML)


def _origin_text(tag: Any) -> str:
    """As ``_origin``, where the value is the tag itself."""
    if Origin is None or not isinstance(tag, Origin) or tag.path is None:
        return ""
    return f"{tag.path}:{tag.line_num}" if tag.line_num else tag.path


def _without_value(host: str, name: str, origin: str, problem: AnsibleError) -> Finding:
    place = f"{origin}: host {host}" if origin else f"host {host}"
    return error("no-value", place, f"{name} has no value: {problem.message}.", "Set what it refers to.")


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"espalier_inventory_findings": espalier_inventory_findings}
