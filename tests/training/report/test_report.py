"""What the report says: keys that others read, derived numbers, gaps, and a page that is safe to open."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from training.report.html_report import html_report
from training.report.json_report import ideal_efficiency
from training.report.rack_svg import rack_svg
from training.report.text_summary import summary_lines

Espalier = Callable[..., tuple[int, str, str]]
SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """The elements, ids and text of a page; complains where elements are not nested."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)


def test_keys_that_others_read(raw: Any) -> None:
    report = raw.report()
    assert report["site"] == {"hosts": 4, "failed": 0, "seconds": 93.1, "second_run_changed": 0}
    cable = report["fabric"]["cables"][0]
    assert {key: cable[key] for key in ("a", "b", "gbit_s_ab", "gbit_s_ba", "rtt_ms")} == {
        "a": "mac1",
        "b": "mac2",
        "gbit_s_ab": 21.4,
        "gbit_s_ba": 20.9,
        "rtt_ms": 0.061,
    }
    assert [row["bytes"] for row in report["allreduce"]] == [4**power for power in range(6, 14)]
    assert {"bytes", "seconds", "busbw_gb_s"} <= set(report["allreduce"][0])
    digits, gpt = report["train"]["digits"], report["train"]["gpt"]
    assert (digits["accuracy_one"], digits["accuracy_all"]) == (0.9861, 0.9889)
    assert (digits["samples_s_one"], digits["samples_s_all"]) == (5120.0, 4630.0)
    assert digits["replicas_identical"] is True and gpt["replicas_identical"] is True
    assert (gpt["tokens_s_one"], gpt["tokens_s_all"]) == (402.0 * 64, 371.0 * 64)
    assert gpt["loss_first"] == 5.57
    assert gpt["loss_last"] == raw.files["train/gpt/all/result.json"]["loss_last"]
    assert math.isclose(digits["efficiency"], 4630 / (3 * 5120))
    assert math.isclose(gpt["efficiency"], 371 / (3 * 402))
    assert report["environment"] == raw.files["environment.json"]


@pytest.mark.parametrize(
    ("cores", "ranks", "threads", "expected"),
    [
        (2, 3, 2, 1 / 3),  # One rank has all cores: three cannot be faster.
        (4, 2, 2, 1.0),  # Enough for both.
        (2, 3, 1, 2 / 3),
        (2, 2, 8, 1 / 2),  # Threads beyond the cores are no help.
        (16, 3, 1, 1.0),
    ],
)
def test_the_most_that_shared_cores_allow(cores: int, ranks: int, threads: int, expected: float) -> None:
    assert math.isclose(ideal_efficiency(cores, ranks, threads), expected)


def test_shared_cores_are_named_with_the_limit(raw: Any) -> None:
    page = Page(html_report(raw.report()))
    assert "All 3 ranks share the 2 cores of one machine" in page.text
    assert "efficiency cannot exceed 33\u202f%" in page.text


def test_a_real_rack_has_no_such_note(raw: Any) -> None:
    del raw.files["environment.json"]["shared_cores"]
    report = raw.report()
    assert report["train"]["digits"]["efficiency_ideal"] is None
    assert "of one machine. " not in html_report(report)


def test_efficiency_that_cannot_be_is_doubted(raw: Any) -> None:
    raw.files["train/gpt/one/result.json"]["samples_s"] = 100.0
    report = raw.report()
    doubt = "gpt: efficiency 124\u202f% is more than the 33\u202f% that is possible."
    assert doubt in Page(html_report(report)).text
    assert summary_lines(report)[-1].startswith("DOUBTFUL")
    assert "digits: efficiency" not in html_report(report)


def test_this_machine_only(raw: Any) -> None:
    report = raw.without_rack().report()
    assert report["site"] == {"hosts": None, "failed": None, "seconds": None, "second_run_changed": None}
    assert report["fabric"] == {"cabling": None, "nodes": [], "cables": []}
    assert report["environment"]["commands"] == ["espalier train digits", "espalier train gpt"]
    assert report["environment"]["torch"] == "2.13.0"
    page = Page(html_report(report))
    assert "This machine only: 3 ranks" in page.text
    assert ">site.yml</dt>" not in html_report(report)
    assert "this machine only" in summary_lines(report)[0]


def test_what_failed_has_its_reason_and_no_number(raw: Any) -> None:
    raw.files["cables.json"][2].update(gbit_s_ab=None, gbit_s_ba=None, rtt_ms=None, error="no route to host")
    del raw.files["cables.json"][1]
    raw.files["allreduce.json"] = {
        "backend": None,
        "world_size": 3,
        "results": [],
        "error": "rank 2 was killed",
    }
    raw.files["train/gpt/all/result.json"] = {"job": "gpt", "error": "mac3 did not answer"}
    report = raw.report()
    assert report["gaps"] == [
        "cable mac3:1 to mac1:2: no route to host",
        "cable mac2:1 to mac3:2: was not measured",
        "all-reduce: rank 2 was killed",
        "gpt on all: mac3 did not answer",
    ]
    gpt = report["train"]["gpt"]
    assert gpt["efficiency"] is None and gpt["replicas_identical"] is None
    assert gpt["tokens_s_one"] == 402.0 * 64
    page = Page(html_report(report))
    for gap in report["gaps"]:
        assert gap in page.text
    assert "bit for bit" not in page.text
    assert summary_lines(report)[-1] == "MISSING     cable mac3:1 to mac1:2: no route to host (and 3 more)"


