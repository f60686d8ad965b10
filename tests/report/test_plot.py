"""Tests of the SVG and HTML of plots."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from seqloom.errors import ArgumentError, ShapeError
from seqloom.report import (
    Curve,
    Plot,
    Report,
    Scatter,
    Section,
    Trace,
    make_page,
    write_plots,
)
from seqloom.report._figure import show_figure
from seqloom.report._plot import draw_plot


def page(**parts):
    return make_page(Report(title="t", **parts)).decode()


def show_plot(plot):
    return show_figure(draw_plot(plot))


def svg_of(plot):
    return ET.fromstring(re.search(r"<svg.*</svg>", show_plot(plot))[0])  # noqa: S314 - written by seqloom


def ticks(plot):
    return [it.text for it in svg_of(plot).iter("text") if "transform" not in it.attrib]


def test_a_plot_is_valid_svg_with_a_title_and_a_legend():
    plot = Plot("loss <1>", [Trace("a&b", [1, 2], [0.5, 0.25])], x_label="epoch")
    assert svg_of(plot).attrib["aria-label"] == "loss <1>"
    assert "a&amp;b</li>" in show_plot(plot)


def test_the_points_of_a_line_match_the_ticks():
    # In SVG units, the plot is 340 by 256. With tick labels of one digit, the
    # horizontal axis extends from 33 to 328, and the vertical axis from 214 up to 8.
    plot = Plot("t", [Trace("", [0, 5, 10], [0, 1, 4])], x_range=(0, 10), y_range=(0, 4))
    (line,) = (it for it in svg_of(plot).iter("path") if it.attrib["class"] == "line c0")
    assert line.attrib["d"] == "M33 214L180.5 162.5L328 8"


def test_ticks_of_a_plot_are_round_numbers():
    plot = Plot("t", [Trace("", [0, 37], [0.013, 0.094], shape="points")])
    assert ticks(plot)[:5] == ["0.02", "0.04", "0.06", "0.08", "0.1"]
    assert ticks(plot)[5:10] == ["0", "10", "20", "30", "40"]


def test_the_ticks_of_epochs_are_integers():
    plot = Plot("t", [Trace("", [1, 2], [0, 1])], x_scale="whole")
    assert ticks(plot)[-3:-1] == ["1", "2"]


def test_a_missing_value_leaves_a_gap_in_a_plotted_line():
    plot = Plot("t", [Trace("", [0, 1, 2, 3], [0, 1, np.nan, 1])])
    (line,) = (it for it in svg_of(plot).iter("path") if it.attrib["class"] == "line c0")
    assert line.attrib["d"].count("M") == 2


def test_a_million_points_do_not_make_a_large_page():
    x = np.linspace(0, 1, 1_000_000)
    assert len(show_plot(Plot("t", [Trace("", x, np.sin(9 * x))]))) < 100_000


def test_the_numbers_of_positions_and_values_must_match():
    with pytest.raises(ShapeError, match="2 values of bars need 3 positions in x, got 2"):
        Trace("counts", [0, 1], [3, 4], shape="bars")


def test_a_section_shows_its_table_and_collapses_its_details():
    plot = Plot("p", [Trace("a line", [0, 1], [0, 1])])
    shown = page(
        sections=(Section(title="A <title>", note="How & why.", drawings=(plot,)),)
    )
    for words in ("<h2>A &lt;title&gt;</h2>", "How &amp; why.", "a line</li>"):
        assert words in shown


def test_the_learning_curve_has_a_line_for_each_set_and_marks_the_best_epoch():
    curve = Curve("loss", {"training": [0.9, 0.5, 0.4], "validation": [0.8, 0.6, 0.7]})
    shown = page(curves=(curve,), best_epoch=2)
    assert shown.count('<path class="line c') == 2
    assert "epoch 2 (best)</li>" in shown


def test_a_guide_line_with_infinite_ends_spans_the_axis():
    guide = Trace("", [1, 1], [-np.inf, np.inf], shape="guide")
    plot = Plot("t", [guide, Trace("", [0, 2], [3, 4])])
    (line,) = (it for it in svg_of(plot).iter("path") if it.get("class") == "line guide")
    assert line.attrib["d"] == "M187.5 214L187.5 8"


def test_a_logarithmic_axis_has_powers_of_ten():
    bars = Trace("", [1, 10, 1000], [3, 4], shape="bars")
    assert ticks(Plot("t", [bars], x_scale="log"))[-5:-1] == ["1", "10", "100", "1,000"]


def test_bars_begin_at_their_lower_ends():
    bars = Trace("", [0, 1, 2], [0.5, 1], low=[0.25, 0.5], shape="bars")
    plot = Plot("t", [bars], y_range=(0, 1), y_scale="share")
    (path,) = (it for it in svg_of(plot).iter("path") if it.get("class") == "bars c0")
    # The vertical axis extends from 214 up to 8, so 0.25 is at 162.5, and 0.5 is at
    # 111.
    assert path.attrib["d"] == "M61.0 162.5V111.0H194.5V162.5ZM194.5 111.0V8.0H328.0V111.0Z"
    assert ticks(plot)[:3] == ["0 %", "20 %", "40 %"]


def test_the_name_of_a_picture_must_end_in_svg(tmp_path):
    with pytest.raises(ArgumentError, match=r"a\.png: .* name that ends in \.svg"):
        write_plots(tmp_path / "a.png", "t", [Plot("p", [Trace("", [0, 1], [0, 1])])])
    assert not list(tmp_path.iterdir())


def test_residuals_are_true_minus_predicted():
    scatter = Scatter("gc", [1.0, 2.0, 4.0], [1.5, 2.0, 2.0])
    np.testing.assert_array_equal(scatter.residuals, [-0.5, 0.0, 2.0])
    row = re.search(r"<td>gc</td>(.*?)</tr>", page(scatters=(scatter,)))[1]
    # The residuals -0.5, 0 and 2 have RMSE sqrt(4.25 / 3), mean 0.5 and SD sqrt(3.5 /
    # 3).
    shown = re.findall(r">([-\d.]+)<", row)
    assert [shown[1], *shown[3:]] == ["1.1902", "0.5000", "1.0801"]


def test_a_plot_of_many_records_shows_a_sample_and_the_page_mentions_the_size():
    values = np.linspace(0, 1, 30_000)
    shown = page(scatters=(Scatter("gc", values, values**2),))
    assert "Shown: 2,000 of 30,000 records." in shown
    assert len(shown) < 200_000


def test_a_scatter_plot_without_records_is_allowed():
    assert "True and predicted values" in page(scatters=(Scatter("gc", [], []),))
