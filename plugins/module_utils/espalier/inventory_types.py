"""Whether a variable's value has the type that its role declares, before anything is contacted.

Ansible checks this too, but only when the role begins, when other roles have changed the machine already.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .fabric_finding import named
from .inventory_read import shown, whole_number

# ansible.module_utils.parsing.convert_bool: the words that Ansible takes for a boolean.
_BOOLEAN_WORDS = {"y", "yes", "on", "1", "true", "t", "n", "no", "off", "0", "false", "f"}

_TYPE_NAMES = {
    "bool": "true or false",
    "dict": "a dictionary",
    "float": "a number",
    "int": "a whole number",
    "list": "a list",
    "path": "text",
    "str": "text",
}


def type_problem(value: Any, option: Mapping[str, Any]) -> str | None:
    """What is wrong with a value, as the end of a sentence; None where nothing is.

    Args:
        value: the value; None is always right (the role decides what it means).
        option: the variable's entry in meta/argument_specs.yml.
    """
    if value is None:
        return None
    kind = option.get("type", "str")
    if not _has_type(value, kind):
        return f"{shown(value)} is not {_TYPE_NAMES[kind]}"
    choices = option.get("choices")
    if choices and str(value) not in {str(choice) for choice in choices}:
        return f"{shown(value)} is not one of {named(str(choice) for choice in choices)}"
    return None


def _has_type(value: Any, kind: str) -> bool:
    is_mapping = isinstance(value, Mapping)
    is_list = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    if kind == "list":
        return is_list
    if kind == "dict":
        return is_mapping
    if kind not in _TYPE_NAMES:
        return True
    if is_list or is_mapping:
        return False
    if kind == "bool":
        return isinstance(value, bool) or str(value).lower() in _BOOLEAN_WORDS
    if kind == "int":
        return whole_number(value) is not None or bool(re.fullmatch(r"-[0-9]{1,9}", str(value)))
    if kind == "float":
        return not isinstance(value, bool) and bool(re.fullmatch(r"-?[0-9]+(\.[0-9]*)?", str(value)))
    return True
