"""The MTU of an interface, from facts as macOS and as Linux give them."""

from espalier.interface_facts import interface_mtu

MAC = {
    "ansible_interfaces": ["en2"],
    "ansible_en2": {
        "device": "en2",
        "mtu": "9000",
        "ipv4": [{"address": "10.77.1.5"}, {"address": "10.77.1.9"}],
    },
    "ansible_lo0": {"device": "lo0", "mtu": "16384", "ipv4": [{"address": "127.0.0.1"}]},
}
LINUX = {
    "eth0": {
        "device": "eth0",
        "mtu": 1500,
        "ipv4": {"address": "192.168.1.4"},
        "ipv4_secondaries": [{"address": "10.77.2.6"}],
    },
    "default_ipv4": {"gateway": "192.168.1.1"},
}


def test_the_interface_is_found_by_any_of_its_addresses() -> None:
    assert interface_mtu(MAC, "10.77.1.9") == 9000
    assert interface_mtu(LINUX, "10.77.2.6") == 1500
    assert interface_mtu(LINUX, "192.168.1.4") == 1500


def test_an_address_that_nobody_has_gives_no_number() -> None:
    assert interface_mtu(MAC, "10.77.9.9") is None
    assert interface_mtu({}, "10.77.9.9") is None


def test_an_interface_without_an_mtu_gives_no_number() -> None:
    assert interface_mtu({"en5": {"ipv4": [{"address": "10.0.0.1"}]}}, "10.0.0.1") is None
