"""ping: Linux's own sends, the options and the words are a Mac's."""

from __future__ import annotations

import re
import subprocess

from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.linux import linux_name
from macsim.core.options import getopt
from macsim.core.registry import Command

_USAGE = (
    "usage: ping [-AaDdfnoQqRrv] [-c count] [-G sweepmaxsize]\n"
    "            [-g sweepminsize] [-h sweepincrsize] [-i wait]\n"
    "            [-l preload] [-M mask | time] [-m ttl] [-p pattern]\n"
    "            [-S src_addr] [-s packetsize] [-t timeout][-W waittime]\n"
    "            [-z tos] host\n"
)
EX_NOHOST = 68
_BANNER = re.compile(r"PING (\S+) \(([0-9.]+)\).* (\d+)\(\d+\) bytes of data\.")
_REPLY = re.compile(r"(\d+) bytes from (.+): icmp_seq=(\d+) ttl=(\d+) time=([0-9.]+) ms")
_SUMMARY = re.compile(r"(\d+) packets transmitted, (\d+) received")
_TIMES = re.compile(r"rtt min/avg/max/mdev = ([0-9.]+)/([0-9.]+)/([0-9.]+)/([0-9.]+) ms")


def linux_arguments(options: list[tuple[str, str]]) -> list[str]:
    """Return Linux's options for a Mac's.

    Raises:
        ExitError: A value that ping does not take.
    """
    arguments: list[str] = []
    source = ""
    for letter, value in options:
        if letter in "cmst" and not value.isdigit():
            raise ExitError(64, err=f"ping: invalid argument: `{value}'\n")
        if letter in "nq":
            arguments.append(f"-{letter}")
        elif letter == "c":
            arguments += ["-c", value]
        elif letter == "i":
            arguments += ["-i", value]
        elif letter == "t":
            arguments += ["-w", value]  # seconds until ping ends, whatever was answered
        elif letter == "W":
            arguments += ["-W", f"{int(value) / 1000:.3f}"]  # a Mac counts milliseconds
        elif letter == "D":
            arguments += ["-M", "do"]
        elif letter == "s":
            arguments += ["-s", value]
        elif letter == "m":
            arguments += ["-t", value]
        elif letter == "o":
            arguments += ["-c", "1"]
        elif letter == "S":
            source = value
        elif letter == "b":
            source = linux_name(value)
    return arguments + (["-I", source] if source else [])


class _Translator:
    """Turns the lines of Linux's ping into those of a Mac's."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.next = 0
        self.received = 0
        self.transmitted = 0

    def line(self, text: str) -> list[str]:
        """Return what a Mac prints for one line."""
        banner = _BANNER.match(text)
        if banner:
            return [f"PING {banner[1]} ({banner[2]}): {banner[3]} data bytes"]
        reply = _REPLY.match(text)
        if reply:
            sequence = int(reply[3]) - 1  # Linux counts from 1
            missed = [f"Request timeout for icmp_seq {number}" for number in range(self.next, sequence)]
            self.next = sequence + 1
            address = reply[2].rpartition("(")[2].rstrip(")")
            time_ms = float(reply[5])
            return [
                *missed,
                f"{reply[1]} bytes from {address}: icmp_seq={sequence} ttl={reply[4]} time={time_ms:.3f} ms",
            ]
        summary = _SUMMARY.match(text)
        if summary:
            return self._summary(int(summary[1]), int(summary[2]))
        times = _TIMES.match(text)
        if times:
            return [f"round-trip min/avg/max/stddev = {times[1]}/{times[2]}/{times[3]}/{times[4]} ms"]
        return []

    def _summary(self, transmitted: int, received: int) -> list[str]:
        self.transmitted, self.received = transmitted, received
        lost = 100.0 * (transmitted - received) / transmitted if transmitted else 0.0
        # The last packet's timeout is not printed: the program is over by then.
        missed = [f"Request timeout for icmp_seq {number}" for number in range(self.next, transmitted - 1)]
        return [
            *missed,
            "",
            f"--- {self.host} ping statistics ---",
            f"{transmitted} packets transmitted, {received} packets received, {lost:.1f}% packet loss",
        ]


def run(argv: list[str], context: Context) -> int:
    """Ping one host; the status is 0 when anything came back, else 2."""
    options, operands = getopt("ping", argv, "Dnoqb:c:i:m:S:s:t:W:", _USAGE)
    if len(operands) != 1:
        raise ExitError(64, err=_USAGE)
    host = operands[0]
    translator = _Translator(host)
    arguments = [context.linux.tool("ping"), "-4", *linux_arguments(options), host]
    with subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"LC_ALL": "C", "PATH": "/usr/bin"},
    ) as process:
        if process.stdout is None or process.stderr is None:
            raise ExitError(71, err="ping: no pipe to the real ping\n")
        try:
            for text in process.stdout:
                for line in translator.line(text.rstrip("\n")):
                    context.print(line)
                context.out.flush()
            complaint = process.stderr.read()
        except KeyboardInterrupt:
            complaint = process.communicate()[1]
    return _end(host, complaint, translator, context)


def _end(host: str, complaint: str, translator: _Translator, context: Context) -> int:
    if "Name or service not known" in complaint or "failure in name resolution" in complaint:
        raise ExitError(EX_NOHOST, err=f"ping: cannot resolve {host}: Unknown host\n")
    if "essage too long" in complaint:
        context.warn("ping: sendto: Message too long")
    elif "unreachable" in complaint:
        context.warn("ping: sendto: No route to host")
    elif "assign requested address" in complaint:
        raise ExitError(71, err="ping: bind: Can't assign requested address\n")
    elif complaint and not translator.transmitted:
        raise ExitError(71, err=complaint)
    return 0 if translator.received else 2


COMMAND = Command("ping", ("/usr/sbin/ping", "/usr/bin/ping"), run)
