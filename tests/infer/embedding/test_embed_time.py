"""Tests of the measured times of an embedding job, and of its report."""

import hashlib
import re
import time
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import embed_job
import seqloom as sl
from seqloom.infer.embedding import _folder, _job, _report
from seqloom.infer.embedding._report import JobTimeline
from seqloom.infer.embedding._summary import _format_rates, _format_short_number
from seqloom.infer.monitor import _clock
from seqloom.infer.monitor._clock import Clock, TimeMark
from waiting import FakeTime, wait_until


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "".join(f">s{n}\n{'MKTAYIAKQR' * (1 + n % 5)}\n" for n in range(60))
    Path("a.fa").write_text(text)


# Activities, as named by the clock, that threads currently perform.
CURRENT_ACTIVITIES: set[str] = set()


def note_waits(name):
    """Wrap a context manager of `Clock` to record while a thread is inside."""
    method = getattr(Clock, name)

    @contextmanager
    def wait(clock, *arguments):
        block = " ".join([name, *arguments])
        with method(clock, *arguments):
            CURRENT_ACTIVITIES.add(block)
            try:
                yield
            finally:
                CURRENT_ACTIVITIES.discard(block)

    return wait


@pytest.fixture
def fake(monkeypatch):
    """A clock that only the test advances."""
    clock = FakeTime()
    monkeypatch.setattr(_clock, "time", clock)
    for name in ("spending", "waiting_for_writer"):
        monkeypatch.setattr(Clock, name, note_waits(name))
    return clock


def slow_model(seconds):
    """A model whose calls take a fixed time on the fake clock."""

    def embed_tokens(batch):
        time.sleep(seconds)
        return embed_job.embed_tokens(batch)

    return embed_tokens


def embed(model=embed_job.embed_tokens, out="e", **options):
    """An embedding job of a few small batches."""
    given: dict[str, Any] = {
        "max_tokens": 200,
        "shard_size": 12,
        "identity": "table",
        **options,
    }
    return sl.infer.embed(model, "a.fa", out=out, **given)


def test_a_slow_reader_makes_an_embedding_job_input_bound(monkeypatch, fake):
    class SlowStream(sl.data.PackedStream):
        def __iter__(self):
            for batch in super().__iter__():
                wait_until(lambda: "spending input" in CURRENT_ACTIVITIES)
                fake.sleep(1)
                yield batch

    monkeypatch.setattr(_job, "PackedStream", SlowStream)
    summary = embed()
    assert summary.shares["input"] > 0.3
    assert summary.verdict.startswith("input-bound")


@pytest.mark.parametrize("shard_size", [2, 60])
def test_a_slow_writer_makes_an_embedding_job_output_bound(monkeypatch, fake, shard_size):
    create = _folder.OutputFolder.create

    def create_slowly(folder, name, data):
        if name.endswith(".safetensors"):
            wait_until(
                lambda: (
                    "waiting_for_writer" in CURRENT_ACTIVITIES
                    and not time.sleep(0.01)
                    and "waiting_for_writer" in CURRENT_ACTIVITIES
                )
            )
            fake.sleep(1)
        return create(folder, name, data)

    monkeypatch.setattr(_folder.OutputFolder, "create", create_slowly)
    summary = embed(shard_size=shard_size)
    assert summary.shares["output"] > 0.3
    assert summary.verdict.startswith("output-bound")


def test_a_slow_model_makes_an_embedding_job_device_bound(fake):
    def embed_slowly(batch):
        fake.sleep(1)
        return embed_job.embed_tokens(batch)

    summary = embed(embed_slowly)
    assert summary.shares["device"] > 0.5
    assert summary.verdict.startswith("device-bound")


def test_fractions_of_the_time_of_an_embedding_job_add_up_to_one():
    assert sum(embed().shares.values()) == pytest.approx(1, abs=0.01)


class Tags(HTMLParser):
    """Collects the tags and the text of an HTML page."""

    def __init__(self):
        super().__init__()
        self.tags, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        del attrs
        self.tags.append(tag)

    def handle_data(self, data):
        self.text += data


def read_report(folder):
    page = Tags()
    page.feed(Path(folder, "report.html").read_text("utf-8"))
    return page


