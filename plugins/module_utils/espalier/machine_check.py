"""What is wrong with the machines, from what they said of themselves before anything is changed."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .clock_skew import Skew
from .fabric_finding import Finding, counted, error

# The oldest macOS that the roles are written for (launchctl bootstrap, sysctl iogpu.wired_limit_mb).
OLDEST_MACOS = (14,)
LINUX_DISTRIBUTIONS = ("Debian", "Ubuntu")
# Oldest Python that the modules are written for.
OLDEST_PYTHON = (3, 9)


@dataclass(frozen=True)
class Machine:
    """What a machine said of itself.

    Attributes:
        name: its name in the inventory.
        is_mac: whether it is in the group macs.
        declared_model: espalier_model, None where it is not declared.
        system: ``Darwin`` or ``Linux``.
        distribution: ``MacOSX``, ``Debian`` and so on.
        version: of the operating system, such as ``14.5``.
        model: what ``sysctl -n hw.model`` prints; of a Mac.
        address: of the interface with the default route; empty where there is none.
        python: version of the interpreter that Ansible uses, such as ``3.9.6``.
        become_problem: why commands cannot be run as root; empty where they can.
        skew: its clock against ours.
    """

    name: str
    is_mac: bool
    declared_model: str | None
    system: str
    distribution: str
    version: str
    model: str
    address: str
    python: str
    become_problem: str
    skew: Skew


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version: 14.5 is (14, 5)."""
    return tuple(int(number) for number in re.findall(r"[0-9]+", version)[:3])


def check_machine(machine: Machine, most_skew_s: float, fabric_range: str) -> list[Finding]:
    """All findings about one machine.

    Args:
        machine: what it said.
        most_skew_s: how far its clock may be from ours, in seconds.
        fabric_range: the block of the fabric; text that is none is another check's business.
    """
    return [
        *_python(machine),
        *_privilege(machine),
        *_system(machine),
        *_model(machine),
        *_clock(machine, most_skew_s),
        *_network(machine, fabric_range),
    ]


def check_lines(machines: Sequence[Machine], findings: Sequence[Finding]) -> list[str]:
    """One line a check, for people: what was looked at, and on how many machines it is right."""
    worst = max((abs(machine.skew.skew_s) for machine in machines), default=0.0)
    details = {
        "python": ", ".join(sorted({machine.python for machine in machines})),
        "privilege": "root by become",
        "system": ", ".join(sorted({f"{machine.distribution} {machine.version}" for machine in machines})),
        "model": ", ".join(sorted({machine.model for machine in machines if machine.is_mac})) or "no Macs",
        "clock": f"at most {worst:.2f} s from this machine's",
        "network": "apart from the fabric",
    }
    lines = []
    for check, detail in details.items():
        wrong = sorted({finding.host for finding in findings if finding.code.split("-")[0] == check})
        verdict = f"WRONG on {', '.join(wrong)}" if wrong else f"ok on {counted(len(machines), 'machine')}"
        lines.append(f"{check:<10} {verdict} ({detail})")
    return lines


def _finding(machine: Machine, code: str, message: str, fix: str) -> list[Finding]:
    return [error(code, f"host {machine.name}", message, fix, host=machine.name)]


def _python(machine: Machine) -> list[Finding]:
    if numbers(machine.python) >= OLDEST_PYTHON:
        return []
    oldest = ".".join(str(number) for number in OLDEST_PYTHON)
    fix = "Point ansible_python_interpreter to a later one; on a Mac, xcode-select --install brings one."
    return _finding(machine, "python-old", f"its Python is {machine.python}, older than {oldest}.", fix)


def _privilege(machine: Machine) -> list[Finding]:
    if not machine.become_problem:
        return []
    fix = "Add -K to the command and type the password, or allow the user sudo without one."
    return _finding(machine, "privilege", f"commands cannot be run as root: {machine.become_problem}", fix)


def _system(machine: Machine) -> list[Finding]:
    if machine.is_mac != (machine.system == "Darwin"):
        group = "macs" if machine.is_mac else "heads"
        message = f"it runs {machine.distribution}, and is in the wrong group ({group})."
        return _finding(machine, "system-group", message, "Macs belong in macs, Linux machines in heads.")
    if machine.is_mac and numbers(machine.version) < OLDEST_MACOS:
        message = f"macOS {machine.version} is older than {OLDEST_MACOS[0]}."
        return _finding(machine, "system-old", message, "Update it in System Settings, General, Software Update.")
    if not machine.is_mac and machine.distribution not in LINUX_DISTRIBUTIONS:
        message = f"{machine.distribution} is not one of {' and '.join(LINUX_DISTRIBUTIONS)}."
        return _finding(machine, "system-unknown", message, "Take it out of the group rack, or use one of these.")
    return []


def _model(machine: Machine) -> list[Finding]:
    if not machine.is_mac or machine.declared_model in (None, machine.model):
        return []
    message = f"espalier_model is {machine.declared_model}, and the machine says that it is {machine.model}."
    fix = f"Write espalier_model: {machine.model}, or correct ansible_host if this is another Mac."
    return _finding(machine, "model-other", message, fix)


def _clock(machine: Machine, most_skew_s: float) -> list[Finding]:
    if not machine.skew.exceeds(most_skew_s):
        return []
    ahead = "ahead of" if machine.skew.skew_s > 0 else "behind"
    message = (
        f"its clock is {abs(machine.skew.skew_s):.1f} s {ahead} this machine's; "
        f"espalier_max_clock_skew_s is {most_skew_s:g}."
    )
    command = "sudo sntp -sS time.apple.com" if machine.system == "Darwin" else "sudo timedatectl set-ntp true"
    fix = f"Set it on {machine.name}: {command}. If all machines are off alike, this one's clock is wrong."
    return _finding(machine, "clock-skew", message, fix)


def _network(machine: Machine, fabric_range: str) -> list[Finding]:
    try:
        overlaps = ipaddress.IPv4Address(machine.address) in ipaddress.IPv4Network(fabric_range)
    except ValueError:
        return []
    if not overlaps:
        return []
    message = f"its address {machine.address} on the management network is in the fabric's range {fabric_range}."
    return _finding(machine, "network-overlap", message, "Choose another private /16 as thunderbolt_range.")
