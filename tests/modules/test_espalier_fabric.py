"""The program that keeps a node's part of the fabric: what it reads, what it decides, and the order of it."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent / "fixtures"
RECORDED = os.environ.get("ESPALIER_FIXTURES")


def load_program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("espalier_fabric", ROOT / "files/fabric/espalier_fabric.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their annotations up there
    spec.loader.exec_module(module)
    return module


fabric = load_program()


def text(name: str) -> str:
    return (HERE / name).read_text()


def recorded(*names: str) -> list[Path]:
    return [path for name in names for path in sorted(Path(RECORDED, name).glob("*.out"))] if RECORDED else []


def node(**more: Any) -> dict[str, Any]:
    link = {
        "port": 1,
        "address": "10.77.1.5",
        "netmask": "255.255.255.252",
        "network": "10.77.1.4/30",
        "peer": "mac2",
        "peer_port": 3,
        "peer_address": "10.77.1.6",
        "device": "",
    }
    return {
        "node": "mac1",
        "system": "Darwin",
        "address": "10.77.0.1",
        "range": "10.77.0.0/16",
        "mtu": 1500,
        "restore_bridge": True,
        "links": [link],
        "peers": [{"node": "mac2", "address": "10.77.0.2", "hops": 1}],
        "babel": {"hello_interval_s": 0.5, "update_interval_s": 2.0},
        **more,
    }


def declared(**more: Any) -> Any:
    return fabric.parse_declared(json.dumps(node(**more)))


def bare(**more: Any) -> Any:
    """A Mac as it comes: ports in the bridge, no service for a cable."""
    facts = fabric.Facts(
        devices=fabric.parse_hardware_ports(text("hardware-ports.out")),
        interfaces=fabric.parse_ifconfig(text("ifconfig.out")),
        services=tuple(fabric.parse_service_order(text("service-order.out"))),
        key="ab" * 32,
    )
    return replace(facts, **more)


def settled(wanted: Any, **more: Any) -> Any:
    """The same Mac after everything was put right."""
    facts = bare()
    interfaces = dict(facts.interfaces)
    interfaces["bridge0"] = replace(interfaces["bridge0"], members=())
    interfaces["en2"] = replace(interfaces["en2"], inet=(("10.77.1.5", 30),))
    interfaces["lo0"] = replace(interfaces["lo0"], inet=(("127.0.0.1", 8), ("10.77.0.1", 32)))
    service = fabric.Service("Espalier Thunderbolt 1", True, "Thunderbolt 1", "en2")
    services = [replace(one, enabled=one.enabled and one.device not in ("bridge0", "en2")) for one in facts.services]
    facts = replace(
        facts,
        interfaces=interfaces,
        services=(*services, service),
        infos={service.name: fabric.ServiceInfo("manual", "10.77.1.5", "255.255.255.252", "Link-local only")},
        forwarding=True,
        undo={"members": [["bridge0", "en2"], ["bridge0", "en6"]], "services": ["Pont Thunderbolt"]},
    )
    facts = replace(facts, babeld_config=fabric.babeld_config(wanted, facts))
    return replace(facts, **more)


def commands(steps: list[Any]) -> list[str]:
    return [" ".join(step.command) or step.act for step in steps if step.can_act]


def test_thunderbolt_ports_are_told_from_what_only_sounds_like_one() -> None:
    assert fabric.parse_hardware_ports(text("hardware-ports.out")) == {1: "en2", 2: "en6"}


def test_services_are_read_whatever_their_names() -> None:
    services = fabric.parse_service_order(text("service-order.out"))
    assert [(one.name, one.enabled, one.device) for one in services] == [
        ("Ethernet", True, "en0"),
        ("Pont Thunderbolt", False, "bridge0"),
        ("A (strange, but legal) name", True, "en2"),
        ("VPN", True, ""),
    ]


def test_interfaces_are_read_with_their_addresses_and_members() -> None:
    interfaces = fabric.parse_ifconfig(text("ifconfig.out"))
    assert interfaces["en0"].inet == (("192.0.2.10", 24),)
    assert (interfaces["en2"].active, interfaces["en6"].active) == (True, False)
    assert (interfaces["en2"].link_local, interfaces["en6"].link_local) == (True, False)
    assert interfaces["bridge0"].members == ("en2", "en6")
    assert interfaces["lo0"].mtu == 16384


def test_a_service_s_configuration_is_read() -> None:
    said = "Manual Configuration\nIP address: 10.77.1.5\nSubnet mask: 255.255.255.252\nRouter: (null)\nIPv6: Off\n"
    assert fabric.parse_info(said) == fabric.ServiceInfo("manual", "10.77.1.5", "255.255.255.252", "Off")


def test_linux_s_interfaces_are_read_and_the_bridge_knows_its_members() -> None:
    said = [
        {"ifname": "br0", "flags": ["UP"], "mtu": 1500, "addr_info": []},
        {
            "ifname": "thunderbolt0",
            "flags": ["UP", "LOWER_UP"],
            "mtu": 65520,
            "master": "br0",
            "addr_info": [
                {"family": "inet", "local": "10.77.1.5", "prefixlen": 30, "scope": "global"},
                {"family": "inet6", "local": "fe80::1", "prefixlen": 64, "scope": "link"},
            ],
        },
    ]
    interfaces = fabric.parse_ip_json(json.dumps(said))
    assert interfaces["br0"].members == ("thunderbolt0",)
    cable = interfaces["thunderbolt0"]
    assert (cable.inet, cable.link_local, cable.active) == ((("10.77.1.5", 30),), True, True)


@pytest.mark.parametrize("broken", ["not json", "[]", "{}", json.dumps(node(address="10.77.0.300"))])
def test_a_damaged_plan_says_how_to_get_a_new_one(broken: str) -> None:
    with pytest.raises(fabric.CannotTellError, match=r"site\.yml writes it anew"):
        fabric.parse_declared(broken)


def test_nothing_gets_an_address_before_the_ports_have_left_the_bridge() -> None:
    facts = bare()
    services = [replace(one, enabled=True) for one in facts.services]
    did = commands(fabric.plan_apply(declared(), replace(facts, services=tuple(services))))
    bridge = did.index("ifconfig bridge0 deletem en2")
    assert did[0] == "networksetup -setnetworkserviceenabled Pont Thunderbolt off"
    assert all(bridge < did.index(one) for one in did if "-setmanual" in one or "alias" in one)


def test_the_bridge_of_virtual_machines_and_other_networks_are_left_alone() -> None:
    did = "\n".join(commands(fabric.plan_apply(declared(), bare())))
    assert "bridge100" not in did
    assert "en0" not in did
    assert "Ethernet" not in did
    assert "VPN" not in did


def test_another_service_on_a_cable_s_port_is_switched_off_and_noted() -> None:
    steps = fabric.plan_apply(declared(), bare())
    (step,) = [step for step in steps if "A (strange" in step.place]
    assert step.command[-1] == "off"
    assert step.note == ("services", ["A (strange, but legal) name"])


def test_nothing_differs_once_everything_is_right() -> None:
    wanted = declared()
    assert fabric.plan_apply(wanted, settled(wanted)) == []
    assert fabric.plan_bridge(wanted, settled(wanted)) == []


@pytest.mark.parametrize(
    ("change", "command"),
    [
        (lambda facts: replace(facts, forwarding=False), "sysctl -w net.inet.ip.forwarding=1"),
        (lambda facts: with_interface(facts, "en2", mtu=9000), "networksetup -setMTU en2 1500"),
        (lambda facts: with_interface(facts, "en2", up=False), "ifconfig en2 up"),
        (
            lambda facts: with_interface(facts, "en2", inet=()),
            "ifconfig en2 alias 10.77.1.5 netmask 255.255.255.252",
        ),
        (
            lambda facts: with_interface(facts, "lo0", inet=(("127.0.0.1", 8),)),
            "ifconfig lo0 alias 10.77.0.1 netmask 255.255.255.255",
        ),
        (lambda facts: with_interface(facts, "bridge0", members=("en6",)), "ifconfig bridge0 deletem en6"),
        (lambda facts: replace(facts, babeld_config="# by hand\n"), "write-babeld"),
        (
            lambda facts: replace(
                facts, infos={"Espalier Thunderbolt 1": fabric.ServiceInfo("dhcp", "169.254.1.2", "", "Off")}
            ),
            "networksetup -setmanual Espalier Thunderbolt 1 10.77.1.5 255.255.255.252 ",
        ),
    ],
)
def test_what_was_undone_by_others_is_put_right_and_nothing_else(change: Any, command: str) -> None:
    wanted = declared()
    did = commands(fabric.plan_apply(wanted, change(settled(wanted))))
    assert command in did
    # a service that was set to something else has lost its IPv6 setting too
    assert set(did) <= {command, "networksetup -setv6LinkLocal Espalier Thunderbolt 1"}


def with_interface(facts: Any, name: str, **change: Any) -> Any:
    return replace(facts, interfaces={**facts.interfaces, name: replace(facts.interfaces[name], **change)})


def test_a_port_that_got_another_device_moves_its_service_and_the_routing() -> None:
    wanted = declared()
    facts = settled(wanted)
    facts = replace(facts, devices={1: "en6", 2: "en2"})
    did = commands(fabric.plan_apply(wanted, facts))
    assert did.index("networksetup -removenetworkservice Espalier Thunderbolt 1") < did.index(
        "networksetup -createnetworkservice Espalier Thunderbolt 1 Thunderbolt 1"
    )
    assert "write-babeld" in did
    assert "interface en6" in fabric.babeld_config(wanted, facts)


def test_a_cable_that_is_not_plugged_in_differs_and_only_a_person_can_help() -> None:
    wanted = declared()
    facts = with_interface(settled(wanted), "en2", active=False, inet=())
    (step,) = fabric.plan_apply(wanted, facts)
    assert "cable mac1 port 1 to mac2 port 3" in step.place
    assert "plugged in" in step.have
    assert not step.can_act


def test_a_port_that_the_machine_does_not_have_is_named() -> None:
    wanted = declared()
    facts = replace(settled(wanted), devices={2: "en6"})
    steps = [step for step in fabric.plan_apply(wanted, facts) if not step.can_act]
    assert [(step.place, step.have) for step in steps] == [("cable mac1 port 1 to mac2 port 3", "no such port")]


def test_the_routing_daemon_speaks_on_cables_with_a_key_of_fabric_addresses() -> None:
    wanted = declared()
    lines = fabric.babeld_config(wanted, bare()).splitlines()
    assert [line for line in lines if line.startswith("interface")] == ["interface en2"]
    assert f"key id fabric type hmac-sha256 value {'ab' * 32}" in lines
    assert "default type wired hello-interval 0.5 update-interval 2 key fabric" in lines
    announced = [line for line in lines if line.startswith("redistribute")]
    assert announced == [
        "redistribute local ip 10.77.0.1/32 eq 32 allow",
        "redistribute local deny",
        "redistribute deny",
    ]
    assert not [line for line in lines if line.startswith("local-")]


def test_undo_restores_what_was_found_and_only_that() -> None:
    wanted = declared()
    facts = settled(wanted)
    did = commands(fabric.plan_remove(wanted, facts))
    assert "networksetup -removenetworkservice Espalier Thunderbolt 1" in did
    assert "ifconfig lo0 -alias 10.77.0.1" in did
    assert "networksetup -setnetworkserviceenabled Pont Thunderbolt on" in did
    assert "ifconfig bridge0 addm en2" in did
    # forwarding was on before we came, and the other service was off
    assert not [one for one in did if "forwarding" in one or "strange" in one]


def test_undo_leaves_forwarding_as_it_was_found() -> None:
    wanted = declared()
    facts = settled(wanted)
    did = commands(fabric.plan_remove(wanted, replace(facts, undo={**facts.undo, "forwarding": False})))
    assert "sysctl -w net.inet.ip.forwarding=0" in did


def test_undo_keeps_the_ports_of_a_loop_out_of_the_bridge() -> None:
    wanted = declared(restore_bridge=False)
    did = "\n".join(commands(fabric.plan_remove(wanted, settled(wanted))))
    assert "bridge0" not in did
    assert "Pont Thunderbolt" not in did


def test_linux_uses_its_own_tools_and_the_declared_device() -> None:
    link = {**node()["links"][0], "device": "thunderbolt0"}
    wanted = declared(system="Linux", links=[link])
    facts = fabric.Facts(
        devices={1: "thunderbolt0"},
        interfaces={
            "lo": fabric.Interface("lo", True, True, 65536, (("127.0.0.1", 8),)),
            "br0": fabric.Interface("br0", members=("thunderbolt0",)),
            "thunderbolt0": fabric.Interface("thunderbolt0", False, True, 65520),
        },
        key="cd" * 32,
    )
    assert commands(fabric.plan_apply(wanted, facts)) == [
        "ip link set dev thunderbolt0 nomaster",
        "ip link set dev thunderbolt0 mtu 1500",
        "ip link set dev thunderbolt0 up",
        "ip address add 10.77.1.5/30 dev thunderbolt0",
        "ip address add 10.77.0.1/32 dev lo",
        "sysctl -w net.ipv4.ip_forward=1",
        "write-babeld",
    ]


def test_a_silent_node_is_named_with_the_cable_that_may_be_why() -> None:
    wanted = declared()
    unplugged = with_interface(settled(wanted), "en2", active=False)
    lines = fabric.explain(wanted, unplugged, ["mac2"], [])
    assert lines[0] == "mac1 does not reach mac2 at 10.77.0.2 over the fabric."
    assert "cable mac1 port 1 to mac2 port 3: no link on en2" in lines[1]
    crossed = fabric.explain(wanted, settled(wanted), ["mac2"], list(wanted.links))
    assert "does the cable end in port 3 of mac2?" in crossed[1]
    elsewhere = fabric.explain(wanted, settled(wanted), ["mac2"], [])
    assert "look at those of mac2" in elsewhere[1]
    assert fabric.explain(wanted, unplugged, [], []) == []


@pytest.mark.parametrize(
    ("facts", "status"),
    [(lambda wanted: settled(wanted), 0), (lambda wanted: bare(), 1)],
)
def test_check_says_by_its_status_whether_something_differs(
    facts: Any, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = declared()
    monkeypatch.setattr(fabric, "read_facts", lambda read: facts(wanted))
    assert fabric.main(["--check", "--plan", json.dumps(node())]) == status
    assert bool(json.loads(capsys.readouterr().out)["differences"]) == bool(status)


def test_check_cannot_tell_without_a_plan_or_without_the_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fabric.main(["--check", "--config", str(tmp_path / "none.json")]) == 2
    assert "has no part in a fabric" in json.loads(capsys.readouterr().out)["error"]
    monkeypatch.setattr(fabric, "run", lambda command: (127, "not found"))
    assert fabric.main(["--check", "--plan", json.dumps(node())]) == 2
    assert "networksetup" in json.loads(capsys.readouterr().out)["error"]


def test_no_key_is_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    facts = replace(settled(declared()), babeld_config="other")
    monkeypatch.setattr(fabric, "read_facts", lambda read: facts)
    fabric.main(["--check", "--plan", json.dumps(node())])
    assert facts.key not in capsys.readouterr().out


class TestRecorded:
    pytestmark = pytest.mark.skipif(not RECORDED, reason="ESPALIER_FIXTURES does not name a folder of recorded output")

    @pytest.mark.parametrize("path", recorded("net/networksetup-listallhardwareports"), ids=lambda path: path.stem)
    def test_hardware_ports(self, path: Path) -> None:
        said = path.read_text()
        ports = fabric.parse_hardware_ports(said)
        names = [line for line in said.splitlines() if line.strip().startswith("Hardware Port: Thunderbolt ")]
        assert len(ports) == len([line for line in names if line.split()[-1].isdigit() and "Slot" not in line])
        assert "bridge0" not in ports.values()

    @pytest.mark.parametrize("path", recorded("net/networksetup-listnetworkserviceorder"), ids=lambda path: path.stem)
    def test_service_order(self, path: Path) -> None:
        said = path.read_text()
        services = fabric.parse_service_order(said)
        assert len(services) == said.count("(Hardware Port:")
        assert all(service.name and not service.name.startswith("*") for service in services)

    @pytest.mark.parametrize("path", recorded("net/ifconfig-a", "net/ifconfig-interface"), ids=lambda path: path.stem)
    def test_interfaces(self, path: Path) -> None:
        said = path.read_text()
        interfaces = fabric.parse_ifconfig(said)
        assert len(interfaces) == said.count(": flags=")
        assert all(interface.mtu for interface in interfaces.values())
        assert sum(len(one.members) for one in interfaces.values()) == said.count("member: ")
