"""What a check has to say: one sentence each about what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

ERROR = "error"
WARNING = "warning"


@dataclass(frozen=True)
class Finding:
    """One thing that a check found.

    Attributes:
        severity: ``error`` (nothing may be changed) or ``warning`` (the run goes on).
        code: stable name of the check, such as ``port-taken``; for programs, not for people.
        place: where it is: file and key, variable, host, or cable.
        message: what is wrong, with the value.
        fix: what to do about it.
        host: the host that it is about, where there is one; for finding the file.
        variable: the variable that it is about, likewise.
    """

    severity: str
    code: str
    place: str
    message: str
    fix: str
    host: str = ""
    variable: str = ""

    def to_dict(self) -> dict[str, str]:
        """As plain values, with the whole as one sentence under ``text``."""
        return {
            "severity": self.severity,
            "code": self.code,
            "place": self.place,
            "message": self.message,
            "fix": self.fix,
            "text": f"{self.place}: {self.message} {self.fix}",
        }


def error(code: str, place: str, message: str, fix: str, host: str = "", variable: str = "") -> Finding:
    """A finding that ends the run."""
    return Finding(ERROR, code, place, message, fix, host, variable)


def warning(code: str, place: str, message: str, fix: str, host: str = "", variable: str = "") -> Finding:
    """A finding that is printed, and the run goes on."""
    return Finding(WARNING, code, place, message, fix, host, variable)


def errors_of(findings: Iterable[Finding]) -> list[Finding]:
    """Those that end the run."""
    return [finding for finding in findings if finding.severity == ERROR]


def condensed(findings: Iterable[Finding], most: int = 20) -> list[Finding]:
    """At most so many findings of each code; the last of them says how many more there are."""
    by_code: dict[str, list[Finding]] = {}
    for finding in findings:
        by_code.setdefault(finding.code, []).append(finding)
    kept: list[Finding] = []
    for alike in by_code.values():
        kept.extend(alike[:most])
        if len(alike) > most:
            more = f"{alike[most - 1].message} The same holds {len(alike) - most} times more."
            kept[-1] = replace(alike[most - 1], message=more)
    return kept


def counted(number: int, noun: str) -> str:
    """A number and its noun, with the plural's s where it belongs: 1 port, 3 ports."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def named(names: Iterable[str]) -> str:
    """Names as people list them: mac1, mac2 and mac3."""
    listed = list(names)
    if len(listed) < 2:
        return "".join(listed)
    return f"{', '.join(listed[:-1])} and {listed[-1]}"
