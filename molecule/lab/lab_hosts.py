"""The machines of a rack: containers with systemd, a way in by SSH, and the simulator on the Macs."""

from __future__ import annotations

import hashlib
import io
import json
import socket
import sys
import tarfile
import time
from pathlib import Path

import lab_cables as cables
from lab_image import tag
from lab_plan import USER, Host, LabError, Plan
from lab_podman import HERE, execute, inspect, podman, run
from lab_state import ROOT, LabFolder, write_atomically

BOOT_TIMEOUT_S = 90.0
# What a machine needs to run systemd, sshd, sudo and babeld and to set up its own network; nothing of this machine's.
CAPABILITIES = (
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETFCAP", "SETGID", "SETPCAP", "SETUID"),
    *("NET_ADMIN", "NET_BIND_SERVICE", "NET_RAW", "SYS_CHROOT", "SYS_NICE", "SYS_RESOURCE"),
)
STOP_TIMEOUT_S = 20
LABEL = "dev.espalier.lab"
SPEC_LABEL = "dev.espalier.lab-spec"
CHECKOUT_LABEL = "dev.espalier.lab-checkout"


def networks() -> list[str]:
    """Networks that this machine or podman already uses, as CIDR."""
    taken = []
    for network in json.loads(podman("network", "ls", "--format", "json") or "[]"):
        taken += [str(subnet["subnet"]) for subnet in network.get("subnets") or []]
    for route in json.loads(run(["ip", "-json", "-4", "route", "show"])):
        if route["dst"] != "default":
            taken.append(str(route["dst"]))
    return taken


def ensure_network(plan: Plan) -> bool:
    """Make the management network unless it is there; whether something had to be done."""
    if plan.network in podman("network", "ls", "--format", "{{.Name}}").split():
        return False
    label = f"{LABEL}={plan.name}"
    podman("network", "create", "--disable-dns", "--subnet", plan.subnet, "--label", label, plan.network)
    return True


def check_owner(name: str) -> None:
    """See that the lab is not one that another checkout made and still has.

    Raises:
        LabError: It is; nothing may be changed from here.
    """
    found = json.loads(podman("ps", "--all", "--filter", f"label={LABEL}={name}", "--format", "json") or "[]")
    checkouts = {str(container["Labels"].get(CHECKOUT_LABEL, ROOT)) for container in found}
    for checkout in sorted(checkouts - {str(ROOT)}):
        if LabFolder(name, Path(checkout)).lab_json.exists():
            raise LabError(
                f"the lab {name} belongs to the checkout {checkout}: use another --name (or ESPALIER_LAB), "
                f"or remove it there: {checkout}/molecule/lab/rack.py down --name {name}"
            )


def ensure_container(plan: Plan, host: Host) -> bool:
    """Make and start a machine unless it runs; whether something had to be done.

    A container that was made in another way (another image, other settings) is made anew, and so is one that a
    killed run left in a state that does not start: it holds nothing that site.yml does not bring.
    """
    found = inspect(host.container)
    if found and found["Config"]["Labels"].get(SPEC_LABEL) == _spec(plan, host):
        if found["State"]["Running"]:
            return cables.attach(plan, host, int(found["State"]["Pid"]), booting=False)
        try:
            boot(plan, host)
        except LabError as error:
            print(f"{host.name} does not start and is made anew: {error}", file=sys.stderr)
        else:
            return True
    podman("rm", "--force", "--ignore", "--time", "0", host.container)
    labels = {LABEL: plan.name, SPEC_LABEL: _spec(plan, host), CHECKOUT_LABEL: str(ROOT)}
    words = [word for label, value in labels.items() for word in ("--label", f"{label}={value}")]
    podman("create", *words, *_settings(plan, host), tag(), "/sbin/init")
    boot(plan, host)
    return True


def _spec(plan: Plan, host: Host) -> str:
    """A digest of everything that a container is made of."""
    return hashlib.sha256("\0".join([tag(), *_settings(plan, host)]).encode()).hexdigest()[:12]


