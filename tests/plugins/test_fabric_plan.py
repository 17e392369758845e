"""The fabric plan against networkx, over random cablings."""

import ipaddress
import itertools
import json
from dataclasses import replace

import networkx as nx
import pytest
from espalier.fabric_finding import errors_of
from espalier.fabric_inputs import Cable, Node, Settings, default_node_id
from espalier.fabric_plan import FabricPlan, node_part, plan_fabric
from hypothesis import given, settings
from hypothesis import strategies as st

RING = [Cable("mac1", 1, "mac2", 1), Cable("mac2", 2, "mac3", 2), Cable("mac3", 1, "mac1", 2)]


def macs(*ids: int) -> list[Node]:
    return [Node(f"mac{node_id}", node_id) for node_id in ids]


@st.composite
def cablings(draw: st.DrawFn, most: int = 10) -> tuple[list[Node], list[Cable]]:
    """Nodes with any ids, and cables between any two of them, each in a port of its own; maybe in parts."""
    ids = draw(st.lists(st.integers(1, 63), min_size=2, max_size=most, unique=True))
    pairs = list(itertools.combinations(ids, 2))
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=24))
    free = {node_id: iter(draw(st.permutations(range(1, 31)))) for node_id in ids}
    cables = []
    for low, high in chosen:
        first, second = draw(st.permutations([low, high]))
        cables.append(Cable(f"mac{first}", next(free[first]), f"mac{second}", next(free[second])))
    return macs(*ids), cables


def graph_of(nodes: list[Node], cables: list[Cable]) -> "nx.Graph[str]":
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(node.name for node in nodes)
    graph.add_edges_from((cable.a, cable.b) for cable in cables)
    return graph


def addresses(plan: FabricPlan) -> set[str]:
    return {node.address for node in plan.nodes} | {
        address for cable in plan.cables for address in (cable.a_address, cable.b_address)
    }


def test_the_addresses_of_the_contract() -> None:
    plan = plan_fabric(macs(1, 2, 3), RING)
    assert [node.address for node in plan.nodes] == ["10.77.0.1", "10.77.0.2", "10.77.0.3"]
    third = plan.cables[2]
    assert (third.network, third.a_address, third.b_address) == ("10.77.1.8/30", "10.77.1.10", "10.77.1.9")
    assert plan.ring == ("mac1", "mac2", "mac3")
    assert plan.ring_is_cabled
    assert plan.findings == ()


def test_a_node_s_part_is_what_it_needs_and_json() -> None:
    part = node_part(plan_fabric(macs(1, 2, 3), RING), "mac3")
    assert json.loads(json.dumps(part)) == part
    assert [(link["port"], link["address"], link["peer"], link["peer_port"]) for link in part["links"]] == [
        (1, "10.77.1.10", "mac1", 2),
        (2, "10.77.2.10", "mac2", 2),
    ]
    assert {link["netmask"] for link in part["links"]} == {"255.255.255.252"}
    assert [member["node"] for member in part["ring"]] == ["mac1", "mac2", "mac3"]
    assert part["peers"][0] == {"node": "mac1", "address": "10.77.0.1", "hops": 1}


def test_a_node_that_is_not_in_the_plan() -> None:
    with pytest.raises(KeyError, match="mac9 is not in the fabric plan"):
        node_part(plan_fabric(macs(1, 2), [Cable("mac1", 1, "mac2", 1)]), "mac9")


def test_a_linux_box_forwards_and_has_no_rank() -> None:
    nodes = [*macs(1, 2), Node("server", 9, trains=False)]
    plan = plan_fabric(nodes, [Cable("mac1", 1, "server", 1), Cable("server", 2, "mac2", 1)])
    assert plan.ring == ("mac1", "mac2")
    assert plan.hops["mac1"]["mac2"] == 2
    assert not plan.ring_is_cabled
    assert plan.ring_hops == 4


@settings(max_examples=150, deadline=None)
@given(cablings())
def test_distances_are_as_short_as_networkx_finds(cabling: tuple[list[Node], list[Cable]]) -> None:
    nodes, cables = cabling
    expected = dict(nx.all_pairs_shortest_path_length(graph_of(nodes, cables)))
    assert plan_fabric(nodes, cables).hops == expected


@settings(max_examples=150, deadline=None)
@given(cablings())
def test_no_address_is_given_twice_and_ends_share_a_network(cabling: tuple[list[Node], list[Cable]]) -> None:
    nodes, cables = cabling
    plan = plan_fabric(nodes, cables)
    assert len(plan.cables) == len(cables)
    assert len(addresses(plan)) == len(nodes) + 2 * len(cables)
    for cable in plan.cables:
        network = ipaddress.IPv4Network(cable.network)
        hosts = {str(host) for host in network.hosts()}
        assert {cable.a_address, cable.b_address} == hosts
        assert network.subnet_of(ipaddress.IPv4Network("10.77.0.0/16"))


@settings(max_examples=100, deadline=None)
@given(cablings(), st.data())
def test_adding_a_node_or_cable_renumbers_nothing(cabling: tuple[list[Node], list[Cable]], data: st.DataObject) -> None:
    nodes, cables = cabling
    before = plan_fabric(nodes, cables)
    used = {node.node_id for node in nodes}
    new_id = data.draw(st.sampled_from(sorted(set(range(1, 64)) - used)))
    other = data.draw(st.sampled_from(nodes))
    more = [*cables, Cable(other.name, 63, f"mac{new_id}", data.draw(st.integers(1, 63)))]
    after = plan_fabric(data.draw(st.permutations([*nodes, *macs(new_id)])), data.draw(st.permutations(more)))
    assert {node.name: node.address for node in before.nodes}.items() <= {
        node.name: node.address for node in after.nodes
    }.items()
    assert set(before.cables) <= set(after.cables)


