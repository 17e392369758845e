"""networksetup: network services, kept over restarts and applied to the real interfaces.

Errors go to standard output, with nothing on standard error and status 4, as recorded.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.registry import Command
from macsim.net import bridge, services
from macsim.net.devices import find
from macsim.net.reconcile import reconcile
from macsim.net.services import HardwarePort, Preferences, Service

_NOTICE = "An asterisk (*) denotes that a network service is disabled."
_MTU_MIN = 1280  # bytes; the lower bound of every recorded range


def _parameters(count: int, words: list[str]) -> None:
    if len(words) != count:
        raise ExitError(4, out="** Error: The amount of parameters was not correct.\n")


def _invalid(text: str = "") -> ExitError:
    return ExitError(4, out=f"{text}** Error: The parameters were not valid.\n")


def _service(preferences: Preferences, name: str) -> Service:
    found = preferences.find(name)
    if found is None:
        raise _invalid(f"{name} is not a recognized network service.\n")
    return found


def _port(context: Context, name: str) -> HardwarePort:
    """Return a port by the name of itself, of its device, or of its service."""
    for port in services.hardware_ports(context.node):
        if name in {port.name, port.device}:
            return port
    service = services.load(context).find(name)
    if service is not None:
        return next(port for port in services.hardware_ports(context.node) if port.device == service.device)
    raise _invalid(f"{name} is not a recognized hardware port.\n")


def _dotted(text: str) -> str:
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError as error:
        raise _invalid(f"{text} is not a valid IP address.\n") from error


def _store(context: Context, preferences: Preferences) -> None:
    services.save(context, preferences)
    reconcile(context)


def _list_hardware(words: list[str], context: Context) -> None:
    _parameters(0, words)
    exists = bridge.load(context).exists
    for port in services.hardware_ports(context.node):
        if port.device == "bridge0" and not exists:
            continue
        context.print(f"\nHardware Port: {port.name}")
        context.print(f"Device: {port.device}")
        context.print(f"Ethernet Address: {services.port_mac(context, port)}")
    context.print("\nVLAN Configurations\n===================\n")


def _list_services(words: list[str], context: Context) -> None:
    _parameters(0, words)
    context.print(_NOTICE)
    for service in services.load(context).services:
        context.print(f"{'' if service.enabled else '*'}{service.name}")


def _list_order(words: list[str], context: Context) -> None:
    _parameters(0, words)
    context.print(_NOTICE)
    for number, service in enumerate(services.load(context).services, 1):
        context.print(f"({number if service.enabled else '*'}) {service.name}")
        context.print(f"(Hardware Port: {service.port}, Device: {service.device})\n")


def _get_info(words: list[str], context: Context) -> None:
    _parameters(1, words)
    service = _service(services.load(context), words[0])
    device = find(context, service.device)
    if service.method == "manual":
        context.print("Manual Configuration")
        context.print(f"IP address: {service.address}")
        context.print(f"Subnet mask: {service.mask}")
        context.print(f"Router: {service.router or '(null)'}")
    elif service.method == "dhcp":
        context.print("DHCP Configuration")
        if device is not None and device.interface.inet:
            address, prefix = device.interface.inet[0]
            gateway = next((route.gateway for route in context.linux.routes() if route.device == service.device), "")
            context.print(f"IP address: {address}")
            context.print(f"Subnet mask: {ipaddress.IPv4Network(f'0.0.0.0/{prefix}').netmask}")
            if gateway:
                context.print(f"Router: {gateway}")
        context.print("Client ID: ")
    if service.ipv6 == "off":
        context.print("IPv6: Off")
    else:
        context.print(f"IPv6: {'Link-local only' if service.ipv6 == 'linklocal' else 'Automatic'}")
        context.print("IPv6 IP address: none")
        context.print("IPv6 Router: none")
    mac = device.interface.mac if device is not None else "(null)"
    context.print(f"{'Wi-Fi ID' if service.port == 'Wi-Fi' else 'Ethernet Address'}: {mac}")


def _create(words: list[str], context: Context) -> None:
    _parameters(2, words)
    preferences = services.load(context)
    if not words[0] or preferences.find(words[0]) is not None:
        raise _invalid(f"{words[0]} is already in use as a network service name.\n")
    port = _port(context, words[1])
    created = Service(words[0], port.name, port.device)
    _store(context, preferences._replace(services=(*preferences.services, created)))


def _remove(words: list[str], context: Context) -> None:
    _parameters(1, words)
    preferences = services.load(context)
    gone = _service(preferences, words[0])
    left = tuple(service for service in preferences.services if service.name != gone.name)
    _store(context, preferences._replace(services=left))


def _set_manual(words: list[str], context: Context) -> None:
    _parameters(4, words)
    preferences = services.load(context)
    service = _service(preferences, words[0])
    router = _dotted(words[3]) if words[3] else ""
    mask = _dotted(words[2])
    try:
        ipaddress.IPv4Network(f"0.0.0.0/{mask}")
    except ValueError as error:
        raise _invalid(f"{mask} is not a valid subnet mask.\n") from error
    changed = service._replace(method="manual", address=_dotted(words[1]), mask=mask, router=router)
    _store(context, preferences.replace(changed))


def _set_dhcp(words: list[str], context: Context) -> None:
    if len(words) not in {1, 2}:
        _parameters(1, words)
    preferences = services.load(context)
    service = _service(preferences, words[0])
    _store(context, preferences.replace(service._replace(method="dhcp", address="", mask="", router="")))


def _set_v4_off(words: list[str], context: Context) -> None:
    _parameters(1, words)
    preferences = services.load(context)
    service = _service(preferences, words[0])
    _store(context, preferences.replace(service._replace(method="off", address="", mask="", router="")))


def _set_v6(mode: str) -> Callable[[list[str], Context], None]:
    def act(words: list[str], context: Context) -> None:
        _parameters(1, words)
        preferences = services.load(context)
        _store(context, preferences.replace(_service(preferences, words[0])._replace(ipv6=mode)))

    return act


def _set_enabled(words: list[str], context: Context) -> None:
    _parameters(2, words)
    preferences = services.load(context)
    service = _service(preferences, words[0])
    if words[1] not in {"on", "off"}:
        raise _invalid()
    _store(context, preferences.replace(service._replace(enabled=words[1] == "on")))


def _get_enabled(words: list[str], context: Context) -> None:
    _parameters(1, words)
    context.print("Enabled" if _service(services.load(context), words[0]).enabled else "Disabled")


def _rename(words: list[str], context: Context) -> None:
    _parameters(2, words)
    preferences = services.load(context)
    service = _service(preferences, words[0])
    if not words[1] or preferences.find(words[1]) is not None:
        raise _invalid(f"{words[1]} is already in use as a network service name.\n")
    renamed = tuple(
        item._replace(name=words[1]) if item.name == service.name else item for item in preferences.services
    )
    _store(context, preferences._replace(services=renamed))


def _order(words: list[str], context: Context) -> None:
    preferences = services.load(context)
    if sorted(words) != sorted(service.name for service in preferences.services):
        raise _invalid()
    ordered = tuple(_service(preferences, name) for name in words)
    _store(context, preferences._replace(services=ordered))


def _get_mtu(words: list[str], context: Context) -> None:
    _parameters(1, words)
    port = _port(context, words[0])
    setting = services.load(context).mtu.get(port.device, 1500)
    device = find(context, port.device)
    active = device.interface.mtu if device is not None else setting
    context.print(f"Active MTU: {active} (Current Setting: {setting})")


def _mtu_range(words: list[str], context: Context) -> None:
    _parameters(1, words)
    context.print(f"Valid MTU Range: {_MTU_MIN}-{_port(context, words[0]).mtu_max}")


def _set_mtu(words: list[str], context: Context) -> None:
    _parameters(2, words)
    port = _port(context, words[0])
    if not words[1].isdigit() or not _MTU_MIN <= int(words[1]) <= port.mtu_max:
        raise _invalid(f"{words[1]} is not in the valid MTU range of {_MTU_MIN}-{port.mtu_max}\n")
    if port.device == "bridge0":
        raise _invalid()
    preferences = services.load(context)
    _store(context, preferences._replace(mtu={**preferences.mtu, port.device: int(words[1])}))


def _version(words: list[str], context: Context) -> None:
    _parameters(0, words)
    context.print("networksetup version 1.8.4")


_READ: dict[str, Callable[[list[str], Context], None]] = {
    "-listallhardwareports": _list_hardware,
    "-listallnetworkservices": _list_services,
    "-listnetworkserviceorder": _list_order,
    "-getinfo": _get_info,
    "-getnetworkserviceenabled": _get_enabled,
    "-getMTU": _get_mtu,
    "-listvalidMTUrange": _mtu_range,
    "-version": _version,
}
_WRITE: dict[str, Callable[[list[str], Context], None]] = {
    "-createnetworkservice": _create,
    "-removenetworkservice": _remove,
    "-renamenetworkservice": _rename,
    "-ordernetworkservices": _order,
    "-setmanual": _set_manual,
    "-setdhcp": _set_dhcp,
    "-setv4off": _set_v4_off,
    "-setv6off": _set_v6("off"),
    "-setv6automatic": _set_v6("automatic"),
    "-setv6LinkLocal": _set_v6("linklocal"),
    "-setnetworkserviceenabled": _set_enabled,
    "-setMTU": _set_mtu,
}


def run(argv: list[str], context: Context) -> int:
    """Carry out one verb; those that change something need root."""
    if not argv:
        raise ExitError(1, out="networksetup -help for more information.\n")
    # The real tool takes a verb in any case.
    verbs = {verb.lower(): verb for verb in (*_READ, *_WRITE)}
    verb = verbs.get(argv[0].lower())
    if verb is None:
        raise ExitError(1, out=f"** Error: Unknown command {argv[0]}\nnetworksetup -help for more information.\n")
    if verb in _READ:
        _READ[verb](argv[1:], context)
        return 0
    if not context.is_root:
        raise ExitError(14, out="** Error: Command requires admin privileges.\n")
    _WRITE[verb](argv[1:], context)
    return 0


COMMAND = Command("networksetup", ("/usr/sbin/networksetup",), run)
