"""Everything that can be wrong with an inventory, and what is said about it."""

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from espalier.fabric_finding import condensed
from espalier.inventory_check import Inventory, check_inventory
from espalier.mac_models import parse_models
from hypothesis import given, settings
from hypothesis import strategies as st

MODELS = parse_models(
    yaml.safe_load((Path(__file__).resolve().parents[2] / "files" / "mac_models.yml").read_text(encoding="utf-8"))
)
SPECS: dict[str, dict[str, Any]] = {
    "training": {
        "training_state": {"type": "str", "choices": ["present", "absent"], "description": "What there is."},
        "training_threads": {"type": "int", "description": "Threads."},
        "training_platforms": {"type": "list", "description": ["Tags."]},
        "training_remove_runs": {"type": "bool", "description": "Forget."},
    }
}
RING = [
    {"a": "mac1", "a_port": 1, "b": "mac2", "b_port": 1},
    {"a": "mac2", "a_port": 2, "b": "mac3", "b_port": 2},
    {"a": "mac3", "a_port": 1, "b": "mac1", "b_port": 2},
]


def ring() -> dict[str, Any]:
    """A good inventory, to be spoilt."""
    macs = ["mac1", "mac2", "mac3"]
    shared = {"thunderbolt_cables": copy.deepcopy(RING), "thunderbolt_range": "10.77.0.0/16"}
    variables: dict[str, dict[str, Any]] = {
        name: {"ansible_host": f"192.168.1.{number}", "espalier_model": "Mac16,11", **shared}
        for number, name in enumerate(macs, 11)
    }
    variables["server"] = {"ansible_host": "192.168.1.10", **shared}
    return {
        "groups": {"all": [*macs, "server"], "rack": [*macs, "server"], "macs": macs, "heads": ["server"]},
        "variables": variables,
    }


def check(inventory: Mapping[str, Any], **more: Any) -> list[tuple[str, str, str]]:
    findings = check_inventory(
        Inventory(inventory["groups"], inventory["variables"], specs=SPECS, models=MODELS, **more)
    )
    return [(finding.severity, finding.code, finding.to_dict()["text"]) for finding in findings]


def set_all(inventory: dict[str, Any], name: str, value: Any) -> None:
    for own in inventory["variables"].values():
        own[name] = value


def test_a_good_inventory_has_no_findings() -> None:
    assert check(ring()) == []


def spoilt(change: Any) -> dict[str, Any]:
    inventory = ring()
    change(inventory)
    return inventory


def everywhere(name: str, value: Any) -> Any:
    return lambda inventory: set_all(inventory, name, value)


def cables(*entries: Any) -> Any:
    return everywhere("thunderbolt_cables", list(entries))


def on(host: str, **values: Any) -> Any:
    return lambda inventory: inventory["variables"][host].update(values)


def groups(**values: Any) -> Any:
    return lambda inventory: inventory["groups"].update(values)