@settings(max_examples=100, deadline=None)
@given(cablings())
def test_parts_and_lonely_nodes_are_named(cabling: tuple[list[Node], list[Cable]]) -> None:
    nodes, cables = cabling
    graph = graph_of(nodes, cables)
    codes = [finding.code for finding in plan_fabric(nodes, cables).findings]
    lonely = [name for name in graph if graph.degree(name) == 0]
    groups = [group for group in nx.connected_components(graph) if len(group) > 1]
    assert codes.count("node-without-cable") == len(lonely)
    assert codes.count("fabric-parts") == (len(groups) > 1)
    assert len(codes) == codes.count("node-without-cable") + codes.count("fabric-parts")


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.builds(
            Node,
            name=st.text(max_size=4),
            node_id=st.none() | st.integers(-3, 300),
            ports=st.none() | st.integers(0, 3),
            trains=st.booleans(),
            management_address=st.none() | st.text(max_size=4) | st.just("10.77.3.3"),
        ),
        max_size=6,
        unique_by=lambda node: node.name,
    ),
    st.lists(st.builds(Cable, st.text(max_size=4), st.integers(-2, 99), st.text(max_size=4), st.integers(-2, 99))),
    st.sampled_from(["10.77.0.0/16", "10.77.1.0/16", "", "fe80::/64", "8.8.0.0/16", "10.0.0.0/8"]) | st.text(),
)
def test_total_for_any_input_and_what_it_plans_is_consistent(
    nodes: list[Node], cables: list[Cable], block: str
) -> None:
    plan = plan_fabric(nodes, cables, Settings(block))
    names = {node.name for node in plan.nodes}
    assert {end for cable in plan.cables for end in (cable.a, cable.b)} <= names
    assert set(plan.ring) == {node.name for node in plan.nodes if node.trains}
    assert len(addresses(plan)) == len(plan.nodes) + 2 * len(plan.cables)
    if len(plan.nodes) < len(nodes) or len(plan.cables) < len(cables):
        assert errors_of(plan.findings)
    json.dumps(plan.to_dict())


@pytest.mark.parametrize(
    ("nodes", "cables", "code", "said"),
    [
        (macs(1, 2), [Cable("mac1", 1, "mac1", 2)], "cable-self", "from mac1 to itself"),
        (macs(1, 2), [Cable("mac1", 1, "mca2", 1, 4)], "cable-unknown-host", "Did you mean mac2?"),
        (macs(1, 2, 3), [*RING, Cable("mac2", 1, "mac3", 3)], "port-taken", "port 1 of mac2"),
        (macs(1, 2), [Cable("mac1", 0, "mac2", 1)], "port-bounds", "port 0 of mac1"),
        (macs(1, 2, 3), [*RING, Cable("mac2", 1, "mac1", 1)], "cable-duplicate", "declared twice"),
        ([*macs(1), Node("mac2", 1)], [Cable("mac1", 1, "mac2", 1)], "node-id-taken", "belongs to mac1"),
        (
            [*macs(1), Node("big", 64)],
            [Cable("mac1", 1, "big", 1)],
            "node-id-bounds",
            "64 is not within 1 to 63",
        ),
        ([*macs(1), Node("mac", None)], [Cable("mac1", 1, "mac", 1)], "node-id-missing", "host mac"),
        (
            [replace(macs(1)[0], ports=3, model="Mac16,11"), *macs(2)],
            [Cable("mac1", 4, "mac2", 1)],
            "port-lacking",
            "mac1 (Mac16,11) has 3 Thunderbolt ports, and no port 4",
        ),
        (
            [replace(macs(1)[0], management_address="10.77.9.9"), *macs(2)],
            [Cable("mac1", 1, "mac2", 1)],
            "range-overlap",
            "mac1 has 10.77.9.9",
        ),
    ],
)
def test_what_cannot_be_built_is_one_finding(nodes: list[Node], cables: list[Cable], code: str, said: str) -> None:
    findings = plan_fabric(nodes, cables).findings
    assert [finding.code for finding in findings] == [code]
    assert said in findings[0].to_dict()["text"]


@pytest.mark.parametrize(
    ("block", "code"),
    [
        ("10.77.0.0", "range-size"),
        ("10.77.0.0/24", "range-size"),
        ("10.77.1.0/16", "range-invalid"),
        ("my net", "range-invalid"),
        ("fd00::/16", "range-invalid"),
        ("8.8.0.0/16", "range-public"),
        ("169.254.0.0/16", "range-public"),
        ("172.32.0.0/16", "range-public"),
    ],
)
def test_ranges_that_are_none(block: str, code: str) -> None:
    plan = plan_fabric(macs(1, 2), [Cable("mac1", 1, "mac2", 1)], Settings(block))
    assert [finding.code for finding in plan.findings] == [code]
    assert plan.nodes == ()


def test_the_proposed_range_is_free() -> None:
    nodes = [Node("mac1", 1, management_address="10.77.0.9"), Node("mac2", 2, management_address="10.64.0.9")]
    finding = plan_fabric(nodes, [Cable("mac1", 1, "mac2", 1)]).findings[0]
    assert "thunderbolt_range: 10.65.0.0/16" in finding.fix


@pytest.mark.parametrize(("name", "node_id"), [("mac3", 3), ("mac-12", 12), ("mac07", 7), ("mac", None), ("3a", None)])
def test_default_node_id(name: str, node_id: int | None) -> None:
    assert default_node_id(name) == node_id
