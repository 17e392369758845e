"""What a rack consists of, for every size and cabling that the lab makes."""

import ipaddress

import lab_plan
import pytest

SIZES = range(lab_plan.LEAST_NODES, lab_plan.MOST_NODES + 1)


def degree(plan: lab_plan.Plan) -> dict[str, int]:
    return {mac.name: sum(mac.name in (cable.a, cable.b) for cable in plan.cables) for mac in plan.macs}


@pytest.mark.parametrize("nodes", SIZES)
@pytest.mark.parametrize("cabling", lab_plan.CABLINGS)
def test_no_port_holds_two_cables_and_every_port_exists(nodes: int, cabling: str) -> None:
    plan = lab_plan.make_plan("demo", nodes, cabling)
    ports = [end for cable in plan.cables for end in ((cable.a, cable.a_port), (cable.b, cable.b_port))]
    assert len(ports) == len(set(ports))
    for mac in plan.macs:
        offered = {port["port"] for port in plan.node_config(mac)["thunderbolt_ports"]}
        assert {port for host, port in ports if host == mac.name} <= offered


@pytest.mark.parametrize(
    ("cabling", "cables", "degrees"),
    [("line", 3, [1, 2, 2, 1]), ("ring", 4, [2, 2, 2, 2]), ("mesh", 6, [3, 3, 3, 3]), ("star", 3, [3, 1, 1, 1])],
)
def test_four_nodes_in_each_cabling(cabling: str, cables: int, degrees: list[int]) -> None:
    plan = lab_plan.make_plan("demo", 4, cabling)
    assert len(plan.cables) == cables
    assert list(degree(plan).values()) == degrees


def test_a_ring_of_two_is_one_cable() -> None:
    assert len(lab_plan.make_plan("demo", 2, "ring").cables) == 1


def test_a_cable_is_told_to_both_its_ends() -> None:
    plan = lab_plan.make_plan("demo", 3, "ring")
    for cable in plan.cables:
        there = plan.node_config(plan.host(cable.a))["thunderbolt_ports"][cable.a_port - 1]["peer"]
        back = plan.node_config(plan.host(cable.b))["thunderbolt_ports"][cable.b_port - 1]["peer"]
        assert (there["host"], there["port"]) == (cable.b, cable.b_port)
        assert (back["host"], back["port"]) == (cable.a, cable.a_port)


@pytest.mark.parametrize(
    ("name", "nodes", "cabling", "says"),
    [
        ("demo", 1, "ring", "2 to 6 Macs"),
        ("demo", 7, "ring", "2 to 6 Macs"),
        ("demo", 3, "torus", "line, ring, mesh, star"),
        ("Demo!", 3, "ring", "use a letter, then letters and digits"),
        ("../../etc", 3, "ring", "use a letter, then letters and digits"),
        ("", 3, "ring", "use a letter, then letters and digits"),
    ],
)
def test_what_cannot_be_made_is_refused_with_what_can(name: str, nodes: int, cabling: str, says: str) -> None:
    with pytest.raises(lab_plan.LabError, match=says):
        lab_plan.make_plan(name, nodes, cabling)


def test_a_lab_keeps_clear_of_networks_in_use_and_of_the_fabric() -> None:
    first = lab_plan.make_plan("demo", 3, "ring")
    second = lab_plan.make_plan("demo", 3, "ring", [first.subnet, "10.88.0.0/16", "fd00::/64"])
    assert not ipaddress.ip_network(first.subnet).overlaps(ipaddress.ip_network(second.subnet))
    assert not ipaddress.ip_network(first.subnet).overlaps(ipaddress.ip_network("10.77.0.0/16"))
    with pytest.raises(lab_plan.LabError, match="no network is free"):
        lab_plan.make_plan("demo", 3, "ring", ["10.0.0.0/8"])


def test_a_plan_survives_its_file() -> None:
    plan = lab_plan.make_plan("demo", 5, "mesh")
    kept = {key: value for key, value in plan.as_dict().items() if key != "user"}
    assert lab_plan.plan_from_dict({**kept, "ssh_key": "added by the lab"}) == plan


def test_an_unknown_host_or_empty_port_is_named() -> None:
    plan = lab_plan.make_plan("demo", 3, "line")
    with pytest.raises(lab_plan.LabError, match=r"mac9: no such host .* it has head, mac1, mac2, mac3"):
        plan.host("mac9")
    with pytest.raises(lab_plan.LabError, match="mac1 port 3: no cable"):
        plan.cable_at("mac1", 3)


def test_every_interface_has_an_ethernet_address_of_its_own_that_stays() -> None:
    first, second = lab_plan.make_plan("demo", 6, "mesh"), lab_plan.make_plan("test", 6, "mesh")
    seen: list[str] = []
    for plan in (first, second):
        seen += [plan.management_address(host) for host in plan.hosts]
        seen += [plan.port_address(host, port) for host in plan.hosts for _, port in plan.ports(host)]
    assert len(seen) == len(set(seen)) == 2 * (7 + 30)
    # Unicast and locally administered: no card in the world has it.
    assert {int(address[:2], 16) & 3 for address in seen} == {2}
    again = lab_plan.make_plan("demo", 6, "mesh")
    assert again.port_address(again.host("mac3"), 5) == first.port_address(first.host("mac3"), 5)


def test_a_host_lists_its_own_ends_of_its_cables() -> None:
    plan = lab_plan.make_plan("demo", 3, "ring")
    assert sorted(port for _, port in plan.ports(plan.host("mac3"))) == [1, 2]
    assert plan.ports(plan.host("head")) == []


def test_a_limit_of_cores_is_kept_with_the_plan() -> None:
    plan = lab_plan.make_plan("demo", 3, "ring", cpus=0.5)
    assert lab_plan.plan_from_dict(plan.as_dict()).cpus == 0.5
    assert "cpus" not in lab_plan.make_plan("demo", 3, "ring").as_dict()
    with pytest.raises(lab_plan.LabError, match="--cpus -1: give a machine more than none"):
        lab_plan.make_plan("demo", 3, "ring", cpus=-1)