def test_a_job_that_was_not_trained(raw: Any) -> None:
    for place in ("one", "all"):
        del raw.files[f"train/gpt/{place}/result.json"]
    report = raw.report()
    assert report["train"]["gpt"]["loss_last"] is None
    assert report["gaps"] == ["gpt: was not trained"]
    assert Page(html_report(report)).open == []


def test_replicas_that_differ_are_the_headline(raw: Any) -> None:
    result = raw.files["train/gpt/all/result.json"]
    result["parameters_sha256"]["mac2"] = "0" * 64
    result["replicas_identical"] = False
    report = raw.report()
    page = Page(html_report(report))
    assert "The replicas differ: do not trust this training" in page.text
    assert page.text.count("DIFFERENT") == 1
    assert "gpt DIFFERENT" in summary_lines(report)[8]


def test_summary_has_ten_lines(raw: Any) -> None:
    assert len(summary_lines(raw.report())) == 10
    assert len(summary_lines(raw.without_rack().report())) == 10


def test_page_needs_nothing_else_and_is_accessible(raw: Any) -> None:
    page = Page(html_report(raw.report()))
    tags = [tag for tag, _ in page.tags]
    assert not {"script", "link", "img", "iframe", "object"} & set(tags)
    assert not [attributes for _, attributes in page.tags if {"src", "href"} & set(attributes)]
    assert "url(" not in html_report(raw.report()) and "@import" not in html_report(raw.report())
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in page.tags:
        if tag == "th":
            assert attributes["scope"] in ("col", "row")
        if tag == "svg":
            assert attributes["role"] == "img"
            assert set((attributes["aria-labelledby"] or "").split()) <= set(ids)
        if tag == "section":
            assert attributes["aria-labelledby"] in ids


HOSTILE = '"><script>alert(1)</script>\x01\u202e&amp;'


def test_hostile_names_stay_text(raw: Any) -> None:
    content = json.dumps(raw.files).replace('"mac3"', json.dumps(HOSTILE))
    raw.files = json.loads(content)
    raw.files["rack.json"]["nodes"][1]["chip"] = "</style><img src=x onerror=alert(1)>"
    raw.files["cables.json"][0].update(gbit_s_ab=None, error="</title><b>x</b>")
    raw.files["environment.json"]["<i>key"] = {"<u>": ["</pre><script>"]}
    raw.files["environment.json"]["commands"] = ["</code><script>"]
    report = raw.report()
    page = Page(html_report(report))
    assert not {"script", "img", "b", "i", "u"} & {tag for tag, _ in page.tags}
    assert "</code><script>" in page.text
    drawing = ElementTree.fromstring(rack_svg(report))
    assert not drawing.findall(f".//{SVG}script")
    assert all(line.isprintable() for line in summary_lines(report))


def test_drawing_shows_every_node_and_both_directions(raw: Any) -> None:
    drawing = ElementTree.fromstring(rack_svg(raw.report()))
    words = [element.text for element in drawing.iter(f"{SVG}text")]
    for name in ("head", "mac1", "mac2", "mac3", "M4 Max \u00b7 Mac16,9", "10.77.0.3"):
        assert name in words
    # mac2 is at the right of mac1, so that what mac1 sends (21.4) flows to the right.
    assert "\u2190 20.9\u200321.4 \u2192" in words
    assert "Gbit/s \u00b7 0.061 ms" in words
    classes = [element.get("class") for element in drawing.iter(f"{SVG}path")]
    # One in the legend, one for the cable.
    assert [classes.count(f"rk-wire rk-s{step}") for step in (1, 2, 3, 4, 5)] == [1, 2, 2, 2, 1]


def test_failed_cable_is_dashed_with_its_error(raw: Any) -> None:
    raw.files["cables.json"][0].update(gbit_s_ab=None, error="no carrier")
    drawing = ElementTree.fromstring(rack_svg(raw.report()))
    words = [element.text for element in drawing.iter(f"{SVG}text")]
    assert "no carrier" in words
    assert [element.get("class") for element in drawing.iter(f"{SVG}path")].count("rk-wire rk-fail") == 2


def test_command_writes_and_reads_back(raw: Any, espalier: Espalier, tmp_path: Path) -> None:
    output, drawing = tmp_path / "out", tmp_path / "docs" / "rack.svg"
    status, out, _ = espalier("report", "--input", raw.write(), "--output", output, "--svg", drawing, "--summary")
    assert status == 0
    assert len(out.splitlines()) == 10
    assert sorted(path.name for path in output.iterdir()) == ["report.html", "report.json"]
    again = tmp_path / "again.svg"
    status, summary, _ = espalier("report", "--summary", output / "report.json", "--svg", again)
    assert (status, summary) == (0, out)
    assert again.read_text() == drawing.read_text()


@pytest.mark.parametrize(("arguments", "message"), [([], "--input is missing"), (["--input", "."], "nothing to do")])
def test_command_without_what_it_needs(espalier: Espalier, arguments: list[str], message: str) -> None:
    status, _, err = espalier("report", *arguments)
    assert status == 2
    assert message in err


def test_output_that_cannot_be_written(raw: Any, espalier: Espalier, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("kept")
    status, _, err = espalier("report", "--input", raw.write(), "--output", blocked)
    assert status == 2
    assert "cannot be written" in err
    assert blocked.read_text() == "kept"
