"""Routes in the words of macOS: how destinations are shortened, and which flags they carry."""

from __future__ import annotations

import ipaddress

from macsim.core.linux import HOST_ROUTE_PROTOCOL, Route


def shorten(destination: str) -> str:
    """Return an IPv4 destination as netstat prints it: 10.77.0.0/16 is 10.77, 192.168.64.0/24 is 192.168.64.

    Trailing zero bytes go; the length goes too when it is that of the bytes that are left.
    """
    if destination == "default":
        return destination
    network = ipaddress.IPv4Network(destination, strict=False)
    if network.prefixlen == 32:
        return str(network)
    parts = str(network.network_address).split(".")
    keep = max(1, (network.prefixlen + 7) // 8)
    while keep < 4 and parts[keep] != "0":
        keep += 1
    text = ".".join(parts[:keep])
    return text if network.prefixlen == keep * 8 else f"{text}/{network.prefixlen}"


def flags(route: Route) -> str:
    """Return the letters that netstat prints for a route."""
    if route.destination == "default":
        return "UGScg" if route.gateway else "UCSg"
    if route.protocol == HOST_ROUTE_PROTOCOL:
        return "UGHS" if route.gateway else "UHS"
    if route.gateway:
        return "UGSc"
    return "UCS" if route.protocol == "kernel" else "USc"


def shown_destination(route: Route) -> str:
    """Return the first column of a route."""
    if route.destination != "default" and route.protocol == HOST_ROUTE_PROTOCOL:
        return route.destination.partition("/")[0]
    return shorten(route.destination)


def get_flags(route: Route, host: bool) -> str:
    """Return the names that `route get` prints."""
    if route.destination == "default":
        return "UP,GATEWAY,DONE,STATIC,PRCLONING,GLOBAL"
    if host:
        return "UP,HOST,DONE,LLINFO,WASCLONED,IFSCOPE,IFREF"
    if route.gateway:
        return "UP,GATEWAY,DONE,STATIC,PRCLONING"
    return "UP,DONE,STATIC,PRCLONING"
