"""The kernel variables that `sysctl` shows: which there are, which can be written, and their values.

Names and formats are those of Apple silicon; this is a selection, and a name outside it is an unknown oid.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from macsim.core import state, system
from macsim.core.context import Context
from macsim.core.node import derived_uuid

Getter = Callable[[Context], str]

# As recorded on Macs with this much memory or more: (GiB, maxfiles, maxfilesperproc, maxproc, per uid).
_FILE_LIMITS = (
    (64, 491520, 245760, 16000, 10666),
    (32, 245760, 122880, 8000, 5333),
    (0, 122880, 61440, 4000, 2666),
)


class Oid(NamedTuple):
    """One variable.

    Attributes:
        name: Its name.
        get: How its value is found.
        writable: Whether root may set it.
        linux: The Linux knob below /proc/sys that it sets as well, if there is one.
        listed: Whether a prefix or -a shows it; hw.model is known only by its full name.
    """

    name: str
    get: Getter
    writable: bool = False
    linux: str = ""
    listed: bool = True


def _constant(value: object) -> Getter:
    return lambda context: str(value)


def _boottime(context: Context) -> str:
    boot_s = context.boot_time_s()
    seconds = int(boot_s)
    stamp = time.strftime("%a %b %e %H:%M:%S %Y", time.localtime(seconds))
    return f"{{ sec = {seconds}, usec = {int((boot_s - seconds) * 1e6)} }} {stamp}"


def _loadavg(context: Context) -> str:
    one, five, fifteen = os.getloadavg()
    return f"{{ {one:.2f} {five:.2f} {fifteen:.2f} }}"


def _file_limit(column: int) -> Getter:
    def get(context: Context) -> str:
        memory_gib = context.node.model.memory_gib
        return str(next(row[column] for row in _FILE_LIMITS if memory_gib >= row[0]))

    return get


def _model(field: str) -> Getter:
    return lambda context: str(getattr(context.node.model, field))


def _memory(context: Context) -> str:
    return str(context.node.model.memory_gib * 1024**3)


_OIDS = (
    Oid("user.cs_path", _constant("/usr/bin:/bin:/usr/sbin:/sbin")),
    Oid("kern.ostype", _constant("Darwin")),
    Oid("kern.osrelease", _constant(system.KERNEL_RELEASE)),
    Oid("kern.osrevision", _constant(199506)),
    Oid("kern.version", _constant(system.KERNEL_VERSION)),
    Oid("kern.maxvnodes", _constant(263168), writable=True),
    Oid("kern.maxproc", _file_limit(3), writable=True),
    Oid("kern.maxfiles", _file_limit(1), writable=True),
    Oid("kern.argmax", _constant(1048576)),
    Oid("kern.securelevel", _constant(0)),
    Oid("kern.hostname", lambda context: os.uname().nodename),
    Oid("kern.hostid", _constant(0)),
    Oid("kern.clockrate", _constant("{ hz = 100, tick = 10000, tickadj = 0, profhz = 100, stathz = 100 }")),
    Oid("kern.ngroups", _constant(16)),
    Oid("kern.boottime", _boottime),
    Oid("kern.maxfilesperproc", _file_limit(2), writable=True),
    Oid("kern.maxprocperuid", _file_limit(4), writable=True),
    Oid("kern.ipc.maxsockbuf", _constant(8388608), writable=True),
    Oid("kern.ipc.somaxconn", _constant(128), writable=True),
    Oid("kern.ipc.nmbclusters", _constant(524288)),
    Oid("kern.osversion", _constant(system.BUILD_VERSION)),
    Oid("kern.safeboot", _constant(0)),
    Oid("kern.hv_vmm_present", _constant(0)),
    Oid("kern.osproductversion", _constant(system.PRODUCT_VERSION)),
    Oid("kern.bootargs", _constant("")),
    Oid("kern.num_files", _constant(4096)),
    Oid("kern.bootsessionuuid", lambda context: derived_uuid("boot", int(context.boot_time_s()))),
    Oid("kern.memorystatus_vm_pressure_level", _constant(1)),
    Oid("kern.memorystatus_level", _constant(84)),
    Oid("vm.loadavg", _loadavg),
    Oid("vm.swapusage", _constant("total = 0.00M  used = 0.00M  free = 0.00M  (encrypted)")),
    Oid("vm.compressor_mode", _constant(4)),
    Oid("vm.page_free_count", lambda context: str(int(_memory(context)) // 16384 * 3 // 4)),
    Oid("net.inet.ip.forwarding", _constant(0), writable=True, linux="net/ipv4/ip_forward"),
    Oid("net.inet.ip.ttl", _constant(64), writable=True),
    Oid("net.inet.ip.redirect", _constant(1), writable=True),
    Oid("net.inet.tcp.sendspace", _constant(131072), writable=True),
    Oid("net.inet.tcp.recvspace", _constant(131072), writable=True),
    Oid("net.inet.tcp.autorcvbufmax", _constant(4194304), writable=True),
    Oid("net.inet.tcp.autosndbufmax", _constant(4194304), writable=True),
    Oid("net.inet.tcp.delayed_ack", _constant(3), writable=True),
    Oid("net.inet.tcp.mssdflt", _constant(512), writable=True),
    Oid("net.inet6.ip6.forwarding", _constant(0), writable=True, linux="net/ipv6/conf/all/forwarding"),
    Oid("net.inet6.ip6.hlim", _constant(64), writable=True),
    Oid("iogpu.wired_limit_mb", _constant(0), writable=True),
    Oid("iogpu.wired_lwm_mb", _constant(0), writable=True),
    Oid("hw.ncpu", _model("cores")),
    Oid("hw.byteorder", _constant(1234)),
    Oid("hw.memsize", _memory),
    Oid("hw.activecpu", _model("cores")),
    Oid("hw.perflevel0.physicalcpu", _model("performance_cores")),
    Oid("hw.perflevel0.physicalcpu_max", _model("performance_cores")),
    Oid("hw.perflevel0.logicalcpu", _model("performance_cores")),
    Oid("hw.perflevel0.logicalcpu_max", _model("performance_cores")),
    Oid("hw.perflevel0.name", _constant("Performance")),
    Oid("hw.perflevel1.physicalcpu", _model("efficiency_cores")),
    Oid("hw.perflevel1.physicalcpu_max", _model("efficiency_cores")),
    Oid("hw.perflevel1.logicalcpu", _model("efficiency_cores")),
    Oid("hw.perflevel1.logicalcpu_max", _model("efficiency_cores")),
    Oid("hw.perflevel1.name", _constant("Efficiency")),
    Oid("hw.optional.arm64", _constant(1)),
    Oid("hw.optional.floatingpoint", _constant(1)),
    Oid("hw.optional.neon", _constant(1)),
    Oid("hw.physicalcpu", _model("cores")),
    Oid("hw.physicalcpu_max", _model("cores")),
    Oid("hw.logicalcpu", _model("cores")),
    Oid("hw.logicalcpu_max", _model("cores")),
    Oid("hw.cputype", _constant(16777228)),
    Oid("hw.cpusubtype", _constant(2)),
    Oid("hw.cpu64bit_capable", _constant(1)),
    Oid("hw.pagesize", _constant(16384)),
    Oid("hw.pagesize32", _constant(16384)),
    Oid("hw.cachelinesize", _constant(128)),
    Oid("hw.tbfrequency", _constant(24000000)),
    Oid("hw.memsize_usable", lambda context: str(int(_memory(context)) - 704 * 1024**2)),
    Oid("hw.packages", _constant(1)),
    Oid("hw.osenvironment", _constant("")),
    Oid("hw.nperflevels", _constant(2)),
    Oid("hw.model", lambda context: context.node.model_id, listed=False),
    Oid("machdep.cpu.cores_per_package", _model("cores")),
    Oid("machdep.cpu.core_count", _model("cores")),
    Oid("machdep.cpu.logical_per_package", _model("cores")),
    Oid("machdep.cpu.thread_count", _model("cores")),
    Oid("machdep.cpu.brand_string", _model("chip")),
)


def select(name: str) -> list[Oid]:
    """Return the variable of that name, or all below it; none when there is no such name."""
    exact = [oid for oid in _OIDS if oid.name == name]
    return exact or [oid for oid in _OIDS if oid.listed and oid.name.startswith(f"{name}.")]


def everything() -> list[Oid]:
    """Return what `sysctl -a` shows."""
    return [oid for oid in _OIDS if oid.listed]


def read(oid: Oid, context: Context) -> str:
    """Return the value: what Linux really does, else what was set since the start, else the default."""
    if oid.linux:
        try:
            return context.paths.at(f"/proc/sys/{oid.linux}").read_text().strip()
        except OSError:
            return str(state.load(_written(context), {}).get(oid.name, oid.get(context)))
    return str(state.load(_written(context), {}).get(oid.name, oid.get(context)))


def write(oid: Oid, value: str, context: Context) -> None:
    """Set a variable until the next start.

    Raises:
        OSError: Linux refuses the knob underneath.
    """
    if oid.linux:
        knob: Path = context.paths.at(f"/proc/sys/{oid.linux}")
        if knob.exists():
            knob.write_text(value)
            return
    state.update(_written(context), {}, lambda values: {**values, oid.name: value})


def _written(context: Context) -> Path:
    return context.paths.volatile / "sysctl.json"
