"""What launchctl and plutil print, and what of it decides about a job. Pure: nothing here runs a command.

The shapes were learned from output of macOS 10.11 to 27. Two layouts of `launchctl print` occur:
`domain/label = {` with one line of properties, and before macOS 11 the bare label with a dictionary of them.
Blanks may stand for tabs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Exit statuses of launchctl are the numbers in its messages ("Bootstrap failed: 5: Input/output error").
NOT_LOADED = (3, 113)  # no such process; could not find service
BUSY = (5, 36, 37)  # 5: also while an old job of that label is going away; 36, 37: already in progress

_MESSAGE = re.compile(r"(?P<what>[A-Z][A-Za-z -]+? failed|Could not [a-z ]+\"[^\"]*\"): (?P<number>\d+): (?P<text>.+)")
_HEAD = re.compile(r"^(?P<name>\S.*?) = \{$")
_DISABLED = re.compile(r'^\s*"(?P<label>[^"]+)" => (?P<value>disabled|enabled|true|false)\s*$')
_LIMIT = re.compile(r"^\s*(?P<name>[a-z]+)\s+(?P<soft>\d+|unlimited)\s+(?P<hard>\d+|unlimited)\s*$")
_LISTED = re.compile(r"^(?P<pid>-|\d+)\s+(?P<status>-?\d+)\s+(?P<label>\S.*?)\s*$")
_LINTED = re.compile(r"^(?P<file>.+?): (?P<verdict>OK|.+)$")


@dataclass(frozen=True)
class Job:
    """A job as `launchctl print` shows it.

    Attributes:
        label: its label, without the domain.
        path: the property list that it was loaded from, or a text such as `(submitted by smd[541])`.
        state: running, not running, spawn scheduled and so on.
        program: the program, None where it is not shown.
        arguments: its arguments, the program's name first; empty where they are not shown.
        pid: process number, None while none runs.
        last_exit_code: of the run before, None when it never ended or is not shown.
        stdout_path: where standard output goes, None where it is not shown.
        stderr_path: where standard error goes, None where it is not shown.
    """

    label: str
    path: str
    state: str
    program: str | None
    arguments: tuple[str, ...]
    pid: int | None
    last_exit_code: int | None
    stdout_path: str | None
    stderr_path: str | None


@dataclass(frozen=True)
class Failure:
    """A refusal of launchctl. `number` is None where the message has none."""

    number: int | None
    text: str


def parse_print(text: str) -> Job:
    """Read `launchctl print <domain>/<label>`.

    Raises:
        ValueError: the text shows no job, such as "Could not find service".
    """
    lines = text.splitlines()
    head = next((found for found in (_HEAD.match(line.rstrip()) for line in lines) if found), None)
    if head is None:
        raise ValueError(f"launchctl print showed no job: {' '.join(text.split())[:200]!r}")
    start = next(number for number, line in enumerate(lines) if line.rstrip() == head.group(0)) + 1
    values: dict[str, str] = {}
    arguments: list[str] = []
    block: list[str] = []
    for line in lines[start:]:
        stripped = line.strip()
        if stripped == "}":
            if not block:
                break
            block.pop()
        elif block == ["arguments"]:
            # An argument may end in " = {" itself: only a brace of its own closes the block.
            arguments.append(stripped)
        elif stripped.endswith((" = {", " => {")):
            block.append(stripped.rsplit(" =", 1)[0])
        elif not block and " = " in stripped:
            key, value = stripped.split(" = ", 1)
            values.setdefault(key, value)
    pid = _number(values.get("pid"))
    return Job(
        label=head.group("name").rsplit("/", 1)[-1],
        path=values.get("path", ""),
        state=values.get("state", ""),
        program=values.get("program"),
        arguments=tuple(arguments),
        pid=pid if pid else None,  # a process number of 0 means that there is none
        last_exit_code=_number(values.get("last exit code")),
        stdout_path=values.get("stdout path"),
        stderr_path=values.get("stderr path"),
    )


def parse_failure(text: str) -> Failure | None:
    """Read a refusal of launchctl; None when the text holds none."""
    found = _MESSAGE.search(text)
    if found:
        return Failure(int(found.group("number")), found.group("text").strip())
    for line in text.splitlines():
        said = line.strip()
        if said.startswith("Could not find domain"):
            return Failure(112, said)
        if said.startswith("Could not find service"):
            return Failure(113, said)
        if said.startswith("Unrecognized target specifier"):
            return Failure(64, said)
        if said.startswith("Not privileged to "):
            return Failure(None, said)
    return None


def parse_disabled(text: str) -> dict[str, bool]:
    """Read `launchctl print-disabled`: for each label with a record, whether it is disabled."""
    found = (_DISABLED.match(line) for line in text.splitlines())
    return {match.group("label"): match.group("value") in ("disabled", "true") for match in found if match}


def parse_limits(text: str) -> dict[str, tuple[int | None, int | None]]:
    """Read `launchctl limit`: soft and hard limit by name, None for unlimited."""
    found = (_LIMIT.match(line) for line in text.splitlines())
    return {match.group("name"): (_limit(match.group("soft")), _limit(match.group("hard"))) for match in found if match}


def parse_list(text: str) -> dict[str, tuple[int | None, int]]:
    """Read `launchctl list`: process number (None while none runs) and last status by label."""
    found = (_LISTED.match(line) for line in text.splitlines())
    return {match.group("label"): (_number(match.group("pid")), int(match.group("status"))) for match in found if match}


def parse_lint(text: str) -> list[str]:
    """Read `plutil -lint`: what is wrong, one entry a file; nothing when all are OK."""
    found = (_LINTED.match(line) for line in text.splitlines())
    return [match.group("verdict") for match in found if match and match.group("verdict") != "OK"]


def differences(job: Job, path: str, definition: Mapping[str, Any]) -> list[str]:
    """What shows that the loaded job is not the one of this property list, a sentence each."""
    arguments = _words(definition.get("ProgramArguments", ()))
    wanted: Sequence[tuple[str, object, object]] = (
        ("path", path, job.path),
        ("arguments", arguments, _words(job.arguments) or arguments),
        ("program", definition.get("Program", job.program), job.program),
        ("stdout path", definition.get("StandardOutPath"), job.stdout_path),
        ("stderr path", definition.get("StandardErrorPath"), job.stderr_path),
    )
    return [f"its {name} is {have} where {want} is wanted" for name, want, have in wanted if want != have]


def definition_problems(label: str, definition: Mapping[str, Any]) -> list[str]:
    """Why launchd would refuse this property list, a sentence each."""
    found = []
    if definition.get("Label", label) != label:
        found.append(f"definition: Label is {definition['Label']!r} and label is {label!r}; leave Label out")
    arguments = definition.get("ProgramArguments")
    if arguments is None and "Program" not in definition:
        found.append("definition: Program or ProgramArguments is missing; say what the job runs")
    if arguments is not None and (
        not isinstance(arguments, list) or not arguments or not all(isinstance(word, str) for word in arguments)
    ):
        found.append(f"definition: ProgramArguments is {arguments!r}; write a list of strings, numbers in quotes")
    return found + _none_values("definition", definition)


def _none_values(place: str, value: object) -> list[str]:
    """A property list has no null, and its keys are strings."""
    if value is None:
        return [f"{place} is null, which a property list cannot hold; leave the key out"]
    if isinstance(value, Mapping):
        found = []
        for key, inner in value.items():
            if not isinstance(key, str):
                found.append(f"{place}: the key {key!r} is not a string; put it in quotes")
            found += _none_values(f"{place}.{key}", inner)
        return found
    if isinstance(value, list):
        return [line for number, inner in enumerate(value) for line in _none_values(f"{place}[{number}]", inner)]
    return []


def _number(text: str | None) -> int | None:
    found = re.match(r"-?\d+", text) if text else None
    return int(found.group(0)) if found else None


def _limit(text: str) -> int | None:
    return None if text == "unlimited" else int(text)


def _words(arguments: Sequence[str]) -> str:
    """Arguments as one line: launchctl shows neither an empty one nor where one with line breaks ends."""
    return " ".join(" ".join(arguments).split())