@pytest.mark.parametrize(
    ("change", "severity", "code", "said"),
    [
        (groups(rack=[], macs=[], heads=[]), "error", "no-nodes", "has no nodes"),
        (cables(*RING[:2], {**RING[2], "b": "mac9"}), "error", "cable-unknown-host", "no host mac9"),
        (cables(*RING, {**RING[0], "b": "mac3", "b_port": 3}), "error", "port-taken", "port 1 of mac1"),
        (cables(*RING[:2], {**RING[2], "b_port": 4}), "error", "port-lacking", "has 3 Thunderbolt ports"),
        (cables(*RING[:1]), "error", "node-without-cable", "host mac3"),
        (cables(*RING[:1], RING[0]), "error", "cable-duplicate", "cable 2"),
        (cables(*RING, {**RING[0], "b": "mac1"}), "error", "cable-self", "to itself"),
        (cables({"a": "mac3", "a_prt": 1, "b": "mac1", "b_port": 2}), "error", "cable-key", "a_port?"),
        (cables({"a": "mac3", "a_port": 1, "b": "mac1"}), "error", "cable-key-missing", "b_port"),
        (cables(*RING[:2], "mac3-mac1"), "error", "cable-type", "cable 3"),
        (cables(*RING[:2], {**RING[2], "a_port": "left"}), "error", "cable-port-type", "'left'"),
        (cables(*RING[:2], {**RING[2], "a_port": 1.0}), "error", "cable-port-type", "1.0"),
        (cables(*RING[:2], {**RING[2], "a_port": True}), "error", "cable-port-type", "True"),
        (cables(*RING[:2], {**RING[2], "a": 3}), "error", "cable-host-type", "a: 3"),
        (everywhere("thunderbolt_cables", "none"), "error", "cables-type", "not a list"),
        (everywhere("thunderbolt_range", 10), "error", "range-invalid", "10"),
        (everywhere("thunderbolt_range", "192.168.0.0/16"), "error", "range-overlap", "mac1"),
        (everywhere("thunderbolt_range", "10.77.0.0/8"), "error", "range-invalid", "bits"),
        (on("mac1", thunderbolt_range="10.78.0.0/16"), "error", "variable-differs", "mac1 and mac2"),
        (on("mac2", ansible_host="192.168.1.11"), "error", "address-taken", "host mac2"),
        (on("mac2", ansible_host="-oProxyCommand=reboot"), "error", "address-invalid", "ProxyCommand"),
        (on("mac2", ansible_host="a; reboot"), "error", "address-invalid", "a; reboot"),
        (on("mac2", ansible_host=12), "error", "address-invalid", "12"),
        (on("mac2", espalier_model="Mac16,1l"), "warning", "model-unknown", "Did you mean Mac16,1"),
        (on("mac2", espalier_model="Zx81"), "warning", "model-unknown", "files/mac_models.yml"),
        (on("mac2", espalier_model=16), "error", "model-type", "16"),
        (on("mac2", espalier_model=None), "warning", "model-missing", "host mac2"),
        (on("mac2", thunderbolt_node_id=1), "error", "node-id-taken", "belongs to mac1"),
        (on("mac2", thunderbolt_node_id="two"), "error", "node-id-type", "'two'"),
        (on("mac2", thunderbolt_node_id=0), "error", "node-id-bounds", "host mac2"),
        (on("mac2", thunderbolt_cabels=[]), "error", "variable-unknown", "Did you mean thunderbolt_cables?"),
        (on("mac2", espalier_modle="x"), "error", "variable-unknown", "Did you mean espalier_model?"),
        (on("mac2", thunderbold_range="x"), "error", "variable-unknown", "Did you mean thunderbolt_range?"),
        (on("mac2", ansible_hots="x"), "error", "variable-unknown", "Did you mean ansible_host?"),
        (on("mac2", training_zzz="x"), "error", "variable-unknown", "READMEs"),
        (on("mac2", training_threads="many"), "error", "variable-type", "'many' is not a whole number"),
        (on("mac2", training_platforms="macosx"), "error", "variable-type", "'macosx' is not a list"),
        (on("mac2", training_remove_runs="maybe"), "error", "variable-type", "true or false"),
        (on("mac2", training_state="gone"), "error", "variable-type", "present and absent"),
        (groups(mac=["mac9"]), "error", "group-unknown", "Did you mean macs?"),
        (groups(Head=["mac9"]), "error", "group-unknown", "Did you mean heads?"),
        (groups(heads=["server", "mac1"]), "error", "head-many", "2 hosts"),
        (groups(rack=["server", "mac1", "mac2"]), "error", "host-outside-rack", "host mac3"),
    ],
)
def test_what_is_wrong_is_named(change: Any, severity: str, code: str, said: str) -> None:
    found = [finding for finding in check(spoilt(change)) if finding[1] == code]
    assert found, check(spoilt(change))
    assert found[0][0] == severity
    assert said in found[0][2]


def test_one_mistake_in_a_cable_is_one_finding() -> None:
    found = check(spoilt(cables(*RING[:1], {"a": "mac2", "a_port": 2, "b": "mac3", "b_prot": 2})))
    assert [code for _, code, _ in found] == ["cable-key"]


def test_two_parts_are_listed() -> None:
    inventory = ring()
    for name in ("mac4", "mac5"):
        inventory["variables"][name] = {**inventory["variables"]["mac1"], "ansible_host": f"{name}.local"}
        inventory["groups"]["macs"].append(name)
        inventory["groups"]["rack"].append(name)
    set_all(inventory, "thunderbolt_cables", [*RING, {"a": "mac4", "a_port": 1, "b": "mac5", "b_port": 1}])
    found = check(inventory)
    assert [code for _, code, _ in found] == ["fabric-parts"]
    assert "mac1, mac2 and mac3; mac4 and mac5" in found[0][2]


