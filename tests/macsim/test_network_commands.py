"""Interfaces, services, routes and the bridge."""

from __future__ import annotations

import json

import pytest
from macsim.commands.ping import _Translator, linux_arguments
from macsim.core.linux import Address
from macsim.core.node import load_node
from macsim.net.reconcile import Step, plan, reconcile
from macsim.net.routes import shorten
from macsim.net.services import Preferences, Service
from macsim.net.thunderbolt import domain_uuid
from macsim_fakes import FakeLinux


def make_service(mac, name="espalier-tb1", port="Thunderbolt 1", address="10.77.1.5"):
    assert mac.type("networksetup", "-createnetworkservice", name, port).status == 0
    assert mac.type("networksetup", "-setmanual", name, address, "255.255.255.252", "").status == 0


def test_a_manual_service_lands_on_the_real_interface(mac):
    make_service(mac)
    assert mac.linux.table["en2"].inet == (Address("10.77.1.5", 30),)
    assert mac.linux.table["en2"].up
    info = mac.type("networksetup", "-getinfo", "espalier-tb1").out.splitlines()
    assert info[:3] == ["Manual Configuration", "IP address: 10.77.1.5", "Subnet mask: 255.255.255.252"]


def test_a_service_waits_for_its_cable_and_leaves_with_it(mac):
    make_service(mac, "espalier-tb2", "Thunderbolt 2", "10.77.1.9")
    assert mac.linux.table["en3"].inet == ()
    mac.linux.table["en3"] = mac.linux.table["en3"]._replace(carrier=True)
    reconcile(mac.context())
    assert mac.linux.table["en3"].inet == (Address("10.77.1.9", 30),)
    mac.linux.table["en3"] = mac.linux.table["en3"]._replace(carrier=False)
    reconcile(mac.context())
    assert mac.linux.table["en3"].inet == ()


def test_services_are_applied_again_after_a_restart_and_addresses_of_ifconfig_are_not(mac):
    make_service(mac)
    mac.type("networksetup", "-setMTU", "en2", "9000")
    mac.type("ifconfig", "en2", "alias", "10.99.0.1/24")
    mac.restart()
    mac.linux.table["en2"] = mac.linux.table["en2"]._replace(inet=(), mtu=1500, up=False)
    reconcile(mac.context())
    assert mac.linux.table["en2"].inet == (Address("10.77.1.5", 30),)
    assert mac.linux.table["en2"].mtu == 9000


@pytest.mark.parametrize("verb", [("-removenetworkservice",), ("-setnetworkserviceenabled", "off"), ("-setdhcp",)])
def test_a_service_that_goes_takes_its_address_and_leaves_others(mac, verb):
    make_service(mac)
    mac.type("ifconfig", "en2", "alias", "10.99.0.1/24")
    assert mac.type("networksetup", verb[0], "espalier-tb1", *verb[1:]).status == 0
    assert mac.linux.table["en2"].inet == (Address("10.99.0.1", 24),)


def test_the_management_interface_is_never_touched():
    preferences = Preferences(
        (Service("Ethernet", "Ethernet", "en0", method="manual", address="1.2.3.4", mask="255.0.0.0"),), {}
    )
    assert plan(preferences, ("en2", "en3"), FakeLinux().interfaces(), {}) == (
        [Step("en2", "up", ""), Step("en3", "up", "")],
        {},
    )


def test_an_unknown_service_is_an_error_on_standard_output_with_status_4(mac):
    result = mac.type("networksetup", "-setnetworkserviceenabled", "*Wi-Fi", "on")
    assert (result.status, result.err) == (4, "")
    assert result.out == "*Wi-Fi is not a recognized network service.\n** Error: The parameters were not valid.\n"


@pytest.mark.parametrize(
    "argv",
    [
        ("-setmanual", "Wi-Fi", "10.0.0.1"),
        ("-setmanual", "Wi-Fi", "10.0.0.300", "255.0.0.0", ""),
        ("-setmanual", "Wi-Fi", "10.0.0.1", "255.0.255.0", ""),
        ("-createnetworkservice", "Wi-Fi", "Wi-Fi"),
        ("-createnetworkservice", "x", "Thunderbolt 9"),
        ("-setMTU", "en2", "70000"),
        ("-setnonsense",),
    ],
)
def test_wrong_parameters_change_nothing(mac, argv):
    before = mac.type("networksetup", "-listnetworkserviceorder").out
    assert mac.type("networksetup", *argv).status != 0
    assert mac.type("networksetup", "-listnetworkserviceorder").out == before


def test_changing_needs_root(mac):
    result = mac.type("networksetup", "-setdhcp", "Wi-Fi", uid=501)
    assert (result.status, result.out) == (14, "** Error: Command requires admin privileges.\n")


