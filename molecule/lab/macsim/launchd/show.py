"""The text of `launchctl print`, `list` and `print-disabled`, in the layout of macOS 26."""

from __future__ import annotations

from typing import Any

# sysexits.h, as launchctl names them
_EXIT_NAMES = {
    64: "EX_USAGE",
    65: "EX_DATAERR",
    66: "EX_NOINPUT",
    67: "EX_NOUSER",
    68: "EX_NOHOST",
    69: "EX_UNAVAILABLE",
    70: "EX_SOFTWARE",
    71: "EX_OSERR",
    72: "EX_OSFILE",
    73: "EX_CANTCREAT",
    74: "EX_IOERR",
    75: "EX_TEMPFAIL",
    76: "EX_PROTOCOL",
    77: "EX_NOPERM",
    78: "EX_CONFIG",
}
_SIGNAL_NAMES = {
    1: "Hangup",
    2: "Interrupt",
    6: "Abort trap",
    9: "Killed",
    11: "Segmentation fault",
    15: "Terminated",
}
_SEMAPHORES = {
    "always": "keep alive => 1",
    "successful": "successful exit => 1",
    "unsuccessful": "successful exit => 0",
    "crashed": "crashed => 1",
}


def _block(name: str, rows: list[str]) -> list[str]:
    return [f"\t{name} = {{", *(f"\t\t{row}" for row in rows), "\t}", ""]


def _last_exit(code: int | None) -> str:
    if code is None:
        return "last exit code = (never exited)"
    if code < 0:
        return f"last terminating signal = {_SIGNAL_NAMES.get(-code, 'Unknown signal')}: {-code}"
    name = _EXIT_NAMES.get(code)
    return f"last exit code = {code}: {name}" if name else f"last exit code = {code}"


