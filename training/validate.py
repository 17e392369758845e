"""Turns plain YAML values into the dataclasses of a schema, strictly: no unknown key, no conversion."""

import dataclasses
import difflib
import math
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from training.errors import InputError


def nearest(word: str, choices: Iterable[str]) -> str:
    """The words to choose from, the most similar one first in the sentence if one is similar enough."""
    choices = sorted(choices)
    close = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    known = ", ".join(choices)
    return f"Did you mean {close[0]}? Known: {known}." if close else f"Known: {known}."


def build(cls: type, value: object, *, source: str, key: str, variants: Mapping[str, Mapping[str, type]]) -> Any:
    """Makes a `cls` of a mapping.

    Args:
        cls: A dataclass whose fields may carry `least`, `most` and `fix` as metadata.
        value: What the YAML file holds at this place.
        source: The file, for messages.
        key: The dotted place in the file, empty at the top.
        variants: For a key, the dataclasses to choose from by the mapping's `name`.

    Raises:
        InputError: An unknown key, a missing one, a wrong type, or a value outside its limits.
    """
    at = f"{key} " if key else "the file "
    if not isinstance(value, Mapping):
        raise InputError(f"{source}: {at}is {value!r}, but must be a mapping of keys to values.")
    fields = {item.name: item for item in dataclasses.fields(cls)}
    for name in value:
        if name not in fields:
            raise InputError(f"{source}: unknown key {_join(key, name)}. {nearest(str(name), fields)}")
    hints = typing.get_type_hints(cls)
    arguments: dict[str, Any] = {}
    for name, item in fields.items():
        place = _join(key, name)
        if name not in value:
            if item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING:
                raise InputError(f"{source}: {place} is missing. Add it.")
            continue
        given = value[name]
        if place in variants:
            chosen = _variant(given, variants[place], source=source, key=place)
            arguments[name] = build(chosen, given, source=source, key=place, variants=variants)
        elif dataclasses.is_dataclass(hints[name]):
            arguments[name] = build(typing.cast(type, hints[name]), given, source=source, key=place, variants=variants)
        else:
            arguments[name] = _scalar(hints[name], given, item.metadata, source=source, key=place)
    return cls(**arguments)


def _join(key: str, name: object) -> str:
    return f"{key}.{name}" if key else str(name)


def _variant(value: object, choices: Mapping[str, type], *, source: str, key: str) -> type:
    if not isinstance(value, Mapping) or "name" not in value:
        raise InputError(f"{source}: {key} needs a `name`. Known: {', '.join(sorted(choices))}.")
    name = value["name"]
    if name not in choices:
        raise InputError(f"{source}: {key}.name is {name!r}, which does not exist. {nearest(str(name), choices)}")
    return choices[name]


def _scalar(hint: Any, value: object, metadata: Mapping[str, Any], *, source: str, key: str) -> Any:
    """Checks one value against its type and limits; whole numbers serve as floats, nothing else converts."""
    fix = str(metadata.get("fix", ""))
    ending = f" {fix[0].upper()}{fix[1:]}." if fix else ""
    if typing.get_origin(hint) is Literal:
        choices = typing.get_args(hint)
        if value not in choices:
            raise InputError(
                f"{source}: {key} is {value!r}, which does not exist. {nearest(str(value), map(str, choices))}"
            )
        return value
    if isinstance(hint, types.UnionType):
        if value is None and type(None) in typing.get_args(hint):
            return None
        hint = next(item for item in typing.get_args(hint) if item is not type(None))
    if hint is Path:
        return _path(value, source=source, key=key, ending=ending)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not hint:
        kind = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}[hint]
        raise InputError(f"{source}: {key} is {value!r} ({type(value).__name__}), but must be {kind}.{ending}")
    if isinstance(value, (int, float)):
        _check_limits(value, metadata, source=source, key=key, ending=ending)
    return value


def _check_limits(value: float, metadata: Mapping[str, Any], *, source: str, key: str, ending: str) -> None:
    least, most = metadata.get("least"), metadata.get("most")
    if not math.isfinite(value):
        raise InputError(f"{source}: {key} is {value}, but must be finite.{ending}")
    if least is not None and value < least:
        raise InputError(f"{source}: {key} is {value}, but must be at least {least:g}.{ending}")
    if most is not None and value > most:
        raise InputError(f"{source}: {key} is {value}, but must be at most {most:g}.{ending}")


def _path(value: object, *, source: str, key: str, ending: str) -> Path:
    if not isinstance(value, str):
        raise InputError(f"{source}: {key} is {value!r}, but must be a path.{ending}")
    path = Path(value).expanduser()
    if not path.exists():
        raise InputError(f"{source}: {key} is {value}, but nothing is there.{ending}")
    return path
