"""Reads JSON files that others wrote, key by key, with errors that name the file and the key."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from training.errors import InputError

T = TypeVar("T")
_MAKE_AGAIN = "Run the benchmark again, or correct the file."


def read_json(path: Path, shown: str) -> Any:
    """The content of a JSON file.

    Args:
        path: The file.
        shown: Its name in messages, relative to the folder of the measurements.

    Raises:
        InputError: It is missing, unreadable, empty, not JSON, or has a number that is not finite.
    """

    def refuse(constant: str) -> NoReturn:
        raise InputError(f"{shown}: {constant} is not a finite number. {_MAKE_AGAIN}")

    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError(f"{shown}: missing in {path.parent}. {_MAKE_AGAIN}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{shown}: is not UTF-8 text. {_MAKE_AGAIN}") from error
    except OSError as error:
        raise InputError(f"{shown}: cannot be read: {error.strerror}.") from error
    if not text.strip():
        raise InputError(f"{shown}: is empty. {_MAKE_AGAIN}")
    try:
        return json.loads(text, parse_constant=refuse)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{shown}: is not JSON: {error}. {_MAKE_AGAIN}") from error


class Fields:
    """One JSON object and where it stands. Keys that nobody asks for are allowed: files may grow."""

    def __init__(self, value: Any, file: str, path: str = "") -> None:
        if not isinstance(value, dict):
            where = f"{file}: {path}" if path else file
            raise InputError(f"{where}: must be an object, not {_kind(value)}. {_MAKE_AGAIN}")
        self._value: dict[str, Any] = value
        self._file = file
        self._path = path

    def error(self, key: str, reason: str) -> InputError:
        """The error for a key: file, full path of the key, reason."""
        return InputError(f"{self._file}: {self._at(key)}: {reason}. {_MAKE_AGAIN}")

    def has(self, key: str) -> bool:
        """Whether the key is there and not null."""
        return self._value.get(key) is not None

    def get(self, key: str) -> Any:
        """Any value.

        Raises:
            InputError: The key is missing.
        """
        if key not in self._value:
            raise self.error(key, "missing")
        return self._value[key]

    def text(self, key: str) -> str:
        """A string with something in it."""
        value = self._typed(key, str, "text")
        if not value.strip():
            raise self.error(key, "is empty")
        return value

    def optional_text(self, key: str) -> str | None:
        """A string, or None where it is missing, null or empty."""
        value = self._value.get(key)
        if value is None or value == "":
            return None
        return self._typed(key, str, "text")

    def number(self, key: str, *, least: float | None = None, most: float | None = None) -> float:
        """A finite number within bounds."""
        value = self.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(key, f"must be a number, not {_kind(value)}")
        return self._bounded(key, float(value), least, most)

    def whole(self, key: str, *, least: int | None = None) -> int:
        """A whole number within bounds."""
        value = self.get(key)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(key, f"must be a whole number, not {_kind(value)}")
        self._bounded(key, value, least, None)
        return value

    def optional_number(self, key: str, *, least: float | None = None, most: float | None = None) -> float | None:
        """A number, or None where the key holds null; the key itself must be there."""
        return None if self.get(key) is None else self.number(key, least=least, most=most)

    def optional_whole(self, key: str, *, least: int | None = None) -> int | None:
        """A whole number, or None where the key holds null; the key itself must be there."""
        return None if self.get(key) is None else self.whole(key, least=least)

    def flag(self, key: str) -> bool:
        """True or false."""
        return self._typed(key, bool, "true or false")

    def texts(self, key: str) -> list[str]:
        """A list of strings with something in them."""
        values = self._typed(key, list, "a list")
        for index, value in enumerate(values):
            if not isinstance(value, str) or not value.strip():
                raise self.error(f"{key}[{index}]", f"must be text, not {_kind(value)}")
        return values

    def items(self, key: str) -> list[Any]:
        """A list of anything."""
        return self._typed(key, list, "a list")

    def objects(self, key: str) -> Iterator[Fields]:
        """The objects of a list."""
        for index, value in enumerate(self.items(key)):
            yield Fields(value, self._file, self._at(f"{key}[{index}]"))

    def object(self, key: str) -> dict[str, Any]:
        """An object as it is."""
        return self._typed(key, dict, "an object")

    def _typed(self, key: str, kind: type[T], name: str) -> T:
        value = self.get(key)
        if not isinstance(value, kind):
            raise self.error(key, f"must be {name}, not {_kind(value)}")
        return value

    def _bounded(self, key: str, value: float, least: float | None, most: float | None) -> float:
        if not math.isfinite(value):
            raise self.error(key, f"{value} is not a finite number")
        if least is not None and value < least:
            raise self.error(key, f"{value:g} is less than {least:g}")
        if most is not None and value > most:
            raise self.error(key, f"{value:g} is more than {most:g}")
        return value

    def _at(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), f"the number {value}")
