"""Genotypes that are read by URL equal those of local files, with few requests."""

import asyncio
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlparse

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from genotypes import GENOTYPE_DTYPES, Specimen, indices, name_of, plink_sets, specimens
from object_server import serving
from seqloom.errors import (
    ArgumentError,
    FormatError,
    MissingExtraError,
    MissingObjectError,
    RemoteError,
)
from seqloom.io import open_bed, to_bed
from seqloom.io.plink._cloud_bed import RemoteBed
from waiting import LONGEST_WAIT_S

anywhere = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
EXPECTED_GENOTYPES = np.array([[1, 0, -127, 0], [2, 0, -127, 2], [0, 1, 2, 0]], np.int8)
# Fail immediately instead of after minutes of retries.
CLOUD_OPTIONS_WITHOUT_RETRIES = {"max_retries": "0", "timeout": "5s"}


@pytest.fixture(scope="module")
def running():
    with serving() as server:
        yield server


@pytest.fixture
def server(running):
    running.forget()
    return running


@pytest.fixture
def url(server, tmp_path):
    """The URL of a PLINK set of three individuals and four variants."""
    to_bed(
        tmp_path / "small.bed", EXPECTED_GENOTYPES, properties={"sid": ["a", "b", "c", "d"]}
    )
    urls = [server.put(tmp_path / f"small.{suffix}") for suffix in ("bim", "fam", "bed")]
    return urls[-1]


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A 12 MB .bed in which rows are variants: 40,000 individuals, 1,200 variants."""
    path = tmp_path_factory.mktemp("large") / "large.bed"
    path.write_bytes(b"\x6c\x1b\1" + np.random.default_rng(0).bytes(12_000_000))
    return path, open_bed(path, 40_000, 1_200).read(dtype="int8", order="C")


def large_bed(url, **options):
    return open_bed(url, 40_000, 1_200, **options)


def same(found, expected):
    """Return whether two arrays have equal numbers, NaN positions and dtype."""
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@settings(anywhere, max_examples=30)
@given(
    data=st.data(),
    specimen=specimens(40),
    kind=st.sampled_from(GENOTYPE_DTYPES),
    order=st.sampled_from("CF"),
    count_a1=st.booleans(),
    chunk=st.integers(1, 60),
    requests=st.integers(1, 4),
)
def test_remote_reads_of_any_index_equal_local_reads(
    server, tmp_path, data, specimen, kind, order, count_a1, chunk, requests
):
    iids, sids = specimen.values.shape
    index = data.draw(st.tuples(indices(iids), indices(sids)))
    path = specimen.write(tmp_path / "x.bed")
    options = {"iid_count": iids, "sid_count": sids, "count_A1": count_a1}
    expected = open_bed(path, **options).read(index, kind, order)
    for url in (server.put(path), path.as_uri()):
        bed = open_bed(
            url, **options, max_chunk_bytes=chunk, max_concurrent_requests=requests
        )
        found = bed.read(index, kind, order)
        same(found, expected)
        assert found.flags.c_contiguous or order == "F"
        assert found.flags.f_contiguous or order == "C"


def test_a_remote_chunk_with_gaps_between_rows_is_read_correctly(server, tmp_path):
    # The chunk of rows 0, 2 and 3 spans eight bytes, which equals the size of four
    # rows.
    values = np.random.default_rng(0).choice(np.array([0, 1, 2, -127], np.int8), (5, 5))
    url = server.put(Specimen(values, "SNP").write(tmp_path / "x.bed"))
    found = open_bed(url, 5, 5, max_chunk_bytes=8).read([0, 2, 3, 4], "int8")
    same(found, values[:, [0, 2, 3, 4]])


@pytest.mark.parametrize("bed", plink_sets(), ids=name_of)
def test_every_remote_bed_with_its_tables_reads_like_local_files(server, bed):
    for suffix in (".fam", ".bim", ".bed"):
        server.put(bed.with_suffix(suffix))
    local, remote = open_bed(bed), open_bed(server.url(bed.name))
    assert (remote.major, remote.shape) == (local.major, local.shape)
    for name, column in local.properties.items():
        np.testing.assert_array_equal(remote.property_item(name), column)
    same(remote.read(dtype="int8"), local.read(dtype="int8"))
    same(remote.read(np.s_[-1, ::7]), local.read(np.s_[-1, ::7]))


def test_read_sparse_accepts_the_url_of_a_bed(url):
    found = open_bed(url).read_sparse(dtype="int8", format="csr")
    same(found.toarray(), EXPECTED_GENOTYPES)


@pytest.mark.parametrize(("kind", "order"), [("int8", "C"), ("float32", "F")])
@pytest.mark.parametrize(
    "index",
    [np.s_[::-1, ::-1], np.s_[20_000:20_300, :], np.s_[[9, 39_999, 9], 5:1_100:3]],
    ids=str,
)
def test_a_large_remote_bed_is_read_correctly(server, large, kind, order, index):
    path, values = large
    found = large_bed(server.put(path)).read(index, kind, order)
    wanted = values[index[0]][:, index[1]]
    expected = wanted.astype(kind)
    expected[wanted == -127] = -127 if kind == "int8" else np.nan
    same(found, expected)


def test_reading_one_remote_variant_fetches_the_header_and_one_row(server, large):
    path, values = large
    bed = large_bed(server.put(path))
    same(bed.read(700, "int8"), values[:, [700]])
    assert server.sent == 3 + 10_000


def test_reading_one_remote_individual_fetches_one_byte_per_distant_row(server, tmp_path):
    rng = np.random.default_rng(1)
    values = rng.choice(np.array([0, 1, 2, -127], np.int8), (1_600_000, 6))
    bed = open_bed(
        server.put(Specimen(values, "SNP").write(tmp_path / "x.bed")), 1_600_000, 6
    )
    same(bed.read(np.s_[[7, 4], :], "int8"), values[[7, 4]])
    assert server.sent == 3 + 6


def test_adjacent_remote_bed_rows_are_fetched_with_one_request(server, large):
    path, values = large
    bed = large_bed(server.put(path))
    some = [11, 10, 14, 10, 20]
    same(bed.read(some, "int8"), values[:, some])
    assert [len(each) for _, each in server.asked] == [3, 11 * 10_000]


@pytest.mark.parametrize(("at_once", "chunk"), [(1, 65_536), (3, 100_000), (10, 7_777)])
def test_remote_reads_respect_the_limits_for_requests(server, large, at_once, chunk):
    path, values = large
    server.seconds = 0.03  # long enough that requests overlap on a busy machine
    bed = large_bed(
        server.put(path), max_concurrent_requests=at_once, max_chunk_bytes=chunk
    )
    same(bed.read(np.s_[:, :200], "int8"), values[:, :200])
    assert max(len(asked) for _, asked in server.asked) <= chunk
    assert server.most_at_once == at_once
    assert server.sent == 3 + 200 * 10_000


def test_a_remote_read_can_override_the_limits_of_open_bed(server, large):
    bed = large_bed(server.put(large[0]))
    bed.read(np.s_[:, :50], "int8", max_concurrent_requests=2, max_chunk_bytes=20_000)
    assert max(len(asked) for _, asked in server.asked) == 20_000
    assert server.most_at_once <= 2


@pytest.mark.parametrize("suffix", ["bed", "fam", "bim"])
def test_the_error_for_a_missing_remote_object_names_the_object(server, url, suffix):
    del server.objects[f"small.{suffix}"]
    with pytest.raises(MissingObjectError, match=rf"small\.{suffix}: not found"):
        open_bed(url).property_item("iid" if suffix == "fam" else "sid")


def test_a_missing_file_url_is_an_error(tmp_path):
    with pytest.raises(ValueError, match=r"x\.bed: not found"):
        open_bed((tmp_path / "x.bed").as_uri(), cloud_options={"": "abc"})


@pytest.mark.parametrize(
    "location", ["not://not_a_url", "ftp://a/b.bed", "file://elsewhere/a.bed", "://a.bed"]
)
def test_an_unknown_url_scheme_is_an_error(location):
    with pytest.raises(ArgumentError, match=r"Unable to recogni[sz]e URL"):
        open_bed(location)


@pytest.mark.parametrize(
    ("location", "options", "message"),
    [
        ("http://127.0.0.1/a.bed", {"colour": "red"}, "unknown: 'colour'"),
        ("s3://bucket/a.bed", {"aws_colour": "red"}, "'aws_colour' is not valid"),
        ("s3://bucket/a.bed", {"timeout": "soon"}, 'parse "soon" as Duration'),
        ("s3://bucket/a.bed", {"aws_timeout": "soon"}, 'parse "soon" as Duration'),
        ("s3://bucket/a.bed", {"max_retries": "-1"}, "must be an integer, got '-1'"),
        (
            "s3://bucket/a.bed",
            {"timeout": 3},
            r"cloud_options\['timeout'\] must be a string",
        ),
        ("az://container/a.bed", {}, "Account must be specified"),
    ],
)
def test_an_invalid_cloud_option_is_an_error_that_names_it(location, options, message):
    with pytest.raises(ArgumentError, match=message):
        open_bed(location, cloud_options=options)


def test_connection_options_affect_requests_to_the_server(url):
    options = {"timeout": "30s", "TIMEOUT" if os.name == "nt" else "user_agent": "me"}
    assert open_bed(url, cloud_options=options).shape == (3, 4)


def test_the_query_of_a_url_is_sent_with_every_request(server, url):
    open_bed(f"{url}?key=a%2Bb#part").read()
    assert {path.partition("?")[2] for path, _ in server.asked} == {"key=a%2Bb"}


def test_an_object_name_may_contain_any_characters(server, tmp_path):
    path = Specimen(EXPECTED_GENOTYPES, "SNP").write(tmp_path / "x.bed")
    server.put(path, "a b/100% é+.bed")
    same(
        open_bed(server.url("a%20b/100%25%20%C3%A9+.bed"), 3, 4).read(0),
        EXPECTED_GENOTYPES[:, [0]].astype("f4"),
    )


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 8])
def test_a_truncated_or_extended_remote_bed_is_an_error(server, url, size):
    server.objects["small.bed"] = (server.objects["small.bed"] * 2)[:size]
    with pytest.raises(FormatError) as error:
        open_bed(url, 3, 4).read()
    expected = "header" if size < 3 else "cut" if size < 7 else "length"
    assert error.value.kind == expected


def test_an_empty_remote_bed_is_an_error(server, url):
    server.objects["small.bed"] = b""
    with pytest.raises(ValueError, match=r"small\.bed"):
        open_bed(url, 3, 4)


@pytest.mark.parametrize("byte", [0, 1, 2])
def test_a_remote_file_with_another_header_than_a_bed_is_an_error(server, url, byte):
    content = bytearray(server.objects["small.bed"])
    content[byte] ^= 0b1000_0000
    server.objects["small.bed"] = bytes(content)
    with pytest.raises(FormatError, match=r"expected a \.bed"):
        open_bed(url, 3, 4)


def test_a_remote_bed_with_more_individuals_than_its_fam_is_an_error(url):
    with pytest.raises(FormatError, match="last byte of a row"):
        open_bed(url, 2, 4).read()


@pytest.mark.parametrize("has_tags", [True, False])
def test_a_remote_object_that_changes_between_requests_is_an_error(server, url, has_tags):
    server.has_tags = has_tags
    bed = open_bed(url, 3, 4)
    content = server.objects["small.bed"]
    server.objects["small.bed"] = content[:-1] + b"\0" * (1 if has_tags else 2)
    with pytest.raises(RemoteError, match="changed while it was in use"):
        bed.read()


def test_a_dropped_connection_is_retried(server, large):
    path, values = large
    bed = large_bed(server.put(path))
    server.dropped = 3
    same(bed.read(np.s_[:, :100], "int8"), values[:, :100])
    assert server.dropped == 0


def test_a_busy_server_is_retried(server, url):
    server.unavailable = 1
    same(open_bed(url, 3, 4).read(dtype="int8"), EXPECTED_GENOTYPES)


def test_a_server_that_stays_busy_is_an_error(server, url):
    server.unavailable = 99
    with pytest.raises(RemoteError, match=r"small\.bed: cannot be read: .* 503"):
        open_bed(url, cloud_options=CLOUD_OPTIONS_WITHOUT_RETRIES)


def test_an_unreachable_server_is_an_error():
    with pytest.raises(RemoteError, match=r"cannot be read: .*error sending request"):
        open_bed("http://127.0.0.1:9/a.bed", cloud_options=CLOUD_OPTIONS_WITHOUT_RETRIES)


def test_a_server_without_range_requests_is_an_error(server, url):
    server.has_ranges = False
    with pytest.raises(RemoteError, match="download the file"):
        open_bed(url)


def test_tables_can_be_read_from_a_server_without_range_requests(server, url, tmp_path):
    server.has_ranges = False
    bed = open_bed(tmp_path / "small.bed", bim_location=url.replace(".bed", ".bim"))
    assert bed.sid.tolist() == ["a", "b", "c", "d"]


def test_a_server_that_returns_other_bytes_than_requested_is_an_error(server, url):
    bed = open_bed(url, 3, 4)
    server.shifted = 99
    with pytest.raises(RemoteError):
        bed.read()


def test_a_remote_table_larger_than_one_request_is_read_completely(server, tmp_path):
    values = np.zeros((1, 300_000), np.int8)
    sids = [f"a_rather_long_identifier_{number}" for number in range(300_000)]
    to_bed(tmp_path / "x.bed", values, properties={"sid": sids})
    bim = server.put(tmp_path / "x.bim")
    assert len(server.objects["x.bim"]) > 8 << 20
    assert open_bed(tmp_path / "x.bed", bim_location=bim).sid.tolist() == sids


def test_a_pickled_remote_bed_reads_equal_genotypes(url):
    again = pickle.loads(pickle.dumps(open_bed(url)))  # noqa: S301 - ours
    same(again.read(dtype="int8"), EXPECTED_GENOTYPES)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_child_processes_read_a_remote_bed_of_their_parent(server, large, method):
    path, values = large
    bed = large_bed(server.put(path))
    some = [[3, 900], [1_100, 4, 4], [7]]
    with multiprocessing.get_context(method).Pool(2) as pool:
        for index, found in zip(
            some, pool.map_async(bed.read, some).get(timeout=60), strict=True
        ):
            np.testing.assert_array_equal(np.nan_to_num(found, nan=-127), values[:, index])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_that_reads_a_remote_bed_reports_errors(server, url):
    bed = open_bed(url, 3, 4, cloud_options=CLOUD_OPTIONS_WITHOUT_RETRIES)
    server.objects.clear()
    pool = multiprocessing.get_context("fork").Pool(1)
    with pool, pytest.raises(MissingObjectError, match="not found"):
        pool.apply_async(bed.read).get(timeout=60)


def test_many_threads_can_read_one_remote_bed(server, large):
    path, values = large
    bed = large_bed(server.put(path), max_chunk_bytes=30_000)
    with ThreadPoolExecutor(8) as pool:
        reads = [pool.submit(bed.read, np.s_[:, n::40], "int8") for n in range(40)]
        for number, read in enumerate(reads):
            same(read.result(), values[:, number::40])


def test_a_remote_bed_can_be_read_in_a_running_event_loop(url):
    async def read():
        return open_bed(url).read(dtype="int8")

    same(asyncio.run(read()), EXPECTED_GENOTYPES)


def test_reading_a_url_without_obstore_names_the_missing_package(url, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "obstore"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(MissingExtraError, match="pip install obstore"):
        open_bed(url)


def test_a_file_url_does_not_need_obstore(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "obstore", None)
    to_bed(tmp_path / "a b.bed", EXPECTED_GENOTYPES)
    same(open_bed((tmp_path / "a b.bed").as_uri()).read(dtype="int8"), EXPECTED_GENOTYPES)


READ_AND_WAIT_SCRIPT = """
import sys
from seqloom.io import open_bed
bed = open_bed(sys.argv[1], 40_000, 1_200)
print("ready", flush=True)
sys.stdin.readline()
bed.read()
"""


def test_ctrl_c_stops_waiting_for_a_server(server, large):
    url = server.put(large[0])
    command = [sys.executable, "-c", READ_AND_WAIT_SCRIPT, url]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1) as process:
        process.stdout.readline()
        server.seconds = 10 * LONGEST_WAIT_S  # the server does not answer
        process.stdin.write(b"\n")
        process.stdin.flush()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=LONGEST_WAIT_S)
    assert b"KeyboardInterrupt" in said


def test_an_interrupted_remote_read_sends_no_more_requests(server, large):
    bed = RemoteBed(urlparse(server.put(large[0])), {}, check=True)
    server.seconds = 0.01
    lines = bed.blocks(np.arange(1_200), 10_000, slice(0, 9_000), requests=4, chunk=9_000)
    next(lines)
    lines.close()
    time.sleep(0.1)
    asked = len(server.asked)
    time.sleep(0.1)
    assert len(server.asked) == asked < 1_000


def test_one_extra_fam_row_of_a_remote_bed_is_detected_by_a_full_read(server, tmp_path):
    values = np.random.default_rng(0).integers(0, 2, (5, 70)).astype(np.int8)
    to_bed(tmp_path / "a.bed", values)
    url = server.put(tmp_path / "a.bed")
    with pytest.warns(UserWarning, match="homozygous A1 in all 70 rows"):
        open_bed(url, iid_count=6, sid_count=70).read()
    read = open_bed(url, iid_count=6, sid_count=70, skip_format_check=True).read()
    assert read.shape == (6, 70)
