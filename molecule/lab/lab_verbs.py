"""What rack.py does, one function a verb. Each holds the lab's lock, so that two runs never meet in it."""

from __future__ import annotations

import os
import shutil

import lab_cables as cables
import lab_hosts as hosts
from lab_image import ensure_image, remove_images, tag
from lab_plan import Host, LabError, Plan, check_name, make_plan
from lab_podman import is_running
from lab_state import LabFolder, machine_lock

DEFAULT_NODES, DEFAULT_CABLING = 3, "ring"


def up(name: str, nodes: int | None, cabling: str | None, cpus: float | None) -> None:
    """Make a lab, or complete what is there: machines that are off are started, pulled cables plugged in.

    Raises:
        LabError: It exists with other nodes, another cabling or in another checkout, or something failed.
    """
    folder = LabFolder(check_name(name))
    with folder.locked():
        hosts.check_owner(name)
        with machine_lock():
            plan = _planned(folder, nodes, cabling, cpus)
            new = ensure_image()
            new |= hosts.ensure_network(plan)
            hosts.write_access_files(plan, folder)
            new |= cables.ensure_panel(plan)
            # Under the lock of the machine, so that nobody removes an image that no container uses yet.
            started = [host for host in plan.hosts if hosts.ensure_container(plan, host)]
            if started:
                remove_images(keep=tag())
        cables.connect(plan)
        pulled = [cable for cable in plan.cables if cables.set_plugged(plan, cable, plugged=True)]
        installed = _bring_up(plan, folder, plan.hosts)
    count = len(plan.hosts)
    if started or new or installed or pulled:
        _say(f"lab {name}: {count} machines, {len(plan.cables)} cables ({plan.cabling}); {len(started)} started")
    else:
        _say(f"lab {name}: all {count} machines and {len(plan.cables)} cables were there already")


def _planned(folder: LabFolder, nodes: int | None, cabling: str | None, cpus: float | None) -> Plan:
    existing = folder.read_plan()
    if existing is None:
        # Validated before anything is made; what a run without a plan left behind is removed first.
        plan = make_plan(
            folder.name,
            DEFAULT_NODES if nodes is None else nodes,
            DEFAULT_CABLING if cabling is None else cabling,
            hosts.networks(),
            cpus,
        )
        hosts.remove_containers(folder.name)
        folder.path.mkdir(parents=True, exist_ok=True)
        folder.write_plan(plan)
        return plan
    if (
        nodes not in (None, len(existing.macs))
        or cabling not in (None, existing.cabling)
        or cpus not in (None, existing.cpus)
    ):
        limit = "" if existing.cpus is None else f" and {existing.cpus:g} cores a machine"
        raise LabError(
            f"the lab {folder.name} has {len(existing.macs)} Macs in a {existing.cabling}{limit}: remove it first "
            f"(rack.py down --name {folder.name}), or use another --name"
        )
    return existing


def _bring_up(plan: Plan, folder: LabFolder, started: tuple[Host, ...]) -> bool:
    """What follows once the containers run: access and the simulator; whether the simulator was new."""
    for host in started:
        hosts.wait_for_systemd(host)
        hosts.ensure_access(folder, host)
    installed = [host for host in started if host.is_mac and hosts.ensure_simulator(plan, host)]
    if len(started) == len(plan.hosts):
        hosts.write_ssh_config(plan, folder)
        folder.hand_over()
    for host in started:
        hosts.wait_for_boot(host)
    return bool(installed)


def down(name: str) -> None:
    """Remove a lab, whatever is left of it; removing what is not there is no error.

    Raises:
        LabError: It belongs to another checkout, or something could not be removed.
    """
    folder = LabFolder(check_name(name))
    with folder.locked(), machine_lock():
        hosts.check_owner(name)
        removed = hosts.remove_containers(name)
        if folder.path.exists():
            shutil.rmtree(folder.path)
        remove_images()
    _say(f"lab {name}: removed" if removed else f"lab {name}: there was nothing to remove")


def status(name: str) -> int:
    """Print the state of a lab; 0 when all of it runs, 1 otherwise."""
    plan = existing(name)
    complete = True
    for host in plan.hosts:
        runs = is_running(host.container)
        complete &= runs
        _say(f"{host.name:6} {host.model or 'Linux':9} {host.address:15} {'running' if runs else 'stopped'}")
    for cable in plan.cables:
        state = cables.state(plan, cable)
        complete &= state != "pulled"
        _say(f"cable  {cable.a} port {cable.a_port} - {cable.b} port {cable.b_port}  {state}")
    return 0 if complete else 1


def existing(name: str) -> Plan:
    """The plan of a lab that was made.

    Raises:
        LabError: There is none of this name.
    """
    plan = LabFolder(check_name(name)).read_plan()
    if plan is None:
        raise LabError(f"there is no lab {name}: make it with molecule/lab/rack.py up --name {name}")
    return plan


def plug(name: str, target: str, port: int, *, plugged: bool) -> None:
    """Pull the cable in a port, or plug it in again."""
    with LabFolder(check_name(name)).locked():
        plan = existing(name)
        cables.set_plugged(plan, plan.cable_at(plan.host(target).name, port), plugged=plugged)


def power(name: str, verb: str, target: str) -> None:
    """Switch a machine off (stop), on (start), or off and on (reboot); its cables come back with it."""
    folder = LabFolder(check_name(name))
    with folder.locked():
        plan = existing(name)
        host = plan.host(target)
        if verb in ("stop", "reboot"):
            hosts.switch_off(plan, host)
        if verb in ("start", "reboot") and not is_running(host.container):
            cables.ensure_panel(plan)
            hosts.boot(plan, host)
            _bring_up(plan, folder, (host,))


def log_in(name: str, target: str, command: list[str]) -> None:
    """Become ssh to a machine.

    Raises:
        LabError: There is no such machine, or no ssh.
    """
    plan = existing(name)
    config = LabFolder(name).ssh_config
    try:
        os.execvp("ssh", ["ssh", "-F", str(config), plan.host(target).name, *command])
    except FileNotFoundError as error:
        raise LabError("ssh is not installed: run tools/bootstrap.sh rack") from error


def _say(text: str) -> None:
    print(text, flush=True)
