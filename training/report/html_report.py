"""`report.html`: one file that needs nothing else, for a screen, a phone, or paper."""

from __future__ import annotations

from typing import Any

from training.report import notes
from training.report.html_parts import Cell, bullets, figure, num, paragraph, section, table, tile
from training.report.model import PLACES, CableRow, JobRow, ReportData, RunRow
from training.report.plot_svg import Axis, Series, line_plot
from training.report.rack_svg import describe, rack_svg
from training.report.scale import slower_gbit_s
from training.report.svg import element, escape
from training.report.templates import template
from training.report.units import NONE, duration, percent, plural, significant, size, spread

# Nothing is loaded and no script runs, even if a name in the report were markup and escaped our notice.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_ARROW = "\N{RIGHTWARDS ARROW}"


def html_report(report: ReportData) -> str:
    """The whole page."""
    title = "Espalier: " + notes.who(report)
    head = (
        '<meta charset="utf-8">'
        + f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">'
        + '<meta name="viewport" content="width=device-width, initial-scale=1">'
        + '<meta name="color-scheme" content="light dark">'
        + element("title", escape(title))
        + element("style", template("report.css"))
    )
    main = "".join(
        (
            _header(report),
            _rack(report),
            _cables(report),
            _allreduce(report),
            _training(report),
            _replicas(report),
            _environment(report),
        )
    )
    return (
        "<!doctype html>\n"
        + element(
            "html",
            element("head", head) + element("body", element("main", main) + _footer(report)),
            lang="en",
        )
        + "\n"
    )


def _header(report: ReportData) -> str:
    gaps = report["gaps"]
    warning = element("div", element("h2", "Not measured") + bullets(gaps), class_="gaps", role="note") if gaps else ""
    sharing = notes.sharing(report)
    return element(
        "header",
        element("p", "Espalier", class_="brand")
        + element("h1", escape(_headline(report)))
        + paragraph(f"{_first_upper(notes.who(report))}. Measured {report['written_at']}.", "lead")
        + element("dl", _tiles(report), class_="tiles few" if report["this_machine_only"] else "tiles")
        + (paragraph(sharing, "note") if sharing else "")
        + "".join(paragraph(doubt, "note doubt") for doubt in notes.implausible(report))
        + warning,
    )


def _headline(report: ReportData) -> str:
    verdicts = [job["replicas_identical"] for job in report["train"].values()]
    if False in verdicts:
        return "The replicas differ: do not trust this training"
    count = notes.ranks(report)
    if report["gaps"] or None in verdicts:
        return "Measured, with gaps"
    noun = "rank" if report["this_machine_only"] else "node"
    return f"One model, {plural(count, noun)}, bit for bit the same"


def _tiles(report: ReportData) -> str:
    train = report["train"]
    tiles = [] if report["this_machine_only"] else [_site_tile(report), _cable_tile(report)]
    rows = report["allreduce"]
    best = max(rows, key=lambda row: row["busbw_gb_s"]) if rows else None
    tiles.append(
        tile(
            "All-reduce, bus bandwidth",
            f"{significant(best['busbw_gb_s'])} GB/s" if best else NONE,
            f"at {size(best['bytes'])}, {plural(report['allreduce_setup']['world_size'], 'rank')}"
            if best
            else "failed",
            "" if best else "bad",
        )
    )
    digits, gpt = train["digits"], train["gpt"]
    tiles.append(
        tile(
            "Digits, test accuracy",
            percent(digits["accuracy_all"], 1),
            f"on all; {percent(digits['accuracy_one'], 1)} on one node",
        )
    )
    tiles.append(
        tile(
            "Small GPT, loss",
            significant(gpt["loss_last"]),
            f"from {significant(gpt['loss_first'])}; on one node {significant(gpt['loss_last_one'])}",
        )
    )
    tiles.append(_replica_tile(report))
    return "".join(tiles)


