"""systemsetup: time, sleep and remote login, as far as roles ask for them."""

from __future__ import annotations

from macsim.core import state
from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.registry import Command

# Verb without get or set: the label that is printed, and the value of a new Mac.
_SETTINGS = {
    "usingnetworktime": ("Network Time", "On"),
    "networktimeserver": ("Network Time Server", "time.apple.com"),
    "timezone": ("Time Zone", "GMT"),
    "computersleep": ("Computer Sleep", "after 10 minutes"),
    "displaysleep": ("Display Sleep", "after 10 minutes"),
    "harddisksleep": ("Hard Disk Sleep", "after 10 minutes"),
    "remotelogin": ("Remote Login", "On"),
    "remoteappleevents": ("Remote Apple Events", "Off"),
    "restartfreeze": ("Restart After Freeze", "On"),
    "restartpowerfailure": ("Restart After Power Failure", "Off"),
    "wakeonnetworkaccess": ("Wake On Network Access", "On"),
}
_SWITCHES = {"usingnetworktime", "remotelogin", "remoteappleevents", "restartfreeze"}
_SWITCHES |= {"restartpowerfailure", "wakeonnetworkaccess"}
_SLEEPS = {"computersleep", "displaysleep", "harddisksleep"}


def run(argv: list[str], context: Context) -> int:
    """Read or set one value. Without root it says so and exits 0, as recorded."""
    words = [word for word in argv if word != "-f"]
    if not context.is_root:
        context.print("You need administrator access to run this tool... exiting!")
        return 0
    if not words or not words[0].startswith("-"):
        raise ExitError(1, out="systemsetup Help Information\nUsage: systemsetup -help\n")
    verb = words[0][1:].lower()
    name = verb[3:]
    if verb[:3] not in {"get", "set"} or name not in _SETTINGS:
        raise ExitError(1, out=f"##  {words[0]} is not a valid command\nUse -help for more information\n")
    label, default = _SETTINGS[name]
    path = context.paths.kept / "systemsetup.json"
    if verb.startswith("get"):
        context.print(f"{label}: {state.load(path, {}).get(name, default)}")
        return 0
    if len(words) != 2:
        raise ExitError(1, out=f"{words[0]}: not enough arguments\n")
    if name == "remotelogin":
        # Not even root may, without the Full Disk Access that nobody can grant over ssh.
        raise ExitError(1, out="setremotelogin: Turning Remote Login on or off requires Full Disk Access privileges.\n")
    value = _value(name, words[1])
    state.update(path, {}, lambda values: {**values, name: value})
    context.print(f"set{_SHOWN.get(name, name)}: {value}")
    return 0


# How the verb is spelt in the answer of a set.
_SHOWN = {"usingnetworktime": "UsingNetworkTime", "networktimeserver": "NetworkTimeServer"}


def _value(name: str, text: str) -> str:
    if name in _SWITCHES:
        if text.lower() not in {"on", "off"}:
            raise ExitError(1, out=f"set{name}: {text} is neither on nor off\n")
        return text.capitalize()
    if name in _SLEEPS:
        if text.lower() in {"never", "off", "0"}:
            return "Never"
        if not text.isdigit():
            raise ExitError(1, out=f"set{name}: {text} is not a number of minutes\n")
        return f"after {text} minutes"
    return text


COMMAND = Command("systemsetup", ("/usr/sbin/systemsetup",), run)
