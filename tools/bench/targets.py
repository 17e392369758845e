"""Targets: a value that was measured, the bound that it must keep, and the file and table that say so.

Standard library only. Every benchmark uses it the same way:

    targets = [Target("digits.accuracy_all", 0.989, ">=", 0.97, "one run on 3 nodes")]
    return conclude("rack", targets, environment)
"""

from __future__ import annotations

import json
import math
import operator
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "build" / "bench"

Value = float | int | bool | None

_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
}


@dataclass(frozen=True)
class Target:
    """One line under "Must be reached".

    Attributes:
        name: Unique within the topic; carries the unit.
        value: What was measured; None where it could not be, which counts as missed.
        op: How the value must stand to the bound: `>=`, `<=` or `==`.
        bound: The bound.
        detail: How it was measured, repeats, spread; or why it was not.
    """

    name: str
    value: Value
    op: str
    bound: float | int | bool
    detail: str

    def __post_init__(self) -> None:
        if self.op not in _OPERATORS:
            raise ValueError(f"{self.name}: op {self.op!r} is not one of {', '.join(_OPERATORS)}")

    @property
    def ok(self) -> bool:
        """Whether the target is met. A value that is missing or not finite meets none."""
        if self.value is None or not math.isfinite(self.value):
            return False
        return _OPERATORS[self.op](self.value, self.bound)

    def content(self) -> dict[str, Any]:
        """The target as it is written."""
        return {
            "name": self.name,
            "value": self.value,
            "op": self.op,
            "bound": self.bound,
            "ok": self.ok,
            "detail": self.detail,
        }


def machine() -> dict[str, Any]:
    """What a number depends on, whatever the topic."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def table(targets: Sequence[Target]) -> str:
    """The targets as aligned text, one a line."""
    rows = [
        ("ok" if target.ok else "MISSED", target.name, _shown(target.value), target.op, _shown(target.bound))
        for target in targets
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(5)]
    lines = []
    for (verdict, name, value, op, bound), target in zip(rows, targets, strict=True):
        compared = f"{value:>{widths[2]}} {op} {bound:<{widths[4]}}"
        lines.append(f"{verdict:<6}  {name:<{widths[1]}}  {compared}  {target.detail}".rstrip())
    return "\n".join(lines)


def write(topic: str, targets: Sequence[Target], environment: Mapping[str, Any], folder: Path = FOLDER) -> Path:
    """Writes `<folder>/<topic>.json` in one motion.

    Raises:
        ValueError: There is no target, or two have one name: a benchmark that proves nothing must not pass.
    """
    names = [target.name for target in targets]
    if not names:
        raise ValueError(f"{topic}: there is no target")
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise ValueError(f"{topic}: two targets are named {', '.join(doubled)}")
    content = {"targets": [target.content() for target in targets], "environment": dict(environment)}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{topic}.json"
    temporary = path.with_suffix(".json.part")
    temporary.write_text(json.dumps(_finite(content), indent=2, allow_nan=False) + "\n", encoding="utf-8")
    temporary.replace(path)
    return path


def conclude(topic: str, targets: Sequence[Target], environment: Mapping[str, Any], folder: Path = FOLDER) -> int:
    """Writes the file, prints the table, and returns the exit status: 0, or 1 when a target is missed."""
    path = write(topic, targets, environment, folder)
    print(table(targets))
    missed = [target.name for target in targets if not target.ok]
    verdict = f"{len(missed)} of {len(targets)} missed" if missed else f"all {len(targets)} reached"
    print(f"\n{verdict}: {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")
    return 1 if missed else 0


def _shown(value: Value) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _finite(value: Any) -> Any:
    """JSON has no NaN: a number that is not finite is written as null."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