def _settings(plan: Plan, host: Host) -> list[str]:
    device = "en0" if host.is_mac else "eth0"
    interface = f"ip={host.address},mac={plan.management_address(host)},interface_name={device}"
    return [
        "--name", host.container, "--hostname", host.name,
        "--network", f"{plan.network}:{interface}",
        "--systemd", "always", "--shm-size", "512m", "--cap-drop", "all", "--cap-add", ",".join(CAPABILITIES),
        "--sysctl", "net.ipv6.conf.all.disable_ipv6=0", "--sysctl", "net.ipv6.conf.default.disable_ipv6=0",
        # As Debian sets it at boot: whoever is logged in may ping.
        "--sysctl", "net.ipv4.ping_group_range=0 2147483647",
        *([] if plan.cpus is None else ["--cpus", f"{plan.cpus:g}"]),
    ]  # fmt: skip


def boot(plan: Plan, host: Host) -> None:
    """Switch a machine on, with its cables in before the first process runs.

    `podman init` makes the namespaces and stops short of starting PID 1. In between, the machine gets its ports, and
    the settings of its own network become writable. The rest of /proc/sys stays read-only: those are the kernel's,
    which all containers and the machine underneath share.
    """
    found = inspect(host.container)
    status = found["State"]["Status"] if found else ""
    if status in ("stopping", "paused"):  # by a run that was killed, or by hand
        podman("stop", "--time", str(STOP_TIMEOUT_S), host.container)
    if status != "initialized":
        podman("init", host.container)
    found = inspect(host.container)
    process = int(found["State"]["Pid"]) if found else 0
    script = "mount --bind /proc/sys/net /proc/sys/net && mount -o remount,bind,rw /proc/sys/net"
    run(["nsenter", "--target", str(process), "--mount", "--pid", "sh", "-c", script])
    cables.attach(plan, host, process, booting=True)
    cables.connect(plan)
    podman("start", host.container)


def switch_off(plan: Plan, host: Host) -> None:
    """Shut a machine down; the others see its cables go dead."""
    podman("stop", "--time", str(STOP_TIMEOUT_S), host.container)
    cables.detach(plan, host)
    cables.connect(plan)


def wait_for_systemd(host: Host) -> None:
    """Wait until systemd takes commands; sshd has no host key yet on a new machine.

    Raises:
        LabError: It does not within the time.
    """
    limit = time.monotonic() + BOOT_TIMEOUT_S
    while time.monotonic() < limit:
        state = execute(host.container, "systemctl", "is-system-running", check=False).strip()
        if state in ("running", "degraded"):
            return
        time.sleep(0.3)
    raise LabError(f"{host.name}: systemd did not come up in {BOOT_TIMEOUT_S:.0f} s: podman logs {host.container}")


def wait_for_boot(host: Host) -> None:
    """Wait until systemd has started everything and sshd answers.

    Raises:
        LabError: It does not within the time; names the units that failed.
    """
    limit = time.monotonic() + BOOT_TIMEOUT_S
    state = ""
    while time.monotonic() < limit:
        state = execute(host.container, "systemctl", "is-system-running", check=False).strip()
        if state in ("running", "degraded") and _answers(host.address):
            return
        time.sleep(0.3)
    failed = execute(host.container, "systemctl", "--failed", "--plain", "--no-legend", check=False).strip()
    raise LabError(f"{host.name} is {state or 'silent'} after {BOOT_TIMEOUT_S:.0f} s. Failed units: {failed or 'none'}")


def _answers(address: str) -> bool:
    try:
        with socket.create_connection((address, 22), timeout=1) as connection:
            connection.settimeout(2)
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def ensure_access(folder: LabFolder, host: Host) -> None:
    """Let the lab's key in, and give the machine host keys of its own, on its management address alone."""
    key = folder.ssh_key.with_suffix(".pub").read_text()
    script = f"""
set -eu
[ -f /etc/ssh/ssh_host_ed25519_key ] || ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
install -d -o {USER} -g {USER} -m 0700 /home/{USER}/.ssh
cat > /home/{USER}/.ssh/authorized_keys
chown {USER}:{USER} /home/{USER}/.ssh/authorized_keys && chmod 0600 /home/{USER}/.ssh/authorized_keys
wanted='ListenAddress {host.address}'
if ! grep -qsx "$wanted" /etc/ssh/sshd_config.d/listen.conf; then
  echo "$wanted" > /etc/ssh/sshd_config.d/listen.conf
  systemctl restart ssh.service
fi
systemctl is-enabled --quiet ssh.service || systemctl enable --quiet ssh.service
systemctl is-active --quiet ssh.service || systemctl start ssh.service
"""
    execute(host.container, "sh", "-c", script, stdin=key.encode())