def test_two_without_a_cable_and_one_mac_alone() -> None:
    inventory = ring()
    set_all(inventory, "thunderbolt_cables", [])
    assert [code for _, code, _ in check(inventory)] == ["node-without-cable"] * 3
    inventory["groups"].update(macs=["mac1"], rack=["mac1", "server"])
    assert check(inventory) == []


def test_unknown_model_skips_the_port_check_alone() -> None:
    inventory = spoilt(cables(*RING[:2], {**RING[2], "a_port": 7}))
    inventory["variables"]["mac3"]["espalier_model"] = "Mac99,1"
    assert [(severity, code) for severity, code, _ in check(inventory)] == [("warning", "model-unknown")]


def test_numbers_in_quotes_are_numbers() -> None:
    inventory = spoilt(cables({**RING[0], "a_port": "1"}, *RING[1:]))
    inventory["variables"]["mac2"]["thunderbolt_node_id"] = "2"
    inventory["variables"]["mac2"]["training_threads"] = "4"
    assert check(inventory) == []


def test_own_names_are_left_alone() -> None:
    inventory = spoilt(on("mac2", thunderbolt_cabel="x", favourite_colour="x", ansible_hosts="x"))
    inventory["groups"]["mac"] = []
    assert len(check(inventory)) == 3
    set_all(inventory, "espalier_own_names", ["thunderbolt_cabel", "ansible_hosts", "mac"])
    assert check(inventory) == []


def test_a_misspelling_on_all_hosts_is_one_finding() -> None:
    inventory = ring()
    set_all(inventory, "thunderbolt_rnage", "10.1.0.0/16")
    found = check(inventory)
    assert len(found) == 1
    assert "all hosts" in found[0][2]


def test_file_and_line_stand_in_front_where_they_are_known() -> None:
    inventory = spoilt(cables(*RING[:2], {**RING[2], "b_port": 4}))
    inventory["variables"]["mac2"]["thunderbolt_cabels"] = []
    origins = {
        ("", "cable 3"): "group_vars/all.yml:7",
        ("mac2", "thunderbolt_cabels"): "host_vars/mac2.yml:1",
    }
    texts = [text for _, _, text in check(inventory, origins=origins)]
    assert [text.split(": ")[0] for text in texts] == ["host_vars/mac2.yml:1", "group_vars/all.yml:7"]


@pytest.mark.parametrize("name", ["../etc", "a/b", "$(reboot)", "a b", "-rf", "mac;1", "", "x" * 64, "{{ 1 }}"])
def test_hostile_host_names_are_refused(name: str) -> None:
    inventory = ring()
    inventory["groups"]["macs"] = inventory["groups"]["rack"] = [name]
    inventory["groups"]["heads"] = []
    inventory["variables"] = {name: {"thunderbolt_node_id": 1, "espalier_model": "Mac16,11"}}
    assert [code for _, code, _ in check(inventory)] == ["host-name"]


def test_too_many_nodes_and_cables_end_soon_with_one_sentence_each() -> None:
    names = [f"mac{number}" for number in range(1, 5001)]
    shared = {"thunderbolt_cables": RING * 1000}
    variables = dict.fromkeys(names, shared)
    found = check_inventory(Inventory({"macs": names, "rack": names}, variables, models=MODELS))
    codes = [finding.code for finding in condensed(found)]
    assert codes.count("nodes-many") == codes.count("cables-many") == 1
    assert codes.count("model-missing") == 20
    assert "4980 times more" in condensed(found)[-1].message


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(["mac1", "mac2", "server", "a/b"]) | st.text(max_size=5)
keys = st.text(max_size=5) | st.sampled_from(
    [
        "ansible_host",
        "ansible_port",
        "espalier_model",
        "espalier_own_names",
        "thunderbolt_cables",
        "thunderbolt_cabels",
        "thunderbolt_node_id",
        "thunderbolt_range",
        "training_threads",
        "training_platforms",
    ]
)


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["macs", "heads", "rack", "mac"]), st.lists(names, max_size=4)),
    st.dictionaries(names, st.dictionaries(keys, junk | st.just(RING), max_size=6), max_size=4),
)
def test_no_inventory_makes_the_check_raise(
    found_groups: dict[str, list[str]], variables: dict[str, dict[str, Any]]
) -> None:
    found = check({"groups": found_groups, "variables": variables})
    assert found == check({"groups": found_groups, "variables": variables})
    json.dumps(found)
