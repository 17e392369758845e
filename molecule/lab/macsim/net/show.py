"""The text of `ifconfig`, in the layout of macOS."""

from __future__ import annotations

import ipaddress

from macsim.net.bridge import Bridge
from macsim.net.devices import LOOPBACK_MTU, Device, flag_names, flags_of

_OPTIONS = {
    "loopback": "1203<RXCSUM,TXCSUM,TXSTATUS,SW_TIMESTAMP>",
    "ethernet": "50b<RXCSUM,TXCSUM,VLAN_HWTAGGING,AV,CHANNEL_IO>",
    "thunderbolt": "460<TSO4,TSO6,CHANNEL_IO>",
    "adapter": "400<CHANNEL_IO>",
    "wifi": "6460<TSO4,TSO6,CHANNEL_IO,PARTIAL_CSUM,ZEROINVERT_CSUM>",
    "bridge": "63<RXCSUM,TXCSUM,TSO4,TSO6>",
}


def show_interface(device: Device, bridge: Bridge, family: str = "") -> str:
    """Return the block of one interface; `family` (inet, inet6) cuts it to those addresses."""
    interface = device.interface
    flags = flags_of(device, bridge.members)
    mtu = LOOPBACK_MTU if device.kind == "loopback" else interface.mtu
    lines = [f"{interface.name}: flags={flags:x}<{flag_names(flags)}> mtu {mtu}"]
    if not family:
        lines.append(f"\toptions={_OPTIONS[device.kind]}")
    if device.kind != "loopback" and family in {"", "ether", "link"}:
        lines.append(f"\tether {interface.mac}")
    inet = [] if family in {"inet6", "ether", "link"} else [_inet(device, item) for item in interface.inet]
    inet6 = [] if family in {"inet", "ether", "link"} else [_inet6(device, item) for item in interface.inet6]
    # The loopback shows IPv4 first, other interfaces their link-local IPv6 address.
    lines += inet + inet6 if device.kind == "loopback" else inet6 + inet
    if device.kind == "bridge" and not family:
        lines += _bridge_lines(bridge)
    if not family:
        lines.append("\tnd6 options=201<PERFORMNUD,DAD>")
        lines += _media(device)
    return "\n".join(lines) + "\n"


def _inet(device: Device, item: tuple[str, int]) -> str:
    network = ipaddress.ip_interface(f"{item[0]}/{item[1]}").network
    line = f"\tinet {item[0]} netmask 0x{int(network.netmask):08x}"
    return line if device.kind == "loopback" else f"{line} broadcast {network.broadcast_address}"


def _inet6(device: Device, item: tuple[str, int]) -> str:
    if not item[0].startswith("fe80:"):
        return f"\tinet6 {item[0]} prefixlen {item[1]} "
    name, number = device.interface.name, device.interface.number
    secured = "" if device.kind == "loopback" else "secured "
    return f"\tinet6 {item[0]}%{name} prefixlen {item[1]} {secured}scopeid 0x{number:x} "


def _bridge_lines(bridge: Bridge) -> list[str]:
    lines = [
        "\tConfiguration:",
        "\t\tid 0:0:0:0:0:0 priority 0 hellotime 0 fwddelay 0",
        "\t\tmaxage 0 holdcnt 0 proto stp maxaddr 100 timeout 1200",
        "\t\troot id 0:0:0:0:0:0 priority 0 ifcost 0 port 0",
        "\t\tipfilter disabled flags 0x0",
    ]
    for position, member in enumerate(bridge.members):
        lines.append(f"\tmember: {member} flags=3<LEARNING,DISCOVER>")
        lines.append(f"\t        ifmaxaddr 0 port {11 + position} priority 0 path cost 0")
    return lines


def _media(device: Device) -> list[str]:
    if device.kind == "loopback":
        return []
    status = "active" if device.active else "inactive"
    media = {
        "ethernet": "autoselect (1000baseT <full-duplex,flow-control,energy-efficient-ethernet>)",
        "thunderbolt": "autoselect <full-duplex>",
        "adapter": "none",
        "wifi": "autoselect (<unknown type>)",
        "bridge": "autoselect" if device.active else "<unknown type>",
    }[device.kind]
    return [f"\tmedia: {media}", f"\tstatus: {status}"]
