"""route: shows and changes the real routing table.

As Apple's source has it, the status is 0 once a message went to the kernel, whatever the kernel answered: a
program must read standard error.
"""

from __future__ import annotations

import ipaddress

from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.linux import HOST_ROUTE_PROTOCOL, Route
from macsim.core.registry import Command
from macsim.net import routes
from macsim.net.devices import devices

EX_USAGE, EX_NOHOST, EX_NOPERM = 64, 68, 77  # sysexits.h
_USAGE = "usage: route [-dnqtv] command [[modifiers] args]\n"
_COMMANDS = ("add", "change", "delete", "flush", "get", "monitor")
# What the kernel of a Mac says for what Linux's says.
_ERRORS = {
    "File exists": "File exists",
    "No such process": "not in table",
    "Network is unreachable": "Network is unreachable",
    "Nexthop has invalid gateway.": "Network is unreachable",
    "Network is down": "Network is down",
}


class _Request:
    """What the words after the verb say."""

    def __init__(self, words: list[str], context: Context) -> None:
        self.kind = ""
        self.interface_route = False
        self.family = 4
        self.scope = ""
        self.mask = ""
        self.operands: list[str] = []
        names = {device.interface.name for device in devices(context)}
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if not word.startswith("-"):
                self.operands.append(word)
            elif word in {"-net", "-host"}:
                self.kind = word[1:]
            elif word in {"-interface", "-iface"}:
                self.interface_route = True
            elif word in {"-inet", "-inet6"}:
                self.family = 6 if word == "-inet6" else 4
            elif word in {"-ifscope", "-ifp"}:
                self.scope = rest.pop(0) if rest else ""
                if self.scope not in names:
                    raise ExitError(1, err="route: bad interface name\n")
            elif word == "-netmask":
                self.mask = rest.pop(0) if rest else ""
            elif word not in {"-static", "-cloning", "-nostatic"}:
                raise ExitError(EX_USAGE, err=f"route: bad keyword: {word[1:]}\n{_USAGE}")
        if len(self.operands) == 3:
            self.mask = self.operands.pop()
        if not self.operands or len(self.operands) > 2:
            raise ExitError(EX_USAGE, err=_USAGE)
        self.destination = self._destination(self.operands[0])
        self.gateway = self.operands[1] if len(self.operands) == 2 else ""
        if self.gateway and not (self.interface_route and self.gateway in names):
            _address(self.gateway)

    def _destination(self, text: str) -> str:
        if text == "default" or text in {"0.0.0.0/0", "::/0"}:
            return "default"
        if "/" in text:
            address, length = text.split("/", 1)
            _address(address)
            bits = 128 if ":" in address else 32
            if not length.isdigit() or int(length) > bits:
                # A Mac takes 203.0.113.0/33 and makes 128.0/1 of it.
                return "128.0.0.0/1"
            return str(ipaddress.ip_network(text, strict=False))
        parsed = _address(text)
        if self.mask:
            try:
                return str(ipaddress.ip_network(f"{text}/{self.mask}", strict=False))
            except ValueError as error:
                raise ExitError(EX_NOHOST, err=f"route: invalid mask: {self.mask}\n") from error
        if self.kind == "net" and parsed.version == 4:
            first = int(parsed) >> 24
            length = "8" if first < 128 else "16" if first < 192 else "24"
            return str(ipaddress.ip_network(f"{text}/{length}", strict=False))
        return f"{text}/{parsed.max_prefixlen}"


def run(argv: list[str], context: Context) -> int:
    """Carry out one command."""
    words = list(argv)
    while words and words[0].startswith("-"):
        option = words.pop(0)[1:]
        wrong = next((letter for letter in option if letter not in "dnqtv"), "")
        if wrong or not option:
            raise ExitError(EX_USAGE, err=f"route: illegal option -- {wrong}\n{_USAGE}")
    if not words:
        raise ExitError(EX_USAGE, err=_USAGE)
    verb = words.pop(0)
    if verb not in _COMMANDS:
        raise ExitError(EX_USAGE, err=f"route: bad keyword: {verb}\n{_USAGE}")
    if verb == "get":
        return _get(words, context)
    if not context.is_root and verb != "monitor":
        raise ExitError(EX_NOPERM, err="route: must be root to alter routing table\n")
    if verb == "flush":
        return _flush(context)
    if verb == "monitor":
        raise ExitError(EX_USAGE, err="route: monitor is not simulated\n")
    return _alter(verb, words, context)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError as error:
        raise ExitError(EX_NOHOST, err=f"route: bad address: {text}\n") from error


