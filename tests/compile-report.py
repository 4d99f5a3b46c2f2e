#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compile-report.py SIDRA_COMPILE SIDRA_RUN: the reports of sidra-compile. The trace of a run on an embedded chip says what each call takes; the page
is parsed as XML and as HTML, and its pictures are SVG that refers to nothing outside."""
import html.parser
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import numpy as np
import onnx_text
from onnx_text import info, node, tensor

HOSTILE = "</title></svg><script>alert('1')</script>&amp; \"x\" ]]> \u0007 \u2603"
SHOWN = HOSTILE.replace("\u0007", "\ufffd")  # XML has no place for control characters
SVG = "{http://www.w3.org/2000/svg}"
CLOSED = {"meta"}  # elements of HTML without an end
BATCH = ("--dim", "batch=4")


def check(holds, what):
    if not holds:
        sys.exit(f"compile-report: {what}")


def run(*command, status=0, **environment):
    done = subprocess.run([str(part) for part in command], env={**os.environ, "SIDRA_DEVICE": "embedded", "SIDRA_QUIET": "1", **environment},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    check(done.returncode == status, f"{' '.join(map(str, command))}: exit status {done.returncode} instead of {status}: {done.stdout}")
    return done.stdout


def make_network(path):
    """Two layers, a softmax between them that stays a call of its own, and names that no page should take as its own text."""
    random = np.random.default_rng(1)
    weights = [random.standard_normal(shape, np.float32) / 8 for shape in ((300, 64), (64, 10))]
    onnx_text.save(path, info("input", "x", ("batch", 300)) + info("output", "y", ("batch", 10)) + tensor(HOSTILE, weights[0]) + tensor("second", weights[1])
                   + node("MatMul", ["x", HOSTILE], "p", "first product") + node("Softmax", ["p"], "s", HOSTILE, axis=0)
                   + node("MatMul", ["s", "second"], "y", "second product"))


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.open, self.text = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in CLOSED:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        check(self.open and self.open.pop() == tag, f"the page closes <{tag}>, which is not open")

    def handle_data(self, data):
        self.text.append(data)


def rows_of(report):
    return [row for chip in report["chips"] for variant in chip["variants"] for row in variant["rows"]]


def check_page(path, report, pictures):
    text, rows = path.read_text(), rows_of(report)
    page = Page()
    page.feed(text)
    page.close()
    check(not page.open, f"the page does not close {page.open}")
    check("script" not in {tag for tag, _ in page.tags}, "a name became a script")
    for tag, attributes in page.tags:
        check(not {"src", "srcset", "data"} & attributes.keys() and all(attributes[key].startswith("#") for key in attributes if key.endswith("href")),
              f"<{tag}> refers to another file")
        check(not any(key.startswith("on") for key in attributes), f"<{tag}> has a script")
    check(not re.search(r"url\((?!#)|@import", text), "a style refers to another file")
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    check(len(ids) == len(set(ids)), f"two elements have one id: {sorted(ids)}")
    check("prefers-color-scheme: dark" in text, "the page has no dark colours")
    root = xml.etree.ElementTree.fromstring(text)
    check(len(list(root.iter(SVG + "svg"))) == pictures, f"the page has {len(list(root.iter(SVG + 'svg')))} pictures, not {pictures}")
    for picture in root.iter(SVG + "svg"):
        width, height = map(float, picture.get("viewBox").split()[2:])
        for rectangle in picture.iter(SVG + "rect"):
            x, y, w, h = (float(rectangle.get(key, 0)) for key in ("x", "y", "width", "height"))
            check(min(x, y, w, h) >= 0 and x + w <= width + 0.01 and y + h <= height + 0.01, f"a rectangle leaves the picture {picture[0].text}")
        for one in picture.iter(SVG + "text"):
            check(0 <= float(one.get("x", 0)) <= width and 0 <= float(one.get("y", 0)) <= height, f"'{one.text}' leaves the picture {picture[0].text}")
    names = [row[0].text for table in root.iter("table") for row in table.iter("tr") if row[0].tag == "td"]
    check(SHOWN in names and "second" in names, f"the names in tables are {names}")
    check([name for name in names if name in {row["name"] for row in rows}] == [row["name"] for row in rows], "the table has other rows than the JSON")


def check_sums(report, trace, chip=0, variant=0):
    """trace: of a run of the variant on the chip."""
    chip = report["chips"][chip]
    run = chip["variants"][variant]
    rows = run["rows"]
    for key in ("time_ps", "energy_pj"):
        check(sum(row[key] for row in rows) == run[key], f"the rows have {sum(row[key] for row in rows)} {key}, the run {run[key]}")
    check(all(row["time_ps"] == row["crossbar_ps"] + row["compute_ps"] + row["packet_ps"] for row in rows), "the parts of a row are not its time")
    check(sum(row["crossbars"] for row in rows) == chip["crossbars"]["taken"], "the rows have other crossbars than the file")
    check(sum(row["calls"] for row in rows) == run["calls"], "the rows have other calls than the file")
    # The other opinion: what the chip says of each packet of the run.
    packets = [event["args"] for line in trace.read_text().splitlines() if '"in_call"' in line for event in [json.loads(line.rstrip(","))]]
    # Programming is graphs, too; the run is the last one.
    packets = [packet for packet in packets if packet["sequence"] == max(packet["sequence"] for packet in packets)]
    check(len(packets) == run["calls"], f"the trace has {len(packets)} calls, the report {run['calls']}")
    calls = [row for row in rows if row["kind"] != "start"]
    for key, of_packet in (("time_ps", "device_ps"), ("energy_pj", "energy_pj")):
        check(sorted(row[key] for row in calls) == sorted(packet[of_packet] for packet in packets), f"{key} of the rows is not that of the trace")
    # One packet starts the graph: four cycles, 20 pJ. Between chips there are copies, too.
    starts = [(row["time_ps"], row["energy_pj"]) for row in rows if row["kind"] == "start"]
    check(starts == [(4000, 20)] if len(report["chips"]) == 1 else len(starts) == 1 and starts[0] > (4000, 20), f"the start is {starts}")


def check_accuracy(report):
    layers = [row for row in rows_of(report) if row["kind"] == "layer"]
    check([(row["name"], row["matrix"], row["copies"]) for row in layers] == [(SHOWN, {"k": 300, "n": 64}, 1), ("second", {"k": 64, "n": 10}, 1)],
          f"the layers are {layers}")
    # 300 x 64 weights of two cells on two crossbars of 256 x 256.
    check(layers[0]["crossbars"] == 2 and math.isclose(layers[0]["utilisation"], 300 * 64 * 2 / (2 * 256 * 256), rel_tol=1e-5), f"{layers[0]}")
    for row in layers:
        ratios = row["accuracy"]
        check(row["input_bits"] == 8 and 25 < ratios["fast_db"] < 80, f"{row['name']} has {ratios['fast_db']} dB at level fast")
        check(5 < ratios["accurate_db"] < ratios["fast_db"], f"{row['name']} has {ratios['accurate_db']} dB at level accurate")
        check(0 <= ratios["clipped"] < ratios["inputs"] / 20, f"{row['name']} has clipped {ratios['clipped']} of {ratios['inputs']}")
    check(layers[0]["accuracy"]["inputs"] == 4 * 4 * 300, "the accuracy is not of four runs")
    # The last layer's results are the output, whose ratios the effects measure with files of their own.
    for key in ("fast_db", "accurate_db"):
        check(math.isclose(layers[-1]["accuracy"][key], report["effects"][0][key], abs_tol=0.1), f"{key} of the last layer is not that of the output")


def main():
    compiler, runner = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        make_network(folder / "network.onnx")
        samples = np.random.default_rng(2).standard_normal((32, 300), np.float32)
        np.save(folder / "samples.npy", samples)
        trace = folder / "trace.json"

        def compile(name, *options):
            run(compiler, folder / "network.onnx", "-o", folder / "network.sidra", "--report", folder / name, *(options or BATCH))
            return folder / name

        def traced(shape, **environment):
            np.save(folder / "input.npy", samples[:shape])
            run(runner, folder / "network.sidra", folder / "input.npy", "-o", folder / "output.npy", SIDRA_TRACE=str(trace), **environment)

        plain = json.loads(compile("plain.json").read_text())
        check(plain["schema"] == "sidra-compile-report/2" and not plain["from_samples"] and plain["effects"] == [], f"without samples: {plain}")
        check(all(row["accuracy"] is None for row in rows_of(plain)), "there is an accuracy without samples")
        traced(4)
        check_sums(plain, trace)
        check_page(compile("plain.html"), plain, 6)
        before = (folder / "network.sidra").read_bytes()
        run(compiler, folder / "network.onnx", "-o", folder / "network.sidra", "--no-cache", *BATCH)
        check((folder / "network.sidra").read_bytes() == before, "a report changes the file")

        calibrated = (*BATCH, "--calibrate", folder / "samples.npy")
        report = json.loads(compile("samples.json", *calibrated).read_text())
        check(report["from_samples"], "the run had no samples")
        traced(4)
        check_sums(report, trace)
        check_accuracy(report)
        time = report["chips"][0]["variants"][0]["time_ps"]
        check(len(report["effects"]) == 12 and math.isclose(report["effects"][0]["time_s"] * 1e12, time, rel_tol=1e-4),
              f"the effects are {report['effects']}")
        check_page(compile("samples.html", *calibrated), report, 7)
        before = (folder / "network.sidra").read_bytes()
        run(compiler, folder / "network.onnx", "-o", folder / "network.sidra", "--no-cache", *calibrated)
        check((folder / "network.sidra").read_bytes() == before, "a report with samples changes the file")

        twice = json.loads(compile("copies.json", *BATCH, "--copies", "2").read_text())
        layers = [(row["copies"], row["crossbars"], row["products"]) for row in rows_of(twice) if row["kind"] == "layer"]
        check(layers == [(2, 4, 8), (2, 2, 8)], f"two copies are {layers}")

        several = ("--dim", "batch=4,1,9", "--calibrate", folder / "samples.npy")
        report = json.loads(compile("variants.json", *several).read_text())
        variants = report["chips"][0]["variants"]
        check([variant["inputs"] for variant in variants] == [[{"name": "x", "type": "f32", "shape": [rows, 300]}] for rows in (4, 1, 9)], f"{variants}")
        for number, rows in enumerate((4, 1, 9)):
            traced(rows)
            check_sums(report, trace, variant=number)
            layers = [row for row in variants[number]["rows"] if row["kind"] == "layer"]
            check([row["products"] for row in layers] == [rows, rows] and all((row["accuracy"] is None) == (number > 0) for row in layers), f"{layers}")
        check_page(compile("variants.html", *several), report, 1 + 3 * 2 + 3 * 3 + 1)

        chips = (*BATCH, "--chips", "2", "--calibrate", folder / "samples.npy")
        report = json.loads(compile("chips.json", *chips).read_text())
        check(len(report["chips"]) == 2 and report["effects"] == [], f"a report about {len(report['chips'])} chips, not 2")
        traced(4, SIDRA_DEVICE="embedded:0-1")
        for chip, path in enumerate((trace, trace.with_name(trace.name + ".1"))):
            check_sums(report, path, chip)
        layers = [(row["name"], row["accuracy"] is not None) for row in rows_of(report) if row["kind"] == "layer"]
        check(layers == [(SHOWN, True), ("second", True)], f"the layers of two chips are {layers}")
        check_page(compile("chips.html", *chips), report, 2 * (1 + 2 + 4))
        check(not {"chip 0", "chip 1"} - set(re.findall(r"chip \d", (folder / "chips.html").read_text())), "the page names no chips")

        for shape in ((), (0, 3)):
            onnx_text.save(folder / "small.onnx", info("input", "x", shape) + info("output", "y", shape) + node("Neg", ["x"], "y", "negative"))
            run(compiler, folder / "small.onnx", "-o", folder / "small.sidra", "--report", folder / "small.json")
            rows = rows_of(json.loads((folder / "small.json").read_text()))
            check([row["name"] for row in rows if row["kind"] != "start"] == ([] if 0 in shape else ["negative"]), f"an input of shape {shape}: {rows}")

        (folder / "network.sidra").unlink()
        passes = ("--passes", "builtin.module(cse)")
        check("excludes" in run(compiler, folder / "network.onnx", "-o", folder / "x", "--report", folder / "x.html", *passes, status=2), "a report of passes")
        said = run(compiler, folder / "network.onnx", "-o", folder / "network.sidra", "--report", folder / "missing/x.html", *BATCH, status=1)
        check("missing" in said and not (folder / "network.sidra").exists(), f"a report in no folder: {said}")


main()