def _site_tile(report: ReportData) -> str:
    site = report["site"]
    if site["hosts"] is None:
        return tile("site.yml", NONE, "not part of this report")
    changed = site["second_run_changed"]
    again = "not run again" if changed is None else f"run again, {plural(changed, 'task')} changed something"
    if changed == 0:
        again = "run again, nothing changed"
    fine = site["failed"] == 0 and not changed
    return tile(
        "site.yml",
        duration(site["seconds"]),
        f"{plural(site['hosts'], 'host')}, {site['failed']} failed; {again}",
        "good" if fine else "bad",
    )


def _cable_tile(report: ReportData) -> str:
    cables = report["fabric"]["cables"]
    rates = [rate for cable in cables if not cable["error"] and (rate := slower_gbit_s(cable)) is not None]
    failed = sum(1 for cable in cables if cable["error"])
    detail = f"{plural(failed, 'cable')} failed" if failed else f"slower way of {plural(len(cables), 'cable')}"
    return tile("Cables", spread(rates, "Gbit/s"), detail if cables else "no cable", "bad" if failed else "")


def _replica_tile(report: ReportData) -> str:
    verdicts = {name: job["replicas_identical"] for name, job in report["train"].items()}
    same = sum(1 for verdict in verdicts.values() if verdict)
    return tile(
        "Replicas",
        "differ" if False in verdicts.values() else "identical" if same == len(verdicts) else NONE,
        f"SHA-256 of all parameters, {same} of {plural(len(verdicts), 'job')}",
        "bad" if False in verdicts.values() else "good" if same == len(verdicts) else "",
    )


def _rack(report: ReportData) -> str:
    title = "This machine" if report["this_machine_only"] else "The rack"
    return section("rack", title, figure(rack_svg(report), describe(report), "rack"))


def _cables(report: ReportData) -> str:
    cables = report["fabric"]["cables"]
    if not cables:
        return ""
    head = [
        Cell("Cable"),
        num(f"there {_ARROW} Gbit/s"),
        num("back \N{LEFTWARDS ARROW} Gbit/s"),
        num("round trip, ms"),
        num("MTU"),
        Cell("state"),
    ]
    return section("cables", "Cables", table("What each cable carries", head, [_cable(cable) for cable in cables]))


def _cable(cable: CableRow) -> list[Cell]:
    return [
        Cell(f"{cable['a']}:{cable['a_port']} {_ARROW} {cable['b']}:{cable['b_port']}"),
        num(significant(cable["gbit_s_ab"])),
        num(significant(cable["gbit_s_ba"])),
        num(significant(cable["rtt_ms"], 2)),
        num(str(cable["mtu"] or NONE)),
        Cell(cable["error"], "bad") if cable["error"] else Cell("measured", "good"),
    ]


def _allreduce(report: ReportData) -> str:
    rows, setup = report["allreduce"], report["allreduce_setup"]
    title = "All-reduce"
    if not rows:
        return section("allreduce", title, paragraph(f"It failed: {setup['error'] or 'no result'}", "bad"))
    sizes = Axis("size of the tensor", lambda value: size(int(value)), log=True, ticks=_sizes(report))
    bandwidth = line_plot(
        "plot-busbw",
        "Bus bandwidth of the all-reduce by size",
        [Series("bus bandwidth", [(row["bytes"], row["busbw_gb_s"]) for row in rows])],
        sizes,
        Axis("bus bandwidth, GB/s", significant_short, log=True),
    )
    time = line_plot(
        "plot-seconds",
        "Time of one all-reduce by size",
        [Series("time", [(row["bytes"], row["seconds"]) for row in rows])],
        sizes,
        Axis("time", duration_short, log=True),
    )
    body = [
        [
            Cell(size(row["bytes"])),
            num(duration(row["seconds"])),
            num(significant(row["algbw_gb_s"])),
            num(significant(row["busbw_gb_s"])),
            num(str(row["iterations"])),
        ]
        for row in rows
    ]
    head = [Cell("Size"), num("median time"), num("algorithm, GB/s"), num("bus, GB/s"), num("repeats")]
    return section(
        "allreduce",
        title,
        paragraph(
            f"{plural(setup['world_size'], 'rank')}, process group {setup['backend']}. Time is that of the "
            "slowest rank; bus bandwidth is what each link carries in the best algorithm."
        ),
        element(
            "div",
            figure(bandwidth, "Higher is better.") + figure(time, "Lower is better."),
            class_="pair",
        ),
        table("All-reduce by size", head, body),
    )