def _alter(verb: str, words: list[str], context: Context) -> int:
    missing_interface = bool(words) and words[-1] in {"-interface", "-iface"}
    request = _Request(words, context)
    host = request.kind != "net" and request.destination.endswith("/32")
    label = f"{verb} {'host' if host else 'net'} {request.operands[0].partition('/')[0]}"
    if missing_interface or (verb == "add" and not request.gateway):
        return _refused(f"{label}: Invalid argument", "Invalid argument", context)
    gateway = "" if request.interface_route else request.gateway
    device = request.gateway if request.interface_route else request.scope
    if request.gateway:
        label += f": gateway {request.gateway}"
    protocol = HOST_ROUTE_PROTOCOL if host else "boot"
    route = Route(request.destination, gateway, device, protocol)
    answer = context.linux.change_route({"delete": "del", "change": "replace"}.get(verb, verb), route)
    if answer.status == 0:
        context.print(label)
        return 0
    said = answer.err.strip().rpartition("answers: ")[2].rpartition("Error: ")[2]
    reason = _ERRORS.get(said, said)
    return _refused(f"{label}: {reason}", reason, context)


def _refused(label: str, reason: str, context: Context) -> int:
    context.print(label)
    context.warn(f"route: writing to routing socket: {reason}")
    return 0


def _flush(context: Context) -> int:
    for route in context.linux.routes():
        if route.gateway and context.linux.change_route("del", route).status == 0:
            context.print(f"{routes.shown_destination(route):<20} {route.gateway:<20} done")
    return 0


def _get(words: list[str], context: Context) -> int:
    request = _Request(words, context)
    asked = request.operands[0]
    table = context.linux.routes(request.family)
    if request.destination == "default":
        chosen = next((route for route in table if route.destination == "default"), None)
    else:
        chosen = _longest(table, asked.partition("/")[0])
        real = context.linux.route_get(asked.partition("/")[0], request.family)
        if real is not None and real.device == "lo0":
            chosen = Route(f"{asked.partition('/')[0]}/32", "", "lo0", "kernel")
    if chosen is None:
        context.warn("route: writing to routing socket: not in table")
        return 0
    host = not chosen.gateway and chosen.protocol == "kernel" and chosen.destination != "default"
    context.print(f"   route to: {asked.partition('/')[0]}")
    if chosen.destination == "default":
        context.print("destination: default")
        context.print("       mask: default")
    elif host:
        context.print(f"destination: {asked.partition('/')[0]}")
    else:
        network = ipaddress.ip_network(chosen.destination, strict=False)
        context.print(f"destination: {network.network_address}")
        if network.prefixlen != network.max_prefixlen:
            context.print(f"       mask: {network.netmask}")
    if chosen.gateway:
        context.print(f"    gateway: {chosen.gateway}")
    context.print(f"  interface: {chosen.device}")
    context.print(f"      flags: <{routes.get_flags(chosen, host)}>")
    mtu = next((item.interface.mtu for item in devices(context) if item.interface.name == chosen.device), 1500)
    mtu, window = (16384, 49152) if chosen.device == "lo0" else (mtu, 0)
    context.print(" recvpipe  sendpipe  ssthresh  rtt,msec    rttvar  hopcount      mtu     expire")
    context.print(f"{window:8d}  {window:8d}         0         0         0         0  {mtu:8d}         0 ")
    return 0


def _longest(table: list[Route], address: str) -> Route | None:
    wanted = ipaddress.ip_address(address)
    best: tuple[int, Route] | None = None
    for route in table:
        everything = "::/0" if wanted.version == 6 else "0.0.0.0/0"
        network = ipaddress.ip_network(everything if route.destination == "default" else route.destination)
        if wanted in network and (best is None or network.prefixlen > best[0]):
            best = (network.prefixlen, route)
    return best[1] if best else None


COMMAND = Command("route", ("/usr/sbin/route",), run)
