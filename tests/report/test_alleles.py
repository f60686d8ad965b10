"""The picture of two alleles."""

import re
from dataclasses import replace

import pytest

from seqloom.errors import ShapeError
from seqloom.report import AllelePair
from seqloom.report._alleles import draw_alleles

PAIR = AllelePair(
    title="a",
    captions=("reference", "alternative"),
    letters=("ACG", "A-G"),
    values=([1, 2, -1], [0, 0, 0.5]),
    positions=(9, 10, 11),
)


def test_a_band_marks_the_columns_that_differ():
    body = draw_alleles(
        replace(
            PAIR,
            letters=("ACGT", "AG-T"),
            values=([0] * 4, [0] * 4),
            positions=(1, 2, 3, 4),
        )
    ).body
    lefts = [float(it) for it in re.findall(r'class="band c4" x="([\d.]+)"', body)]
    assert lefts[1] - lefts[0] == 13
    assert len(lefts) == 2


def test_the_height_of_a_base_is_proportional_to_its_value():
    body = draw_alleles(PAIR).body
    heights = [float(it) for it in re.findall(r"scale\(1 ([\d.]+)\)", body)]
    assert heights == pytest.approx([heights[0] * it for it in (1, 2, 1, 0.5)], rel=0.01)


def test_a_gap_has_a_dash_and_no_bar():
    body = draw_alleles(replace(PAIR, has_bars=True)).body
    assert body.count('class="small bars') == 5
    assert body.count(">\N{EN DASH}<") == 1


def test_every_tenth_position_has_a_label():
    body = draw_alleles(replace(PAIR, positions=(9, 10, None))).body
    assert ">10<" in body
    assert ">9<" not in body


def test_sequences_of_two_lengths_are_an_error():
    with pytest.raises(ShapeError, match=r"must have one length, got \[2, 3\]"):
        replace(PAIR, positions=(1, 2))
