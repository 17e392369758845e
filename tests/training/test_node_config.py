import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from training.errors import InputError
from training.node_config import cable_hints, load_node_config
from training.placement import on_the_ring, on_this_machine

NODE: dict[str, Any] = {
    "node": "mac2",
    "address": "10.77.0.2",
    "ring": [
        {"node": "mac3", "address": "10.77.0.3"},
        {"node": "mac2", "address": "10.77.0.2"},
        {"node": "mac1", "address": "10.77.0.1"},
    ],
}


def write(tmp_path: Path, content: object) -> Path:
    path = tmp_path / "node.yml"
    path.write_text(yaml.safe_dump(content))
    return path


def test_rank_order_is_ring_order(tmp_path: Path) -> None:
    node = load_node_config(write(tmp_path, {**NODE, "master_port": 29600, "threads": 4}))
    place = on_the_ring(node, "all")
    assert (place.rank, place.names, place.address) == (1, ("mac3", "mac2", "mac1"), "10.77.0.2")
    assert (place.addresses[0], place.master_port, place.threads) == ("10.77.0.3", 29600, 4)


def test_some_nodes_keep_the_order_of_the_ring(tmp_path: Path) -> None:
    place = on_the_ring(load_node_config(write(tmp_path, NODE)), "mac1, mac2")
    assert (place.rank, place.names, place.world_size) == (0, ("mac2", "mac1"), 2)


@pytest.mark.parametrize(
    ("nodes", "part"),
    [
        ("mac1,mac9", "mac9 is not in the ring"),
        ("mac1,mac3", "this node is mac2"),
        (",", "this node is mac2"),
    ],
)
def test_nodes_that_cannot_take_part_are_refused(tmp_path: Path, nodes: str, part: str) -> None:
    with pytest.raises(InputError, match=part):
        on_the_ring(load_node_config(write(tmp_path, NODE)), nodes)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"adress": "10.77.0.2"}, "unknown key adress. Did you mean address?"),
        ({"address": "mac2.local"}, "address is 'mac2.local', but must be an IPv4 address"),
        ({"address": "10.77.0.9"}, "ring says 10.77.0.2"),
        ({"node": "mac9"}, "ring says nothing of that name"),
        ({"node": 3}, "node is 3, but must be a name"),
        ({"ring": []}, "ring must be a list"),
        ({"ring": [{"node": "mac2"}]}, "ring[0]"),
        ({"ring": NODE["ring"] + [{"node": "mac4", "address": "10.77.0.1"}]}, "address 10.77.0.1 twice"),
        ({"ring": NODE["ring"] + [{"node": "mac1", "address": "10.77.0.4"}]}, "node mac1 twice"),
        ({"master_port": 70000}, "master_port is 70000"),
        ({"threads": -1}, "threads is -1"),
        ({"runs_dir": 5}, "runs_dir is 5"),
    ],
)
def test_a_bad_node_file_is_refused(tmp_path: Path, change: dict[str, Any], part: str) -> None:
    path = write(tmp_path, {**NODE, **change})
    with pytest.raises(InputError) as caught:
        load_node_config(path)
    assert part in str(caught.value)
    assert str(caught.value).startswith(f"{path}:")


def test_a_machine_that_is_no_node_learns_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"site\.yml, or add --local-ranks"):
        load_node_config(tmp_path / "none.yml")


def test_cables_are_named_from_the_fabric_plan(tmp_path: Path) -> None:
    plan = tmp_path / "fabric.json"
    links = [
        {"port": 2, "peer": "mac3", "peer_port": 1, "address": "10.77.1.9"},
        {"port": 3, "peer": "mac3", "peer_port": 4, "address": "10.77.1.13"},
    ]
    plan.write_text(json.dumps({"links": links}))
    assert cable_hints(plan) == {"mac3": ["port 2 to mac3 port 1", "port 3 to mac3 port 4"]}


@pytest.mark.parametrize("content", ["not json", "[]", '{"links": [3]}'])
def test_an_unreadable_fabric_plan_only_costs_the_hint(tmp_path: Path, content: str) -> None:
    plan = tmp_path / "fabric.json"
    plan.write_text(content)
    assert cable_hints(plan) == {}


def test_local_ranks_share_the_machine() -> None:
    places = on_this_machine(3, 4242)
    assert [place.rank for place in places] == [0, 1, 2]
    assert {place.address for place in places} == {"127.0.0.1"}
    assert all(place.threads >= 1 for place in places)
    with pytest.raises(InputError, match="at least 1"):
        on_this_machine(0, 1)
