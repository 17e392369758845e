"""ifconfig: shows interfaces as a Mac does, and changes the real ones."""

from __future__ import annotations

from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.registry import Command
from macsim.net import bridge, change, devices
from macsim.net.show import show_interface

_USAGE = (
    "usage: ifconfig [-bvLmrf] interface address_family [address [dest_address]]\n"
    "                [parameters]\n"
    "       ifconfig interface create\n"
    "       ifconfig -a [-bdluvLmrf] [address_family]\n"
    "       ifconfig -l [-bdluv] [address_family]\n"
    "       ifconfig [-bdluvLmrf]\n"
)


def run(argv: list[str], context: Context) -> int:
    """Show one, all, or the names; or change one."""
    words = list(argv)
    letters = ""
    while words and words[0].startswith("-") and len(words[0]) > 1:
        option = words.pop(0)[1:]
        wrong = next((letter for letter in option if letter not in "abdluvLmrf"), "")
        if wrong:
            raise ExitError(1, err=f"ifconfig: illegal option -- {wrong}\n{_USAGE}")
        letters += option
    if "l" in letters or "a" in letters or not words:
        _show_all(letters, words, context)
        return 0
    name = words.pop(0)
    if words == ["create"]:
        return change.create(name, context)
    device = devices.find(context, name)
    if device is None:
        raise ExitError(1, err=f"ifconfig: interface {name} does not exist\n")
    if (words and words[0] not in {"inet", "inet6"}) or len(words) > 1:
        return change.apply(device, words, context)
    family = words[0] if words else ""
    context.out.write(show_interface(device, bridge.load(context), family))
    return 0


def _show_all(letters: str, words: list[str], context: Context) -> None:
    if len(words) > 1 or (words and words[0] not in {"inet", "inet6", "ether", "link"}):
        raise ExitError(1, err=_USAGE)
    chosen = [
        device
        for device in devices.devices(context)
        if not (("u" in letters and not device.interface.up) or ("d" in letters and device.interface.up))
    ]
    if "l" in letters:
        context.print(" ".join(device.interface.name for device in chosen))
        return
    state = bridge.load(context)
    for device in chosen:
        context.out.write(show_interface(device, state, words[0] if words else ""))


COMMAND = Command("ifconfig", ("/usr/sbin/ifconfig",), run)
