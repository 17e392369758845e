"""What `ifconfig` changes. Statuses and messages follow Apple's network_cmds.

A refused MTU is only a warning there, with status 0.
"""

from __future__ import annotations

import ipaddress

from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.net import bridge
from macsim.net.devices import Device, devices

_MINIMUM_MTU = 72  # bytes; xnu refuses less on an Ethernet interface
_MAXIMUM_MTU = 65535


def create(name: str, context: Context) -> int:
    """Make bridge0 again after it was destroyed; other cloned interfaces are not simulated."""
    _need_root("SIOCIFCREATE2", context)
    current = bridge.load(context)
    if name != "bridge0":
        raise ExitError(1, err="ifconfig: SIOCIFCREATE2: Invalid argument\n")
    if current.exists:
        raise ExitError(1, err="ifconfig: SIOCIFCREATE2: File exists\n")
    bridge.save(context, bridge.Bridge(True, (), 1500))
    return 0


def apply(device: Device, words: list[str], context: Context) -> int:
    """Carry out the parameters after the interface's name, in order.

    Raises:
        ExitError: A word that ifconfig does not know, or what the kernel refuses.
    """
    rest = list(words)
    family = rest.pop(0) if rest and rest[0] in {"inet", "inet6"} else "inet"
    while rest:
        word = rest.pop(0)
        if word in {"up", "down"}:
            _need_root(word, context)
            if device.real:
                context.linux.set_link(device.interface.name, up=word == "up")
        elif word == "mtu":
            _set_mtu(device, _value(word, rest), context)
        elif word in {"addm", "deletem"}:
            _member(device, word, _value(word, rest), context)
        elif word == "destroy":
            _destroy(device, context)
        elif word in {"alias", "-alias", "add", "delete", "remove"} or _is_address(word):
            if _is_address(word):
                rest.insert(0, word)
                word = "set"
            rest = _address(device, family, word, rest, context)
        else:
            raise ExitError(1, err=f"ifconfig: {word}: bad value\n")
    return 0


def _value(word: str, rest: list[str]) -> str:
    if not rest:
        raise ExitError(1, err=f"ifconfig: '{word}' requires argument\n")
    return rest.pop(0)


def _need_root(what: str, context: Context) -> None:
    if not context.is_root:
        raise ExitError(1, err=f"ifconfig: {what}: permission denied\n")


def _is_address(word: str) -> bool:
    try:
        ipaddress.ip_interface(word)
    except ValueError:
        return False
    return True


def _set_mtu(device: Device, value: str, context: Context) -> None:
    if not value.isdigit():
        raise ExitError(1, err=f"ifconfig: {value}: bad value\n")
    if not context.is_root:
        context.warn("ifconfig: ioctl (set mtu): Operation not permitted")
        return
    mtu = int(value)
    current = bridge.load(context)
    if device.kind == "bridge":
        sizes = {item.interface.mtu for item in devices(context) if item.interface.name in current.members}
        if sizes - {mtu}:
            context.warn("ifconfig: ioctl (set mtu): Invalid argument")
            return
        bridge.save(context, current._replace(mtu=mtu))
        return
    if not _MINIMUM_MTU <= mtu <= _MAXIMUM_MTU or device.kind == "adapter":
        context.warn("ifconfig: ioctl (set mtu): Invalid argument")
        return
    if device.kind != "loopback" and context.linux.set_link(device.interface.name, mtu=mtu).status != 0:
        context.warn("ifconfig: ioctl (set mtu): Invalid argument")


def _member(device: Device, word: str, member: str, context: Context) -> None:
    call = f"BRDGADD {member}" if word == "addm" else f"BRDGDEL {member}"
    if device.kind != "bridge":
        raise ExitError(1, err=f"ifconfig: {call}: Invalid argument\n")
    if not context.is_root:
        raise ExitError(1, err=f"ifconfig: {call}: Operation not permitted\n")
    current = bridge.load(context)
    if word == "deletem":
        if member not in current.members:
            raise ExitError(1, err=f"ifconfig: {call}: No such file or directory\n")
        bridge.save(context, current._replace(members=tuple(name for name in current.members if name != member)))
        return
    added = next((item for item in devices(context) if item.interface.name == member), None)
    if added is None:
        raise ExitError(1, err=f"ifconfig: {call}: No such file or directory\n")
    if member in current.members:
        raise ExitError(1, err=f"ifconfig: {call}: File exists\n")
    if added.interface.mtu != current.mtu:
        raise ExitError(1, err=f"ifconfig: {call}: Invalid argument\n")
    bridge.save(context, current._replace(members=(*current.members, member)))


def _destroy(device: Device, context: Context) -> None:
    _need_root("SIOCIFDESTROY", context)
    if device.kind != "bridge":
        raise ExitError(1, err="ifconfig: SIOCIFDESTROY: Invalid argument\n")
    bridge.save(context, bridge.load(context)._replace(exists=False, members=()))


def _address(device: Device, family: str, verb: str, words: list[str], context: Context) -> list[str]:
    """Add, replace or remove one address; return the words that are left."""
    rest = list(words)
    text = _value(verb, rest)
    try:
        given = ipaddress.ip_interface(text)
    except ValueError as error:
        raise ExitError(1, err=f"ifconfig: {text}: bad value\n") from error
    prefix = given.network.prefixlen if "/" in text else _class_prefix(given)
    while rest and rest[0] in {"netmask", "broadcast", "prefixlen"}:
        word = rest.pop(0)
        value = _value(word, rest)
        if word == "netmask":
            prefix = _prefix_of(value)
        elif word == "prefixlen":
            prefix = int(value)
    interface = device.interface
    present = interface.inet6 if given.version == 6 else interface.inet
    address = str(given.ip)
    remove = verb in {"-alias", "delete", "remove"}
    ioctl = "SIOCDIFADDR" if remove else "SIOCAIFADDR"
    if (family == "inet6") != (given.version == 6):
        raise ExitError(1, err=f"ifconfig: {address}: bad value\n")
    _need_root(f"ioctl ({ioctl})", context)
    same = [item for item in present if item.address == address]
    if remove and not same:
        raise ExitError(1, err=f"ifconfig: ioctl ({ioctl}): Can't assign requested address\n")
    if not device.real:
        raise ExitError(1, err=f"ifconfig: ioctl ({ioctl}): Can't assign requested address\n")
    if verb == "set" and given.version == 4:
        same = same or list(present[:1])
    if not remove and same and (same[0].address, same[0].prefix) == (address, prefix):
        return rest
    for item in same:
        context.linux.remove_address(interface.name, item.address, item.prefix)
    if not remove:
        answer = context.linux.add_address(interface.name, address, prefix)
        if answer.status != 0:
            raise ExitError(1, err=f"ifconfig: ioctl ({ioctl}): {answer.err.strip().rpartition(': ')[2]}\n")
        # An address switches a Mac's interface on.
        context.linux.set_link(interface.name, up=True)
    return rest


def _class_prefix(given: ipaddress.IPv4Interface | ipaddress.IPv6Interface) -> int:
    if given.version == 6:
        return 64
    first = int(given.ip) >> 24
    return 8 if first < 128 else 16 if first < 192 else 24


def _prefix_of(mask: str) -> int:
    try:
        number = int(mask, 16) if mask.startswith("0x") else int(ipaddress.IPv4Address(mask))
    except ValueError as error:
        raise ExitError(1, err=f"ifconfig: {mask}: bad value\n") from error
    return bin(number).count("1")
