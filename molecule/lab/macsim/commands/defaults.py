"""defaults: reads and writes the property lists of preferences."""

from __future__ import annotations

import os
import plistlib
import time
from pathlib import Path
from typing import Any

from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.registry import Command

EX_USAGE = 255
_USAGE = "Command line interface to a user's defaults.\nSyntax:\n\n'defaults' read|write|delete <domain> ...\n"
_TRUE, _FALSE = {"true", "yes", "1"}, {"false", "no", "0"}


def _file(domain: str, context: Context) -> Path:
    """Return the file of a domain: a path as it is, a name below the caller's own preferences."""
    if domain.startswith("/"):
        path = context.paths.at(domain)
        return path if path.suffix == ".plist" else path.with_name(f"{path.name}.plist")
    home = context.paths.at("/var/root") if context.is_root else Path.home()
    return home / "Library/Preferences" / f"{domain}.plist"


def _load(path: Path) -> dict[str, Any] | None:
    try:
        values: dict[str, Any] = plistlib.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    return values


def _save(path: Path, values: dict[str, Any]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(plistlib.dumps(values, fmt=plistlib.FMT_BINARY))
    except PermissionError as error:
        raise ExitError(1, err=f"Could not write domain {path.with_suffix('')}; exiting\n") from error


def _shown(value: Any, indent: int = 0) -> str:
    """Return a value in the old text form of property lists."""
    space = " " * (indent + 4)
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, dict):
        rows = (f"{space}{_quoted(key)} = {_shown(value[key], indent + 4)};\n" for key in sorted(value))
        return "{\n" + "".join(rows) + " " * indent + "}"
    if isinstance(value, list):
        return "(\n" + ",\n".join(f"{space}{_shown(item, indent + 4)}" for item in value) + "\n" + " " * indent + ")"
    return _quoted(str(value)) if indent else str(value)


def _quoted(text: str) -> str:
    return text if text.isalnum() else f'"{text}"'


def _missing(domain: str, key: str) -> ExitError:
    text = f"The domain/default pair of ({domain}, {key})" if key else f"Domain {domain}"
    # The real tool logs its complaint, so a line with the time and its number comes first.
    stamp = time.strftime("%Y-%m-%d %H:%M:%S") + f".000 defaults[{os.getpid()}:{os.getpid() + 700}] "
    return ExitError(1, err=f"{stamp}\n{text} does not exist\n")


def _value(words: list[str]) -> Any:
    """Return the value that `write` is given, by its type.

    Raises:
        ExitError: A type that is not simulated, or a value that is not of it.
    """
    kind = words[0] if words[0].startswith("-") else "-string"
    rest = words[1:] if words[0].startswith("-") else words
    if kind in {"-array", "-array-add"}:
        return rest
    if len(rest) != 1:
        raise ExitError(EX_USAGE, err=_USAGE)
    text = rest[0]
    if kind in {"-bool", "-boolean"} and text.lower() in _TRUE | _FALSE:
        return text.lower() in _TRUE
    if kind in {"-int", "-integer"} and text.lstrip("-").isdigit():
        return int(text)
    if kind == "-string":
        return text
    raise ExitError(EX_USAGE, err=f"Unexpected argument {text}; leaving defaults unchanged.\n")


def run(argv: list[str], context: Context) -> int:
    """Read, write or delete a key, or a whole domain."""
    if len(argv) < 2 or argv[0] not in {"read", "write", "delete"}:
        raise ExitError(EX_USAGE, err=_USAGE)
    verb, domain, key = argv[0], argv[1], argv[2] if len(argv) > 2 else ""
    path = _file(domain, context)
    values = _load(path)
    if verb == "write":
        if len(argv) < 4:
            raise ExitError(EX_USAGE, err=_USAGE)
        value = _value(argv[3:])
        old = (values or {}).get(key)
        if argv[3] == "-array-add" and isinstance(old, list):
            value = old + value
        _save(path, {**(values or {}), key: value})
        return 0
    if len(argv) > 3:
        raise ExitError(EX_USAGE, err=_USAGE)
    if values is None or (key and key not in values):
        raise _missing(domain, key)
    if verb == "read":
        context.print(_shown(values[key] if key else values))
    elif key:
        _save(path, {name: value for name, value in values.items() if name != key})
    else:
        path.unlink()
    return 0


COMMAND = Command("defaults", ("/usr/bin/defaults",), run)