def test_a_disabled_service_is_listed_with_its_mark(mac):
    mac.type("networksetup", "-setnetworkserviceenabled", "Thunderbolt Bridge", "off")
    assert "*Thunderbolt Bridge\n" in mac.type("networksetup", "-listallnetworkservices").out
    assert "(*) Thunderbolt Bridge\n" in mac.type("networksetup", "-listnetworkserviceorder").out


def test_ifconfig_prints_the_blocks_of_a_mac(mac):
    block = mac.type("ifconfig", "en0").out.splitlines()
    assert block[0] == "en0: flags=8863<UP,BROADCAST,SMART,RUNNING,SIMPLEX,MULTICAST> mtu 1500"
    assert "\tinet 10.231.5.11 netmask 0xffffff00 broadcast 10.231.5.255" in block
    assert block[-1] == "\tstatus: active"
    assert mac.type("ifconfig", "-l").out == "lo0 en5 en6 en7 en0 en2 en3 en4 bridge0 en1\n"


def test_an_alias_on_the_loopback_lands_there_and_comes_off(mac):
    assert mac.type("ifconfig", "lo0", "alias", "10.77.0.1", "netmask", "255.255.255.255").status == 0
    assert mac.linux.table["lo0"].inet[1] == Address("10.77.0.1", 32)
    assert "\tinet 10.77.0.1 netmask 0xffffffff\n" in mac.type("ifconfig", "lo0").out
    assert mac.type("ifconfig", "lo0", "-alias", "10.77.0.1").status == 0
    again = mac.type("ifconfig", "lo0", "-alias", "10.77.0.1")
    assert (again.status, again.err) == (1, "ifconfig: ioctl (SIOCDIFADDR): Can't assign requested address\n")


def test_a_refused_mtu_is_a_warning_with_status_0(mac):
    result = mac.type("ifconfig", "en2", "mtu", "70000")
    assert (result.status, result.err) == (0, "ifconfig: ioctl (set mtu): Invalid argument\n")
    assert mac.linux.table["en2"].mtu == 1500


@pytest.mark.parametrize(
    ("argv", "err"),
    [
        (("nosuch",), "ifconfig: interface nosuch does not exist\n"),
        (("en2", "nonsense", "1"), "ifconfig: nonsense: bad value\n"),
        (("en2", "alias"), "ifconfig: 'alias' requires argument\n"),
    ],
)
def test_ifconfig_refuses_what_it_does_not_know(mac, argv, err):
    result = mac.type("ifconfig", *argv)
    assert (result.status, result.err) == (1, err)


def test_ports_leave_the_bridge_and_are_back_after_a_restart(mac):
    assert "\tmember: en2 flags=3<LEARNING,DISCOVER>\n" in mac.type("ifconfig", "bridge0").out
    assert "PROMISC" in mac.type("ifconfig", "en2").out
    assert mac.type("ifconfig", "bridge0", "deletem", "en2").status == 0
    assert "member: en2" not in mac.type("ifconfig", "bridge0").out
    assert "PROMISC" not in mac.type("ifconfig", "en2").out
    again = mac.type("ifconfig", "bridge0", "deletem", "en2")
    assert (again.status, again.err) == (1, "ifconfig: BRDGDEL en2: No such file or directory\n")
    mac.restart()
    assert "member: en2" in mac.type("ifconfig", "bridge0").out


def test_the_bridge_refuses_an_mtu_that_its_members_do_not_have(mac):
    result = mac.type("ifconfig", "bridge0", "mtu", "9000")
    assert (result.status, result.err) == (0, "ifconfig: ioctl (set mtu): Invalid argument\n")


def test_route_exits_0_although_the_route_exists(mac):
    added = mac.type("route", "-n", "add", "-net", "10.77.2.0/24", "10.231.5.9")
    assert (added.status, added.out, added.err) == (0, "add net 10.77.2.0: gateway 10.231.5.9\n", "")
    again = mac.type("route", "-n", "add", "-net", "10.77.2.0/24", "10.231.5.9")
    assert again.status == 0
    assert again.out == "add net 10.77.2.0: gateway 10.231.5.9: File exists\n"
    assert again.err == "route: writing to routing socket: File exists\n"


def test_route_delete_of_nothing_exits_0_and_says_so(mac):
    result = mac.type("route", "-n", "delete", "-net", "203.0.113.0/24")
    assert (result.status, result.out) == (0, "delete net 203.0.113.0: not in table\n")
    assert result.err == "route: writing to routing socket: not in table\n"


