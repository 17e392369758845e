"""A simulated Mac below a temporary folder, with a made-up Linux underneath and a clock that stands."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from macsim.core import registry
from macsim.core.context import Context
from macsim.core.linux import Address, Answer, Counters, Interface, Linux, Route
from macsim.core.paths import Paths
from macsim.core.run import run
from macsim.launchd.core import Launchd

NODE = {
    "model": "Mac16,11",
    "hostname": "mac1",
    "management_device": "en0",
    "thunderbolt_ports": [
        {"port": 1, "device": "en2", "peer": {"host": "mac2", "port": 2}},
        {"port": 2, "device": "en3", "peer": {"host": "mac3", "port": 1}},
        {"port": 3, "device": "en4", "peer": None},
    ],
}


class FakeLinux(Linux):
    """Interfaces and routes that exist only in this object."""

    def __init__(self) -> None:
        super().__init__(Path("/nonexistent"))
        self.table = {
            "lo0": Interface(
                "lo0", 1, "00:00:00:00:00:00", 65536, True, True, (Address("127.0.0.1", 8),), (Address("::1", 128),)
            ),
            "en0": Interface(
                "en0",
                2,
                "52:54:00:0a:0b:0c",
                1500,
                True,
                True,
                (Address("10.231.5.11", 24),),
                (Address("fe80::1", 64),),
            ),
            "en2": Interface("en2", 3, "52:54:00:01:00:02", 1500, False, True, (), ()),
            "en3": Interface("en3", 4, "52:54:00:01:00:06", 1500, False, False, (), ()),
        }
        self.route_table = [
            Route("default", "10.231.5.1", "en0", "static"),
            Route("10.231.5.0/24", "", "en0", "kernel"),
        ]

    def interfaces(self) -> list[Interface]:
        return list(self.table.values())

    def counters(self) -> dict[str, Counters]:
        return {name: Counters(1, 0, 64, 2, 0, 128) for name in self.table}

    def routes(self, family: int = 4) -> list[Route]:
        return list(self.route_table) if family == 4 else []

    def route_get(self, address: str, family: int = 4) -> Route | None:
        return None

    def neighbours(self) -> list[dict[str, Any]]:
        return [{"dst": "10.231.5.1", "dev": "en0", "lladdr": "02:0a:00:ff:01:10"}, {"dst": "10.231.5.9", "dev": "en0"}]

    def set_link(self, device: str, *, up: bool | None = None, mtu: int | None = None) -> Answer:
        old = self.table[device]
        self.table[device] = old._replace(up=old.up if up is None else up, mtu=old.mtu if mtu is None else mtu)
        return Answer(0, "", "")

    def add_address(self, device: str, address: str, prefix: int) -> Answer:
        old = self.table[device]
        self.table[device] = old._replace(inet=(*old.inet, Address(address, prefix)))
        return Answer(0, "", "")

    def remove_address(self, device: str, address: str, prefix: int) -> Answer:
        old = self.table[device]
        self.table[device] = old._replace(inet=tuple(item for item in old.inet if item.address != address))
        return Answer(0, "", "")

    def change_route(self, verb: str, route: Route) -> Answer:
        same = [item for item in self.route_table if item.destination == route.destination]
        if verb == "add" and same:
            return Answer(2, "", "RTNETLINK answers: File exists\n")
        if verb == "del" and not same:
            return Answer(2, "", "RTNETLINK answers: No such process\n")
        self.route_table = [item for item in self.route_table if item.destination != route.destination]
        if verb != "del":
            self.route_table.append(route)
        return Answer(0, "", "")


class Result(NamedTuple):
    """What a command returned and printed."""

    status: int
    out: str
    err: str


class Mac:
    """A Mac to type commands on."""

    def __init__(self, root: Path) -> None:
        self.paths = Paths(root)
        self.linux = FakeLinux()
        for folder in ("var/db/macsim", "run/macsim", "var/log/macsim", "Library/LaunchDaemons", "etc"):
            (root / folder).mkdir(parents=True)
        (root / "etc/group").write_text("wheel:x:0:\nstaff:x:20:admin\nadmin:x:80:admin\n")
        (root / "etc/passwd").write_text(
            "root:x:0:0:root:/root:/bin/sh\nadmin:x:501:20:Admin,,,:/home/admin:/bin/bash\n"
        )
        self.write_node(NODE)

    def write_node(self, node: dict[str, Any]) -> None:
        self.paths.node_config.write_text(json.dumps(node))

    def context(self, uid: int = 0) -> Context:
        return Context(self.paths, uid, self.linux, io.StringIO(), io.StringIO())

    def type(self, name: str, *argv: str, uid: int = 0) -> Result:
        out, err = io.StringIO(), io.StringIO()
        context = Context(self.paths, uid, self.linux, out, err)
        status = run(registry.by_name(name), list(argv), context)
        return Result(status, out.getvalue(), err.getvalue())

    def calls(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.paths.call_log.read_text().splitlines()]

    def restart(self) -> None:
        """Lose what a Mac loses at a restart."""
        for path in self.paths.volatile.iterdir():
            path.unlink()


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class FakeSystem:
    """A launchd on the Mac whose processes exist only as numbers."""

    def __init__(self, mac: Mac, monkeypatch: pytest.MonkeyPatch) -> None:
        self.mac = mac
        self.clock = Clock()
        self.started: list[tuple[str, tuple[int, int]]] = []
        self.signals: list[tuple[int, int]] = []
        self.spawn_fails = False
        self.launchd = self.boot()

        def ask(context: Context, **request: Any) -> dict[str, Any]:
            reads = request["verb"] in {"print", "list", "disabled"} or (
                request["verb"] == "limit" and "soft" not in request
            )
            answer = self.launchd.handle(request) if context.is_root or reads else {"code": 1}
            self.launchd.tick()
            return answer

        monkeypatch.setattr("macsim.commands.launchctl.ask", ask)

    def boot(self) -> Launchd:
        def spawner(spec: Any, limits: tuple[int, int]) -> int:
            self.started.append((spec.label, limits))
            return 0 if self.spawn_fails else 500 + len(self.started)

        self.launchd = Launchd(
            self.mac.context(), self.clock, spawner, lambda pid, number: self.signals.append((pid, number))
        )
        self.launchd.load_all()
        self.launchd.tick()
        return self.launchd

    def wait(self, seconds: float) -> None:
        self.clock.now_s += seconds
        self.launchd.tick()

    def end(self, pid: int, code: int) -> None:
        self.launchd.ended(pid, code)
        self.launchd.tick()
