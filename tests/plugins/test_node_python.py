"""What modules may import runs on the Python that a Mac's system has, 3.9."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).resolve().parents[2] / "plugins/module_utils/espalier").glob("*.py"))
PREFIXES = ("fabric_", "inventory_", "mac_", "nearest", "clock_", "machine_")
OURS = [file for file in FILES if file.stem.startswith(PREFIXES)]


@pytest.mark.parametrize("file", OURS, ids=lambda file: file.stem)
def test_syntax_and_annotations(file: Path) -> None:
    """Python 3.9 has no match statement, and no ``X | Y`` of types unless annotations are deferred."""
    source = file.read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 9))
    assert "from __future__ import annotations" in source
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "espalier"]
    importlib.import_module(f"espalier.{file.stem}")


def test_no_argument_of_newer_pythons() -> None:
    """zip(strict=) and dataclass(slots=, kw_only=) came with 3.10."""
    for file in OURS:
        module = importlib.import_module(f"espalier.{file.stem}")
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Call):
                assert not {"strict", "slots", "kw_only"} & {keyword.arg for keyword in node.keywords}, file
