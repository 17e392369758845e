"""The table of Macs, and the nearest name."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from espalier.mac_models import parse_models
from espalier.nearest import nearest

DATA: dict[str, Any] = yaml.safe_load(
    (Path(__file__).resolve().parents[2] / "files" / "mac_models.yml").read_text(encoding="utf-8")
)


def test_the_table_is_right_where_a_machine_was_seen() -> None:
    models = parse_models(DATA)
    assert (models["Mac16,11"].ports, models["Mac16,11"].thunderbolt, models["Mac16,11"].verified) == (
        3,
        5,
        True,
    )
    assert (models["Mac15,14"].ports, models["Mac15,14"].chip) == (6, "M3 Ultra")
    assert not models["Mac14,3"].verified


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "x", "chip": "x", "ports": 3, "thunderbolt": 4},
        {"name": "x", "chip": "x", "ports": 3, "thunderbolt": 4, "source": "hearsay"},
        {"name": "x", "chip": "x", "ports": 0, "thunderbolt": 4, "source": "unverified"},
        {"name": "x", "chip": "x", "ports": 3, "thunderbolt": 2, "source": "unverified"},
        {"name": "x", "chip": "x", "ports": 3, "thunderbolt": 4, "source": "unverified", "usb": 2},
    ],
)
def test_a_wrong_entry_is_named(entry: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"files/mac_models\.yml, Mac0,1"):
        parse_models({"sources": DATA["sources"], "models": {"Mac0,1": entry}})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cabels", "cables"),
        ("CABLES", "cables"),
        ("node-id", "node_id"),
        ("zzz", None),
        ("x" * 500, None),
        ("", None),
    ],
)
def test_nearest(name: str, expected: str | None) -> None:
    assert nearest(name, ["cables", "node_id", "range"]) == expected
