"""netstat: the routing table (-r) and the counters of the interfaces (-i)."""

from __future__ import annotations

from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.linux import Counters, Route
from macsim.core.options import getopt
from macsim.core.registry import Command
from macsim.net import routes
from macsim.net.devices import devices

_USAGE = (
    "Usage:\tnetstat [-AaLlnW] [-f address_family | -p protocol]\n"
    "\tnetstat [-gilns] [-f address_family]\n"
    "\tnetstat -i | -I interface [-w wait] [-abdgRtS]\n"
    "\tnetstat -r [-Aaln] [-f address_family]\n"
)


def run(argv: list[str], context: Context) -> int:
    """Print what is asked for; sockets are not simulated."""
    options, operands = getopt("netstat", argv, "abdf:I:ilnrW", _USAGE, status=1)
    values = dict(options)
    family = values.get("f", "")
    if operands:
        raise ExitError(1, err=_USAGE)
    if family not in {"", "inet", "inet6"}:
        raise ExitError(1, err=f"netstat: {family}: unknown address family\n")
    if "r" in values:
        _show_routes(family, context)
    elif "i" in values or "I" in values:
        _show_interfaces(values.get("I", ""), "b" in values, context)
    else:
        raise ExitError(1, err="netstat: only -r, -i and -I are simulated\n")
    return 0


def _row(destination: str, gateway: str, flags: str, device: str, expire: str, wide: int) -> str:
    return f"{destination:<{wide}} {gateway:<{wide}} {flags:<12} {device:>12} {expire:>6}"


def _show_routes(family: str, context: Context) -> None:
    context.print("Routing tables")
    numbers = {item.interface.name: item.interface.number for item in devices(context)}
    if family != "inet6":
        context.print("\nInternet:")
        context.print(f"{'Destination':<18} {'Gateway':<18} Flags               Netif Expire")
        table = context.linux.routes()
        for route in sorted(table, key=_order):
            gateway = route.gateway or (f"link#{numbers.get(route.device, 0)}")
            if not route.gateway and route.protocol != "kernel":
                gateway = route.device
            expire = "!" if route.protocol == "kernel" and not route.gateway else ""
            shown = _row(routes.shown_destination(route), gateway, routes.flags(route), route.device, expire, 18)
            context.print(shown)
            if route.destination == "default":
                context.print(_row("127", "127.0.0.1", "UCS", "lo0", "", 18))
                context.print(_row("127.0.0.1", "127.0.0.1", "UH", "lo0", "", 18))
        if not any(route.destination == "default" for route in table):
            context.print(_row("127", "127.0.0.1", "UCS", "lo0", "", 18))
            context.print(_row("127.0.0.1", "127.0.0.1", "UH", "lo0", "", 18))
    if family != "inet":
        context.print("\nInternet6:")
        context.print(f"{'Destination':<39} {'Gateway':<39} Flags               Netif Expire")
        context.print(_row("::1", "::1", "UHL", "lo0", "", 39))
        for route in context.linux.routes(6):
            context.print(_row(_scoped(route), route.gateway or "link#0", "UCI", route.device, "", 39))


def _order(route: Route) -> tuple[int, list[int]]:
    if route.destination == "default":
        return 0, []
    return 1, [int(part) for part in route.destination.partition("/")[0].split(".")]


def _scoped(route: Route) -> str:
    address, slash, length = route.destination.partition("/")
    return f"{address}%{route.device}{slash}{length}" if address.startswith("fe80") else route.destination


def _show_interfaces(only: str, with_bytes: bool, context: Context) -> None:
    counters = context.linux.counters()
    found = [item for item in devices(context) if only in {"", item.interface.name}]
    if not found:
        raise ExitError(1, err=f"netstat: interface {only} not found\n")
    head = f"{'Name':<10} {'Mtu':<5} {'Network':<13} {'Address':<17} {'Ipkts':>8} {'Ierrs':>5}"
    head += f" {'Ibytes':>10}" if with_bytes else ""
    head += f" {'Opkts':>8} {'Oerrs':>5}" + (f" {'Obytes':>10}" if with_bytes else "") + "  Coll"
    context.print(head)
    for item in found:
        interface = item.interface
        count = counters.get(interface.name, Counters(0, 0, 0, 0, 0, 0))
        mtu = 16384 if item.kind == "loopback" else interface.mtu
        mac = "" if item.kind == "loopback" else interface.mac
        row = f"{interface.name:<10} {mtu:<5} {f'<Link#{interface.number}>':<11} {mac:>19}"
        row += f" {count.packets_in:>8} {count.errors_in:>5}" + (f" {count.bytes_in:>10}" if with_bytes else "")
        row += f" {count.packets_out:>8} {count.errors_out:>5}" + (f" {count.bytes_out:>10}" if with_bytes else "")
        context.print(f"{row}     0")


COMMAND = Command("netstat", ("/usr/sbin/netstat",), run)
