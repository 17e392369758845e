"""Apple silicon Macs and their Thunderbolt ports, out of the text of files/mac_models.yml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MacModel:
    """One model.

    Attributes:
        identifier: what ``sysctl -n hw.model`` prints, such as ``Mac16,11``.
        name: as Apple sells it.
        chip: as the machine reports it, without "Apple".
        ports: number of Thunderbolt ports.
        thunderbolt: generation, 3 to 5.
        verified: whether the number of ports was seen on a machine or in Apple's own text.
    """

    identifier: str
    name: str
    chip: str
    ports: int
    thunderbolt: int
    verified: bool


def parse_models(data: Mapping[str, Any]) -> dict[str, MacModel]:
    """The models by identifier.

    Raises:
        ValueError: an entry lacks a key, has one too many, names an unknown source, or has no ports.
    """
    sources = set(data["sources"])
    models = {}
    for identifier, entry in data["models"].items():
        place = f"files/mac_models.yml, {identifier}"
        if set(entry) != {"name", "chip", "ports", "thunderbolt", "source"}:
            raise ValueError(f"{place}: write name, chip, ports, thunderbolt and source, not {sorted(entry)}.")
        if entry["source"] not in sources:
            raise ValueError(f"{place}: source {entry['source']} is not one of {sorted(sources)}.")
        if not (1 <= entry["ports"] <= 8 and 3 <= entry["thunderbolt"] <= 5):
            raise ValueError(f"{place}: ports are 1 to 8 and Thunderbolt is 3 to 5.")
        models[identifier] = MacModel(
            identifier=identifier,
            name=entry["name"],
            chip=entry["chip"],
            ports=entry["ports"],
            thunderbolt=entry["thunderbolt"],
            verified=entry["source"] != "unverified",
        )
    return models
