#!/usr/bin/env python3
"""Makes and removes the rack in a box: podman containers as machines, veth pairs as Thunderbolt cables.

molecule/lab/rack.py up                      make it, or complete it; what is there already stays
molecule/lab/rack.py up --name test --nodes 4 --cabling mesh
molecule/lab/rack.py status
molecule/lab/rack.py ssh mac1 [command...]
molecule/lab/rack.py cut mac1 2              pull the cable in port 2 of mac1; `plug` puts it back
molecule/lab/rack.py stop mac2               switch a machine off; `start` and `reboot`
molecule/lab/rack.py down                    remove it; the cached root file system stays
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Sequence

import lab_cables as cables
import lab_hosts as hosts
from lab_image import ensure_image, remove_images
from lab_plan import CABLINGS, Host, LabError, Plan, check_name, make_plan
from lab_podman import execute, is_running, podman
from lab_state import LabFolder, machine_lock


def _say(text: str) -> None:
    print(text, flush=True)


def up(name: str, nodes: int | None, cabling: str | None) -> None:
    """Make a lab, or complete what is there.

    Raises:
        LabError: It exists with other nodes or another cabling, or something failed.
    """
    folder = LabFolder(check_name(name))
    with folder.locked():
        with machine_lock():
            plan = _planned(folder, name, nodes, cabling)
            new = ensure_image()
            new |= hosts.ensure_network(plan)
            hosts.write_access_files(plan, folder)
            # Under the lock of the machine, so that nobody removes an image that no container uses yet.
            started = [host for host in plan.hosts if hosts.ensure_container(plan, host)]
        _bring_up(plan, folder)
        count = len(plan.hosts)
        if started or new:
            _say(f"lab {name}: {count} machines, {len(plan.cables)} cables ({plan.cabling}); {len(started)} started")
        else:
            _say(f"lab {name}: all {count} machines and {len(plan.cables)} cables were there already")


def _planned(folder: LabFolder, name: str, nodes: int | None, cabling: str | None) -> Plan:
    existing = folder.read_plan()
    if existing is None:
        # Validated before anything is made; what a run without a plan left behind is removed first.
        plan = make_plan(name, nodes or 3, cabling or "ring", hosts.networks())
        hosts.remove_containers(name)
        folder.path.mkdir(parents=True, exist_ok=True)
        folder.write_plan(plan)
        return plan
    if nodes not in (None, len(existing.macs)) or cabling not in (None, existing.cabling):
        raise LabError(
            f"the lab {name} has {len(existing.macs)} Macs in a {existing.cabling}: remove it first "
            f"(rack.py down --name {name}), or use another --name"
        )
    return existing


def _bring_up(plan: Plan, folder: LabFolder) -> None:
    """What follows once the containers run: access, cables, simulator."""
    for host in plan.hosts:
        _wait_for_systemd(host)
        hosts.ensure_access(plan, folder, host)
    for cable in plan.cables:
        cables.ensure(plan, cable)
    for mac in plan.macs:
        hosts.ensure_simulator(plan, mac)
    hosts.write_ssh_config(plan, folder)
    for host in plan.hosts:
        hosts.wait_for_boot(host)


def _wait_for_systemd(host: Host) -> None:
    """Until systemd takes commands; sshd has no host key yet on a new machine."""
    limit = time.monotonic() + hosts.BOOT_TIMEOUT_S
    while time.monotonic() < limit:
        if execute(host.container, "systemctl", "is-system-running", check=False).strip() in (
            "running",
            "degraded",
        ):
            return
        time.sleep(0.3)
    raise LabError(
        f"{host.name}: systemd did not come up in {hosts.BOOT_TIMEOUT_S:.0f} s: podman logs {host.container}"
    )


def down(name: str) -> None:
    """Remove a lab, whatever is left of it; removing what is not there is no error."""
    folder = LabFolder(check_name(name))
    with folder.locked(), machine_lock():
        removed = hosts.remove_containers(name)
        shutil.rmtree(folder.path, ignore_errors=True)
        remove_images()
    _say(f"lab {name}: removed" if removed else f"lab {name}: there was nothing to remove")


def status(name: str) -> int:
    """Print the state of a lab; 0 when all of it runs, 1 otherwise."""
    plan = _existing(name)
    complete = True
    for host in plan.hosts:
        runs = is_running(host.container)
        complete &= runs
        _say(f"{host.name:6} {host.model or 'Linux':9} {host.address:15} {'running' if runs else 'stopped'}")
    if complete:
        for cable in plan.cables:
            state = "up" if cables.is_up(plan, cable) else "down"
            _say(f"cable  {cable.a} port {cable.a_port} - {cable.b} port {cable.b_port}  {state}")
    return 0 if complete else 1


def _existing(name: str) -> Plan:
    plan = LabFolder(check_name(name)).read_plan()
    if plan is None:
        raise LabError(f"there is no lab {name}: make it with molecule/lab/rack.py up --name {name}")
    return plan


def power(name: str, verb: str, target: str) -> None:
    """Switch a machine off, on, or off and on; its cables come back with it."""
    folder = LabFolder(check_name(name))
    with folder.locked():
        plan = _existing(name)
        host = plan.host(target)
        if verb in ("stop", "reboot"):
            podman("stop", "--time", "20", host.container)
        if verb in ("start", "reboot"):
            podman("start", host.container)
            _bring_up_one(plan, folder, host)


def _bring_up_one(plan: Plan, folder: LabFolder, host: Host) -> None:
    _wait_for_systemd(host)
    for cable in plan.cables:
        ends = [plan.host(cable.a), plan.host(cable.b)]
        if host in ends and all(is_running(end.container) for end in ends):
            cables.ensure(plan, cable)
    hosts.ensure_access(plan, folder, host)
    hosts.wait_for_boot(host)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a verb; 0 done, 1 failed, 2 wrong usage."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    default_name = os.environ.get("ESPALIER_LAB", "demo")

    def verb(word: str, text: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(word, help=text)
        added.add_argument("--name", default=default_name, help="of the lab (ESPALIER_LAB, else demo)")
        return added

    made = verb("up", "make a lab, or complete it")
    nodes = os.environ.get("ESPALIER_LAB_NODES")
    made.add_argument("--nodes", type=int, default=nodes, help="Macs, 2 to 6 (ESPALIER_LAB_NODES, else 3)")
    made.add_argument("--cabling", choices=CABLINGS, default=os.environ.get("ESPALIER_LAB_CABLING"), help="else ring")
    verb("down", "remove a lab")
    verb("status", "machines and cables of a lab")
    for word, text in (("cut", "pull a cable"), ("plug", "put a cable back")):
        added = verb(word, text)
        added.add_argument("host")
        added.add_argument("port", type=int)
    for word, text in (("stop", "switch a machine off"), ("start", "and on"), ("reboot", "off and on")):
        verb(word, text).add_argument("host")
    shell = verb("ssh", "log in, or run a command")
    shell.add_argument("host")
    shell.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    try:
        return _run(options)
    except LabError as error:
        print(f"rack: {error}", file=sys.stderr)
        return 1


def _run(options: argparse.Namespace) -> int:
    name = options.name
    if options.verb == "up":
        up(name, options.nodes, options.cabling)
    elif options.verb == "down":
        down(name)
    elif options.verb == "status":
        return status(name)
    elif options.verb in ("cut", "plug"):
        plan = _existing(name)
        cables.set_plugged(plan, plan.cable_at(options.host, options.port), plugged=options.verb == "plug")
    elif options.verb == "ssh":
        plan = _existing(name)
        config = LabFolder(name).ssh_config
        os.execvp("ssh", ["ssh", "-F", str(config), plan.host(options.host).name, *options.command])
    else:
        power(name, options.verb, options.host)
    return 0


if __name__ == "__main__":
    sys.exit(main())
