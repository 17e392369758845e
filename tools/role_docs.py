#!/usr/bin/env python3
"""Writes the variable tables of the roles' READMEs from meta/argument_specs.yml, and checks the specs.

`tools/role_docs.py` rewrites what lies between the two markers of each README; with `--check` it changes
nothing and exits 1 when a README is stale or a spec differs from the role's defaults.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
BEGIN = "<!-- variables: generated from meta/argument_specs.yml by `make docs` -->"
END = "<!-- end of variables -->"


class SpecError(Exception):
    """A role's argument specs and defaults do not agree; the message names the role, the key and the fix."""


def load(path: Path) -> dict[str, Any]:
    """Load a YAML file that holds a mapping; an empty file is an empty mapping."""
    value = yaml.safe_load(path.read_text(encoding="utf-8"))
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SpecError(f"{path.relative_to(ROOT)}: a mapping is wanted, found {type(value).__name__}")
    return value


def problems(role: str, options: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
    """What is wrong between a role's options and its defaults, a sentence each."""
    found = []
    for key in sorted(options.keys() | defaults.keys()):
        if not key.startswith(f"{role}_"):
            found.append(f"roles/{role}: {key} does not begin with {role}_: rename it")
        if key not in defaults:
            if not options[key].get("required", False):
                found.append(f"roles/{role}/defaults/main.yml: {key} is missing: add it, or mark it required")
        elif key not in options:
            found.append(f"roles/{role}/meta/argument_specs.yml: {key} is missing: describe it")
        elif "default" in options[key] and options[key]["default"] != defaults[key]:
            found.append(
                f"roles/{role}: {key} is {defaults[key]!r} in defaults and {options[key]['default']!r} in "
                "argument_specs: make them equal"
            )
        elif "default" not in options[key] and not _is_template(defaults[key]):
            found.append(f"roles/{role}/meta/argument_specs.yml: {key} has no default: write it")
    return found


def _is_template(value: object) -> bool:
    return "{{" in json.dumps(value)


def table(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """The Markdown table of a role's options."""
    rows = ["| variable | type | default | meaning |", "|---|---|---|---|"]
    for key in sorted(options):
        option = options[key]
        value = defaults.get(key, option.get("default"))
        shown = "required" if option.get("required") else f"`{_inline(value)}`"
        text = option.get("description", "")
        text = " ".join(text) if isinstance(text, list) else str(text)
        if option.get("choices"):
            text += " One of: " + ", ".join(f"`{choice}`" for choice in option["choices"]) + "."
        rows.append(f"| `{key}` | {option.get('type', 'str')} | {shown} | {_cell(text)} |")
    return "\n".join(rows)


def _inline(value: object) -> str:
    text = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    return _cell(text)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def rewritten(readme: str, generated: str, name: str) -> str:
    """The README with the part between the markers replaced.

    Raises:
        SpecError: a marker is missing or stands twice.
    """
    if readme.count(BEGIN) != 1 or readme.count(END) != 1:
        raise SpecError(f"{name}: wants the lines {BEGIN!r} and {END!r}, once each")
    before, rest = readme.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{generated}\n{END}{after}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite or check every role."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when something is stale")
    check = parser.parse_args(arguments).check
    found: list[str] = []
    roles = sorted(path for path in (ROOT / "roles").iterdir() if path.is_dir())
    for role in roles:
        try:
            specs = load(role / "meta" / "argument_specs.yml")
            options = specs["argument_specs"]["main"].get("options", {})
            defaults = load(role / "defaults" / "main.yml")
            found += problems(role.name, options, defaults)
            readme = role / "README.md"
            old = readme.read_text(encoding="utf-8")
            new = rewritten(old, table(options, defaults), str(readme.relative_to(ROOT)))
        except FileNotFoundError as error:
            found.append(f"roles/{role.name}: {error.filename} is missing")
            continue
        except (SpecError, KeyError) as error:
            found.append(f"roles/{role.name}: {error}")
            continue
        if new != old:
            if check:
                found.append(f"{readme.relative_to(ROOT)} is stale: run make docs")
            else:
                readme.write_text(new, encoding="utf-8")
                print(f"wrote {readme.relative_to(ROOT)}")
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