def _sizes(report: ReportData) -> list[float]:
    """Marks under the plot: few enough that their labels do not touch."""
    sizes = sorted({float(row["bytes"]) for row in report["allreduce"]})
    stride = -(-len(sizes) // 6)
    # Counted from the largest, whose label matters most.
    return sizes[::-1][::stride][::-1]


def significant_short(value: float) -> str:
    """A tick: no more digits than it needs."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def duration_short(value: float) -> str:
    """A tick of a time axis."""
    for limit, factor, unit in ((0.9999e-3, 1e6, "\N{MICRO SIGN}s"), (0.9999, 1e3, "ms")):
        if value < limit:
            return f"{round(value * factor, 3):g} {unit}"
    return f"{round(value, 3):g} s"


def _training(report: ReportData) -> str:
    trained = {name: job for name, job in report["train"].items() if job["runs"]}
    plots = [
        figure(_curve(name, job), _curve_caption(name, job))
        for name, job in trained.items()
        if any(run["losses"] for run in job["runs"].values())
    ]
    head = [
        Cell("Job"),
        num("quality, one"),
        num("quality, all"),
        num("throughput, one"),
        num("throughput, all"),
        num("efficiency"),
        num("at most"),
        num("of that"),
    ]
    rows = [
        [
            Cell(name),
            num(_quality(job, "one")),
            num(_quality(job, "all")),
            num(_throughput(job, "one")),
            num(_throughput(job, "all")),
            num(percent(job["efficiency"])),
            num(percent(job["efficiency_ideal"])),
            num(notes.of_ideal(job)),
        ]
        for name, job in trained.items()
    ]
    return section(
        "training",
        "Training",
        element("div", "".join(plots), class_="pair"),
        table("One node and all, same global batch and steps", head, rows),
        paragraph(
            "Quality is test accuracy, or the last training loss where nothing is classified. Efficiency is "
            "the throughput of all nodes divided by nodes times that of one. The global batch is the same, "
            "so each of several nodes has a smaller share of it.",
            "small",
        ),
        element("div", "".join(_run_table(name, job) for name, job in trained.items()), class_="stack"),
    )


def _curve(name: str, job: JobRow) -> str:
    series = [
        Series({"one": "one node", "all": "all nodes"}[place], job["runs"][place]["losses"])
        for place in PLACES
        if place in job["runs"]
    ]
    # Names of jobs come from folders, and an id has no spaces.
    safe = "".join(character if character.isalnum() else "-" for character in name)
    return line_plot(
        f"plot-loss-{safe}",
        f"Training loss of {name}",
        series,
        Axis("step", lambda value: f"{value:.0f}", floor=0),
        Axis("loss", significant_short, floor=0),
    )


def _curve_caption(name: str, job: JobRow) -> str:
    run = job["runs"].get("all") or job["runs"]["one"]
    if run["error"]:
        run = job["runs"]["one"]
    return f"{name}: {run['model']} on {run['dataset']}, {_whole(run['parameters'])} parameters"


def _quality(job: JobRow, place: str) -> str:
    run = job["runs"].get(place)
    if run is None or run["error"]:
        return NONE
    if run["accuracy"] is not None:
        return percent(run["accuracy"], 2)
    return f"loss {significant(run['loss_last'])}"


def _throughput(job: JobRow, place: str) -> str:
    run = job["runs"].get(place)
    if run is None or run["error"]:
        return NONE
    if run["tokens_s"] is not None:
        return f"{significant(run['tokens_s'])} tokens/s"
    return f"{significant(run['samples_s'])} samples/s"


def _run_table(name: str, job: JobRow) -> str:
    head = [
        Cell(f"{name} on"),
        Cell("ranks"),
        Cell("device"),
        Cell("process group"),
        num("steps"),
        num("global batch"),
        num("time"),
        num("first loss"),
        num("last loss"),
    ]
    rows = [_run_row(place, job["runs"][place]) for place in PLACES if place in job["runs"]]
    return table(f"The runs of {name}", head, rows)


def _run_row(place: str, run: RunRow) -> list[Cell]:
    label = {"one": "one node", "all": "all nodes"}[place]
    if run["error"]:
        return [Cell(label), Cell(f"failed: {run['error']}", "bad"), *[Cell(NONE)] * 7]
    return [
        Cell(label),
        Cell(", ".join(run["nodes"])),
        Cell(run["device"] or NONE),
        Cell(run["backend"] or NONE),
        num(_whole(run["steps"])),
        num(_whole(run["global_batch"])),
        num(duration(run["seconds"])),
        num(significant(run["loss_first"])),
        num(significant(run["loss_last"])),
    ]


def _replicas(report: ReportData) -> str:
    rows = []
    for name, job in report["train"].items():
        run = job["runs"].get("all")
        if run is None or run["error"]:
            continue
        hashes = run["parameters_sha256"]
        first = next(iter(hashes.values()))
        rows += [
            [
                Cell(name),
                Cell(node),
                Cell(digest, "code"),
                Cell("same", "good") if digest == first else Cell("DIFFERENT", "bad"),
            ]
            for node, digest in hashes.items()
        ]
    if not rows:
        return ""
    return section(
        "replicas",
        "Replicas",
        paragraph(
            "After the last step each node hashed all its parameters. Equal hashes mean that every bit of "
            "the model is the same everywhere."
        ),
        table(
            "SHA-256 of all parameters",
            [Cell("Job"), Cell("node"), Cell("SHA-256"), Cell("compared with the first")],
            rows,
        ),
    )


def _environment(report: ReportData) -> str:
    environment = dict(report["environment"])
    commands = environment.pop("commands", [])
    rows = [[Cell(key), Cell(value, "code")] for key, value in _flat(environment)]
    listed = "\n".join(str(command) for command in commands)
    return section(
        "environment",
        "Versions and commands",
        (
            element("h3", "To reproduce it") + element("pre", element("code", escape(listed)), tabindex="0")
            if listed
            else ""
        ),
        table("What this was measured with", [Cell("What"), Cell("value")], rows) if rows else "",
        element("h3", "Definitions"),
        element(
            "dl",
            "".join(
                element("dt", element("code", escape(key))) + element("dd", escape(meaning))
                for key, meaning in report["definitions"].items()
            ),
            class_="definitions",
        ),
    )


def _flat(value: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested objects as rows with dotted names."""
    rows: list[tuple[str, str]] = []
    for key, inner in value.items():
        name = f"{prefix}{key}"
        if isinstance(inner, dict) and inner:
            rows += _flat(inner, f"{name}.")
        elif isinstance(inner, list):
            rows.append((name, ", ".join(str(item) for item in inner) or NONE))
        else:
            rows.append((name, NONE if inner is None else str(inner)))
    return rows


def _footer(report: ReportData) -> str:
    return element(
        "footer",
        escape(f"Espalier {report['espalier']}, {report['written_at']}. The same numbers are in report.json."),
    )


def _whole(value: int | None) -> str:
    return NONE if value is None else f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def _first_upper(content: str) -> str:
    return content[:1].upper() + content[1:]
