# SPDX-License-Identifier: MIT
"""scale.py: the simulation against closed forms, and docs/scale.md against what it prints."""
import argparse
import importlib
import json
import pathlib
import sys
import xml.etree.ElementTree

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "python"))
scale = importlib.import_module("scale")


def line(*seconds):
    return [scale.Visit(number, time) for number, time in enumerate(seconds)]


def test_a_balanced_pipeline_without_links():
    began, ended = scale.simulate(line(*[0.5] * 6), 40, 40)
    assert ended == pytest.approx([(number + 6) * 0.5 for number in range(40)])
    rate, latency = scale.rates(line(*[0.5] * 6), 100)
    assert rate == pytest.approx(2) and latency == pytest.approx(8 * 0.5)  # six in the stations, and two that wait


def test_few_microbatches_under_way():
    _, ended = scale.simulate(line(*[0.5] * 8), 64, 2)
    assert (ended[63] - ended[1]) / 62 == pytest.approx(8 * 0.5 / 2)
    began, ended = scale.simulate(line(0.1, 0.7, 0.3), 20, 1)
    assert [end - begin for begin, end in zip(began, ended, strict=True)] == pytest.approx([1.1] * 20)


def test_the_slowest_station_decides():
    for slow in range(5):
        times = [0.2] * 5
        times[slow] = 0.9
        assert scale.rates(line(*times), 200)[0] == pytest.approx(1 / 0.9)
    # A station that is visited twice counts twice.
    visits = [scale.Visit("a", 0.2), scale.Visit("b", 0.3), scale.Visit("a", 0.2)]
    assert scale.rates(visits, 2000)[0] == pytest.approx(1 / 0.4, rel=0.01)


def test_latency_of_a_network_costs_no_throughput():
    visits = [scale.Visit(0, 0.5), scale.Visit("network", 0.1, after=7.0), scale.Visit(1, 0.5)]
    _, ended = scale.simulate(visits, 30, 30)
    assert ended == pytest.approx([8.1 + 0.5 * number for number in range(30)])
    assert scale.rates(visits, 100)[0] == pytest.approx(2)


def test_times_that_vary_keep_their_mean():
    began, ended = scale.simulate([scale.Visit("network", 0.2, varies=0.3)], 20000, 1)
    assert ended[-1] / 20000 == pytest.approx(0.2, rel=0.02)
    deviation = (sum((end - begin - 0.2) ** 2 for begin, end in zip(began, ended, strict=True)) / 20000) ** 0.5
    assert deviation == pytest.approx(0.06, rel=0.05)


def options(**others):
    return argparse.Namespace(**{"blocks": 96, "chips": 4, "latency": 20e-6, "count": 400} | others)


def test_a_pipeline_that_its_links_limit():
    inputs = scale.Inputs(1024, 128, 384, 6400, chip_seconds=1e-4, host_seconds=0, message_seconds=0, bytes_a_second=1e12, varies=0)
    assert scale.least_chips(inputs, 96) == 6
    visits, stages = scale.pipeline(inputs, inputs.chip_seconds, 1, options(), 100)
    assert stages == 96 and scale.rates(visits, 400)[0] == pytest.approx(1e9 / (8 * 128 * 1024 * 4))
    visits, stages = scale.pipeline(inputs, inputs.chip_seconds, 1000, options(), 4)
    assert stages == 16 and scale.rates(visits, 400)[0] == pytest.approx(1 / 6e-4)


def test_the_page_has_what_the_simulation_prints(tmp_path):
    inputs = scale.Inputs(**json.loads((TOP / "docs/scale.json").read_text()))
    rows = scale.table(inputs, options())
    assert scale.markdown(inputs, rows) in (TOP / "docs/scale.md").read_text(), "docs/scale.md has another table: see python/scale.py simulate"
    scale.draw(tmp_path / "scale.svg", rows)
    assert (tmp_path / "scale.svg").read_text() == (TOP / "docs/scale.svg").read_text()
    xml.etree.ElementTree.parse(tmp_path / "scale.svg")