def show_service(view: dict[str, Any]) -> str:
    """Return what `launchctl print system/<label>` prints."""
    spec = view["spec"]
    running = view["pid"] != 0
    lines = [
        f"system/{spec['label']} = {{",
        f"\tactive count = {1 if running else 0}",
        f"\tpath = {spec['path']}",
        "\ttype = LaunchDaemon",
        f"\tstate = {view['state']}",
        "",
        f"\tprogram = {spec['program']}",
        *_block("arguments", list(spec["arguments"])),
    ]
    if spec["directory"]:
        lines += [f"\tworking directory = {spec['directory']}", ""]
    if spec["stdin"]:
        lines.append(f"\tstdin path = {spec['stdin']}")
    if spec["stdout"]:
        lines.append(f"\tstdout path = {spec['stdout']}")
    if spec["stderr"]:
        lines.append(f"\tstderr path = {spec['stderr']}")
    lines += _block("default environment", ["PATH => /usr/bin:/bin:/usr/sbin:/sbin"])
    variables = {**spec["environment"], "XPC_SERVICE_NAME": spec["label"]}
    lines += _block("environment", [f"{name} => {value}" for name, value in sorted(variables.items())])
    lines.append("\tdomain = system")
    if spec["user"]:
        lines.append(f"\tusername = {spec['user']}")
    if spec["group"]:
        lines.append(f"\tgroup = {spec['group']}")
    lines += [f"\tminimum runtime = {spec['throttle_s']}", f"\texit timeout = {spec['exit_timeout_s']}"]
    if spec["nice"]:
        lines.append(f"\tnice = {spec['nice']}")
    lines.append(f"\truns = {view['runs']}")
    if running:
        lines += [
            f"\tpid = {view['pid']}",
            "\timmediate reason = speculative" if view["runs"] == 1 else "\timmediate reason = semaphore",
            "\tforks = 0",
            "\texecs = 1",
            "\tinitialized = 1",
            "\ttrampolined = 1",
            "\tstarted suspended = 0",
            "\tproxy started suspended = 0",
        ]
    lines.append(f"\t{_last_exit(view['exit_code'])}")
    if spec["interval_s"]:
        lines.append(f"\trun interval = {spec['interval_s']} seconds")
    lines.append("")
    if spec["keep_alive"] != "never":
        lines += _block("semaphores", [_SEMAPHORES[spec["keep_alive"]]])
    lines += [
        "\tspawn type = daemon (3)",
        "\tjetsam priority = 40",
        "\tjetsam memory limit (active) = (unlimited)",
        "\tjetsam memory limit (inactive) = (unlimited)",
        "\tjetsamproperties category = daemon",
        "\tjetsam thread limit = 32",
        "\tcpumon = default",
        "",
        f"\tproperties = {_properties(spec, view)}",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _properties(spec: dict[str, Any], view: dict[str, Any]) -> str:
    words = []
    if spec["keep_alive"] == "always":
        words.append("keepalive")
    if spec["run_at_load"]:
        words.append("runatload")
    if view["exit_code"] == 78 and view["state"] == "spawn scheduled":
        words.append("penalty box")
    if spec["inferred"]:
        words.append("inferred program")
    return " | ".join([*words, "system service"])


def show_table(views: list[dict[str, Any]]) -> str:
    """Return what `launchctl list` prints."""
    rows = ["PID\tStatus\tLabel"]
    for view in views:
        rows.append(f"{view['pid'] or '-'}\t{view['exit_code'] or 0}\t{view['spec']['label']}")
    return "\n".join(rows) + "\n"


def show_legacy(view: dict[str, Any]) -> str:
    """Return what `launchctl list <label>` prints: the raw wait status stands in LastExitStatus."""
    spec, code = view["spec"], view["exit_code"] or 0
    lines = ["{"]
    for key, name in (("stdout", "StandardOutPath"), ("stderr", "StandardErrorPath")):
        if spec[key]:
            lines.append(f'\t"{name}" = "{spec[key]}";')
    lines += [
        '\t"LimitLoadToSessionType" = "System";',
        f'\t"Label" = "{spec["label"]}";',
        f'\t"OnDemand" = {"false" if spec["keep_alive"] == "always" else "true"};',
        f'\t"LastExitStatus" = {-code if code < 0 else code << 8};',
    ]
    if view["pid"]:
        lines.append(f'\t"PID" = {view["pid"]};')
    lines.append(f'\t"Program" = "{spec["program"]}";')
    lines += ['\t"ProgramArguments" = (', *(f'\t\t"{word}";' for word in spec["arguments"]), "\t);", "};"]
    return "\n".join(lines) + "\n"


def disabled_rows(records: dict[str, bool]) -> list[str]:
    """Return the rows of the override records."""
    return [f'\t\t"{label}" => {"disabled" if off else "enabled"}' for label, off in records.items()]


def show_disabled(records: dict[str, bool]) -> str:
    """Return what `launchctl print-disabled system` prints: an empty line first."""
    return "\n".join(["", "\tdisabled services = {", *disabled_rows(records), "\t}"]) + "\n"


def show_domain(views: list[dict[str, Any]], records: dict[str, bool]) -> str:
    """Return what `launchctl print system` prints."""
    rows = []
    for view in views:
        status = "-" if view["exit_code"] is None else str(view["exit_code"])
        rows.append(f"\t\t{view['pid']:8d} {status:>6} \t{view['spec']['label']}")
    running = sum(1 for view in views if view["pid"])
    lines = [
        "system = {",
        "\ttype = system",
        "\thandle = 0",
        f"\tactive count = {running}",
        f"\tservice count = {len(views)}",
        f"\tactive service count = {running}",
        "\tcreator = launchd[1]",
        "\tcreator euid = 0",
        "\tsecurity context = {",
        "\t\tuid unset",
        "\t\tasid = 0",
        "\t}",
        "",
        "\tdeath port = 0x1b03",
        "\tservices = {",
        *rows,
        "\t}",
        "",
        "\tdisabled services = {",
        *disabled_rows(records),
        "\t}",
        "",
        "\tproperties = uncorked | audit check done | bootcache hack",
        "}",
    ]
    return "\n".join(lines) + "\n"