def write_access_files(plan: Plan, folder: LabFolder) -> None:
    """Make the lab's key, and the files with which ssh finds and recognises the machines."""
    if not folder.ssh_key.exists() or not folder.ssh_key.with_suffix(".pub").exists():
        folder.ssh_key.unlink(missing_ok=True)
        comment = f"espalier-lab-{plan.name}"
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", folder.ssh_key])


def write_ssh_config(plan: Plan, folder: LabFolder) -> None:
    """Write ssh_config and known_hosts from the host keys that the machines have."""
    lines, known = [], []
    for host in plan.hosts:
        key = execute(host.container, "cat", "/etc/ssh/ssh_host_ed25519_key.pub").split()
        known.append(f"{host.name},{host.address} {key[0]} {key[1]}\n")
        lines.append(
            f"Host {host.name} {host.address}\n  HostName {host.address}\n  User {USER}\n"
            f"  IdentityFile {folder.ssh_key}\n"
            f"  IdentitiesOnly yes\n  UserKnownHostsFile {folder.known_hosts}\n  StrictHostKeyChecking yes\n\n"
        )
    write_atomically(folder.known_hosts, "".join(known))
    write_atomically(folder.ssh_config, "".join(lines), 0o600)


def simulator_hash() -> str:
    """Of the simulator's sources."""
    digest = hashlib.sha256()
    for path in simulator_files():
        digest.update(str(path.relative_to(HERE)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def simulator_files() -> list[Path]:
    """The simulator's sources, in a fixed order."""
    return sorted(path for path in (HERE / "macsim").rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def ensure_simulator(plan: Plan, host: Host) -> bool:
    """Turn a machine into a Mac, or bring its simulator up to date; whether something had to be done."""
    config = json.dumps(plan.node_config(host), indent=2) + "\n"
    wanted = hashlib.sha256((simulator_hash() + config).encode()).hexdigest()
    if execute(host.container, "cat", "/opt/macsim/.installed", check=False).strip() == wanted:
        return False
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path in simulator_files():
            tar.add(path, arcname=str(path.relative_to(HERE)), filter=_root_owned)
    execute(
        host.container, "sh", "-c",
        "set -eu; install -d /opt /var/db/macsim; for part in /opt/macsim/*/; do"
        " case $part in */bin/|*/linux/) ;; *) rm -rf \"$part\" ;; esac; done; tar -x -C /opt -f -",
        stdin=archive.getvalue(),
    )  # fmt: skip
    execute(host.container, "sh", "-c", "cat > /var/db/macsim/node.json", stdin=config.encode())
    execute(
        host.container, "/usr/bin/python3", "/opt/macsim/install.py",
        "--model", host.model, "--node-config", "/var/db/macsim/node.json",
    )  # fmt: skip
    execute(host.container, "sh", "-c", "cat > /opt/macsim/.installed", stdin=wanted.encode())
    return True


def _root_owned(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def remove_containers(name: str) -> list[str]:
    """Remove the machines, cables and network of a lab, also of one that was half made; what was removed."""
    removed = podman("ps", "-aq", "--filter", f"label={LABEL}={name}").split()
    if removed:
        podman("rm", "--force", "--time", "0", *removed)
    mine = podman("network", "ls", "--filter", f"label={LABEL}={name}", "--format", "{{.Name}}").split()
    for network in mine:
        podman("network", "rm", "--force", network)
    return [*removed, *mine, *(["cables"] if cables.remove_panel(name) else [])]