@pytest.mark.parametrize(
    ("argv", "uid", "status", "err"),
    [
        (("add", "-net", "203.0.113.0/24", "10.231.5.9"), 501, 77, "route: must be root to alter routing table\n"),
        (("get", "203.0.113.256"), 501, 68, "route: bad address: 203.0.113.256\n"),
        (("get", "-ifscope", "utun99", "8.8.8.8"), 501, 1, "route: bad interface name\n"),
        (("add", "-net", "203.0.113.0/24", "-interface", "utun99"), 0, 68, "route: bad address: utun99\n"),
    ],
)
def test_route_fails_before_it_asks_the_kernel(mac, argv, uid, status, err):
    result = mac.type("route", "-n", *argv, uid=uid)
    assert (result.status, result.out, result.err) == (status, "", err)


def test_netstat_tells_host_routes_from_networks(mac):
    mac.type("route", "-n", "add", "-host", "192.0.2.1", "10.231.5.9")
    mac.type("route", "-n", "add", "-net", "192.0.2.2/32", "10.231.5.9")
    rows = {line.split()[0]: line.split()[2] for line in mac.type("netstat", "-rn", "-f", "inet").out.splitlines()[4:]}
    assert rows["192.0.2.1"] == "UGHS"
    assert rows["192.0.2.2/32"] == "UGSc"
    assert rows["10.231.5"] == "UCS"
    assert rows["default"] == "UGScg"


@pytest.mark.parametrize(
    ("destination", "short"),
    [
        ("10.77.0.0/16", "10.77"),
        ("192.168.64.0/24", "192.168.64"),
        ("100.64.0.0/10", "100.64/10"),
        ("192.0.2.128/25", "192.0.2.128/25"),
        ("224.0.0.0/4", "224/4"),
        ("10.77.1.4/30", "10.77.1.4/30"),
        ("10.0.0.0/8", "10"),
        ("192.0.2.1/32", "192.0.2.1/32"),
    ],
)
def test_destinations_are_shortened(destination, short):
    assert shorten(destination) == short


def test_both_ends_of_a_cable_name_the_same_domains(mac):
    here = json.loads(mac.type("system_profiler", "SPThunderboltDataType", "-json").out)["SPThunderboltDataType"]
    bus = next(bus for bus in here if bus["receptacle_1_tag"]["receptacle_id_key"] == "1")
    assert bus["domain_uuid_key"] == domain_uuid("mac1", 1)
    assert bus["_items"][0]["domain_uuid_key"] == domain_uuid("mac2", 2)
    assert bus["receptacle_1_tag"]["current_speed_key"] == "80 Gb/s"
    # The cable of port 2 does not carry, port 3 has none.
    assert ["_items" in bus for bus in here] == [False, False, True]


def test_wrong_data_type_options_are_refused(mac):
    assert mac.type("system_profiler", "-nonsense").status == 1


def test_ping_speaks_milliseconds_and_counts_from_zero():
    assert linux_arguments([("W", "500"), ("t", "3"), ("D", ""), ("c", "2")]) == [
        "-W",
        "0.500",
        "-w",
        "3",
        "-M",
        "do",
        "-c",
        "2",
    ]
    translator = _Translator("10.0.0.2")
    lines = [
        line
        for text in (
            "PING 10.0.0.2 (10.0.0.2) 100(128) bytes of data.",
            "108 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=0.21 ms",
            "108 bytes from 10.0.0.2: icmp_seq=3 ttl=64 time=0.4 ms",
            "3 packets transmitted, 2 received, 33.3333% packet loss, time 2002ms",
        )
        for line in translator.line(text)
    ]
    assert lines == [
        "PING 10.0.0.2 (10.0.0.2): 100 data bytes",
        "108 bytes from 10.0.0.2: icmp_seq=0 ttl=64 time=0.210 ms",
        "Request timeout for icmp_seq 1",
        "108 bytes from 10.0.0.2: icmp_seq=2 ttl=64 time=0.400 ms",
        "",
        "--- 10.0.0.2 ping statistics ---",
        "3 packets transmitted, 2 packets received, 33.3% packet loss",
    ]


def test_ping_of_nothing_is_usage(mac):
    assert mac.type("ping", "-Z", "10.0.0.1").status == 64
    assert mac.type("ping").status == 64


def test_arp_writes_bytes_without_leading_zeros(mac):
    assert mac.type("arp", "-an").out.splitlines() == [
        "? (10.231.5.1) at 2:a:0:ff:1:10 on en0 ifscope [ethernet]",
        "? (10.231.5.9) at (incomplete) on en0 [ethernet]",
    ]


def test_ipconfig_without_an_address_is_a_silent_failure(mac):
    assert mac.type("ipconfig", "getifaddr", "en0").out == "10.231.5.11\n"
    assert mac.type("ipconfig", "getifaddr", "en2") == (1, "", "")


def test_adapter_ports_do_not_take_the_numbers_of_thunderbolt_ports(mac):
    node = load_node(mac.paths.node_config)
    assert not set(node.adapter_devices) & {port.device for port in node.ports}
