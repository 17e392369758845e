"""Lock files of wheels: what may be installed on a node, each file by its hash.

A lock is a pip requirements file, `name==version --hash=sha256:...`, for one platform and one Python version.
Nothing here reads or writes a file. It runs on the controller alone, where the package `packaging` comes with
ansible-core.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)(?P<hashes>(\s+--hash=sha256:[0-9a-f]{64})+)$")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")

MACHINES = ("x86_64", "aarch64", "arm64")
"""Machine types that a wheel's platform tag can end with and that Espalier runs on."""


class LockError(ValueError):
    """A lock or a requirement that cannot be used; the message names it and what to do."""


@dataclass(frozen=True)
class Pin:
    """One wheel of a lock: canonical name, version, and the hashes that its file may have."""

    name: str
    version: str
    sha256: tuple[str, ...]


def parse_lock(text: str, where: str) -> dict[str, Pin]:
    """Read a lock; `where` names it in messages.

    Raises:
        LockError: a line is not `name==version --hash=sha256:...`, or a name stands there twice.
    """
    pins: dict[str, Pin] = {}
    joined = text.replace("\\\n", " ")
    for number, line in enumerate(joined.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = _PIN.match(line)
        if match is None:
            raise LockError(
                f"{where}: entry {number} is not 'name==version --hash=sha256:<64 hex digits>': "
                f"{line[:120]!r}. "
                "Delete the file to have it made again, or restore it from version control."
            )
        name = canonicalize_name(match["name"])
        if name in pins:
            raise LockError(f"{where}: {name} is pinned twice; keep one of the two lines.")
        pins[name] = Pin(name, match["version"], tuple(sorted(_HASH.findall(match["hashes"]))))
    if not pins:
        raise LockError(f"{where} pins nothing; delete the file to have it made again.")
    return pins


def render_lock(pins: Mapping[str, Pin], platforms: Sequence[str], python_version: str) -> str:
    """The text of a lock, sorted by name, so that two locks of the same wheels are the same file."""
    lines = [
        f"# Wheels for {', '.join(platforms)}, Python {python_version}: only files with these hashes are installed.",
        "# Written by the role training or by tools/wheel_lock.py; the versions follow constraints.txt.",
    ]
    for name in sorted(pins):
        pin = pins[name]
        hashes = " ".join(f"--hash=sha256:{digest}" for digest in pin.sha256)
        lines.append(f"{pin.name}=={pin.version} {hashes}")
    return "\n".join(lines) + "\n"


def parse_constraints(text: str) -> dict[str, Requirement]:
    """Read a pip constraints file of plain requirements: canonical name to requirement.

    Raises:
        LockError: a line is not a requirement.
    """
    constraints: dict[str, Requirement] = {}
    for line in text.splitlines():
        line = line.split("#", 1)[0].strip()
        if not line:
            continue
        requirement = parse_requirement(line, "the constraints file")
        constraints[canonicalize_name(requirement.name)] = requirement
    return constraints


def parse_requirement(text: str, where: str) -> Requirement:
    """Read one requirement.

    Raises:
        LockError: it does not follow the syntax of Python's dependency specifiers.
    """
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        raise LockError(f"{where}: {text!r} is not a requirement that pip understands: {error}") from error


def marker_environment(platform: str, python_version: str) -> dict[str, str]:
    """What environment markers see on a node with this wheel platform and CPython version.

    pip evaluates markers for the machine it runs on, even when it downloads for another one. Locks are made
    on a controller of another system than the nodes', so markers are evaluated here, for the node.

    Raises:
        LockError: the platform is neither a macOS nor a Linux tag.
    """
    machine = next((name for name in MACHINES if platform.endswith(f"_{name}")), None)
    if platform.startswith("macosx_"):
        system, sys_platform = "Darwin", "darwin"
    elif platform.startswith(("manylinux", "linux_")):
        system, sys_platform = "Linux", "linux"
    else:
        system, sys_platform = "", ""
    if machine is None or not system:
        raise LockError(
            f"the wheel platform {platform!r} is not known: use a tag such as macosx_14_0_arm64 or "
            f"manylinux_2_28_x86_64 that ends with one of {', '.join(MACHINES)}."
        )
    return {
        "extra": "",
        "implementation_name": "cpython",
        "implementation_version": f"{python_version}.0",
        "os_name": "posix",
        "platform_machine": machine,
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": system,
        "platform_version": "",
        "python_full_version": f"{python_version}.0",
        "python_version": python_version,
        "sys_platform": sys_platform,
    }


def applicable(requirements: Iterable[str], environment: Mapping[str, str], where: str) -> list[Requirement]:
    """The requirements that apply in this environment, those of extras left out.

    Raises:
        LockError: one of them does not parse.
    """
    parsed = (parse_requirement(text, where) for text in requirements)
    return [item for item in parsed if item.marker is None or item.marker.evaluate(dict(environment))]


def fits(version: str, requirement: Requirement) -> bool:
    """Whether the version satisfies the requirement, as 2.13.0+cpu does ==2.13.0."""
    return requirement.specifier.contains(version, prereleases=True)


def lock_problems(
    pins: Mapping[str, Pin], wanted: Iterable[Requirement], constraints: Mapping[str, Requirement]
) -> list[str]:
    """Why a lock no longer fits what the project asks for: one sentence each, none when it fits."""
    problems: list[str] = []
    for requirement in wanted:
        name = canonicalize_name(requirement.name)
        if name not in pins:
            problems.append(f"{name} is needed and not in it")
        elif not fits(pins[name].version, requirement):
            problems.append(f"{name} {pins[name].version} is in it, {requirement} is needed")
    for pinned, pin in sorted(pins.items()):
        if pinned in constraints and not fits(pin.version, constraints[pinned]):
            problems.append(f"{pinned} {pin.version} is in it, the constraints file says {constraints[pinned]}")
    return problems


def hash_conflicts(old: Mapping[str, Pin], new: Mapping[str, Pin]) -> list[str]:
    """Names whose version is the same in both locks while no hash is."""
    return [
        name
        for name, pin in sorted(new.items())
        if name in old and old[name].version == pin.version and not set(pin.sha256) & set(old[name].sha256)
    ]


def lock_name(platforms: Sequence[str], python_version: str) -> str:
    """File name of the lock and name of the wheelhouse's folder without its ending: macosx_14_0_arm64-cp312.

    Raises:
        LockError: no platform is given, or the Python version is not `major.minor`.
    """
    if not platforms:
        raise LockError("training_platforms is empty: give at least one wheel platform, such as macosx_14_0_arm64.")
    if not re.fullmatch(r"3\.\d+", python_version):
        raise LockError(f"the Python version {python_version!r} is not of the form 3.12.")
    return f"{platforms[0]}-cp{python_version.replace('.', '')}"