def test_an_embedding_report_contains_results_and_the_bottleneck():
    summary = embed()
    page = read_report("e")
    assert "60 records of one file" in page.text
    assert summary.verdict in page.text
    assert "shard-000004.safetensors" in page.text
    assert "a.fa" in page.text


def test_an_embedding_report_escapes_markup_in_file_names():
    name = "<script>x<b>.fa"
    Path("a.fa").rename(name)
    sl.infer.embed(embed_job.embed_tokens, name, out="<i>&amp;")
    page = read_report("<i>&amp;")
    assert not {"script", "i", "b"} & set(page.tags)
    assert name in page.text
    assert "Embeddings: <i>&amp;" in page.text


def test_an_embed_call_without_work_does_not_change_the_report():
    embed()
    before = Path("e/report.html").read_bytes()
    assert embed().verdict == "idle: nothing was computed"
    assert Path("e/report.html").read_bytes() == before


def test_an_embed_call_without_work_writes_no_report():
    embed()
    Path("e/report.html").unlink()
    assert embed().computed == 0
    assert not Path("e/report.html").exists()


def test_the_report_of_a_resumed_embedding_job_names_its_shards():
    embed()
    for name in ("report.html", "complete.json", "shard-000001.done"):
        Path("e", name).unlink()
    assert embed().computed == 1
    assert "describes 1 of the 5 shards" in read_report("e").text


def test_embedding_shards_do_not_depend_on_the_report():
    def digests(folder):
        files = sorted(Path(folder).glob("shard-*.safetensors"))
        return [hashlib.sha256(it.read_bytes()).hexdigest() for it in files]

    embed(out="one")
    embed(slow_model(0.01), out="two")
    assert digests("one") == digests("two")


def test_the_report_of_a_long_embedding_job_has_a_timeline(monkeypatch):
    monkeypatch.setattr(_report, "_MIN_PLOTTED_SECONDS", 0.1)
    embed(slow_model(0.06))
    page = read_report("e")
    assert page.tags.count("svg") == 4
    assert "Use of time, speed, batch fill and memory" in page.text


def test_counts_in_the_intervals_of_a_timeline_add_up_to_the_totals():
    marks = [
        TimeMark(float(n), (0.1 * n, 0.0, 0.9 * n, 0.0), n, 100 * n, n, 1 << 20)
        for n in range(1, 600)
    ]
    course = JobTimeline.of(marks, spans=10, max_tokens=125)
    assert len(course.edges) == 11
    np.testing.assert_allclose(course.shares["input"], 0.1)
    np.testing.assert_allclose(course.shares["device"], 0.9)
    np.testing.assert_allclose(course.speed, 100)
    np.testing.assert_allclose(course.fill, 0.8)
    np.testing.assert_allclose(course.memory, 1)


def test_a_wait_longer_than_a_timeline_interval_fills_the_interval():
    marks = [
        TimeMark(0.1, (0.0,) * 4, 1, 1, 1, 0),
        TimeMark(1.0, (5.0, 0, 0, 0), 2, 2, 2, 0),
    ]
    assert JobTimeline.of(marks, spans=10, max_tokens=1).shares["input"].tolist() == [1.0]


@pytest.mark.parametrize(("width", "most"), [(200, 80), (80, 45), (50, 24)])
def test_the_text_of_the_embedding_progress_bar_fits_the_terminal(width, most):
    news = sl.infer.Progress(8_000_000, 9, 800_000, 250_000_000, 10.0, 0.998, 0.0123)
    text = _format_rates(news, width)
    assert len(text) <= most
    assert re.search(r"80,000 ?(seq)?", text)
    assert "1" in text.rsplit("wait", 1)[1]


@pytest.mark.parametrize(
    ("number", "text"), [(999, "999"), (1234, "1.2k"), (25_000_000, "25M"), (3e9, "3.0G")]
)
def test_large_numbers_are_shortened_in_progress_bars(number, text):
    assert _format_short_number(number) == text


def test_the_report_page_of_an_embedding_job_has_no_escape_sequences(tmp_path):
    (tmp_path / "two.fa").write_text(">x\nMKTA\n>y\nMK\n")

    def one_hot(batch):
        return np.eye(33, dtype=np.float32)[batch["input_ids"]]

    sl.infer.embed(one_hot, tmp_path / "two.fa", out=tmp_path / "made")
    page = (tmp_path / "made/report.html").read_text()
    assert "Use of time" in page
    assert "\\x" not in page
