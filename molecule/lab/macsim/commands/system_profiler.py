"""system_profiler: hardware and Thunderbolt, as text and as JSON."""

from __future__ import annotations

import json

from macsim.core import system
from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.node import derived_hex, derived_uuid
from macsim.core.registry import Command
from macsim.core.report import Report
from macsim.net.thunderbolt import thunderbolt_report

_USAGE = (
    "Usage: system_profiler [-listDataTypes]\n"
    "                       [-xml] [-json] [-timeout n] [-detailLevel n] [dataType1 ... dataTypeN]\n"
)


def _hardware(context: Context) -> Report:
    node, model = context.node, context.node.model
    serial = derived_hex(10, "serial", node.hostname).upper()
    identifier = derived_uuid("hardware", node.hostname)
    udid = f"0000{derived_hex(4, 'udid', node.hostname)}-{derived_hex(16, 'udid2', node.hostname)}".upper()
    fast, slow = model.performance_cores, model.efficiency_cores
    return Report(
        [
            {
                "_name": "hardware_overview",
                "activation_lock_status": "activation_lock_disabled",
                "boot_rom_version": "13822.41.1",
                "chip_type": model.chip,
                "machine_model": node.model_id,
                "machine_name": model.name,
                "model_number": "MCX44LL/A",
                "number_processors": f"proc {model.cores}:{fast}:{slow}",
                "os_loader_version": "13822.41.1",
                "physical_memory": f"{model.memory_gib} GB",
                "platform_UUID": identifier,
                "provisioning_UDID": udid,
                "serial_number": serial,
            }
        ],
        "Hardware:\n\n    Hardware Overview:\n\n"
        f"      Model Name: {model.name}\n"
        f"      Model Identifier: {node.model_id}\n"
        "      Model Number: MCX44LL/A\n"
        f"      Chip: {model.chip}\n"
        f"      Total Number of Cores: {model.cores} ({fast} performance and {slow} efficiency)\n"
        f"      Memory: {model.memory_gib} GB\n"
        "      System Firmware Version: 13822.41.1\n"
        "      OS Loader Version: 13822.41.1\n"
        f"      Serial Number (system): {serial}\n"
        f"      Hardware UUID: {identifier}\n"
        f"      Provisioning UDID: {udid}\n"
        "      Activation Lock Status: Disabled\n\n",
    )


def _software(context: Context) -> Report:
    version = f"{system.PRODUCT_NAME} {system.PRODUCT_VERSION} ({system.BUILD_VERSION})"
    kernel = f"Darwin {system.KERNEL_RELEASE}"
    name = context.node.hostname
    return Report(
        [
            {
                "_name": "os_overview",
                "boot_mode": "normal_boot",
                "boot_volume": "Macintosh HD",
                "kernel_version": kernel,
                "local_host_name": name,
                "os_version": version,
                "secure_vm": "secure_vm_enabled",
                "system_integrity": "integrity_enabled",
            }
        ],
        "Software:\n\n    System Software Overview:\n\n"
        f"      System Version: {version}\n"
        f"      Kernel Version: {kernel}\n"
        "      Boot Volume: Macintosh HD\n"
        "      Boot Mode: Normal\n"
        f"      Computer Name: {name}\n"
        "      Secure Virtual Memory: Enabled\n"
        "      System Integrity Protection: Enabled\n\n",
    )


_TYPES = {
    "SPHardwareDataType": _hardware,
    "SPSoftwareDataType": _software,
    "SPThunderboltDataType": thunderbolt_report,
}


def run(argv: list[str], context: Context) -> int:
    """Print the data types that are asked for, or all that are simulated."""
    chosen: list[str] = []
    as_json = False
    words = list(argv)
    while words:
        word = words.pop(0)
        if word == "-json":
            as_json = True
        elif word in {"-detailLevel", "-timeout"} and words:
            words.pop(0)
        elif word == "-listDataTypes":
            context.print("Available Datatypes:")
            for name in sorted(_TYPES):
                context.print(name)
            return 0
        elif word.startswith("-"):
            raise ExitError(1, err=_USAGE)
        else:
            chosen.append(word)
    # An unknown data type is left out without a word, as the real tool does.
    reports = {name: _TYPES[name](context) for name in chosen or sorted(_TYPES) if name in _TYPES}
    if as_json:
        items = {name: report.items for name, report in reports.items()}
        text = json.dumps(items, indent=2, separators=(",", " : "), sort_keys=True)
        context.print(text)
    else:
        context.out.write("".join(report.text for report in reports.values()))
    return 0


COMMAND = Command("system_profiler", ("/usr/sbin/system_profiler",), run)
