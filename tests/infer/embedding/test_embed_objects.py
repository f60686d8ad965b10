"""Tests of embedding jobs whose output is a bucket of an S3 server."""

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import boto3
import numpy as np
import pytest
from moto.server import ThreadedMotoServer

import embed_job
import seqloom as sl
from seqloom.infer.embedding._folder import ObjectFolder

ACCESS_KEYS = {"aws_access_key_id": "id", "aws_secret_access_key": "secret"}
RECORDS, SHARD = 400, 50


@pytest.fixture(scope="module")
def options():
    """The URL of a bucket on an S3 server, and the options to access the bucket."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    endpoint = "http://{}:{}".format(*server.get_host_and_port())
    client = boto3.client("s3", "us-east-1", endpoint_url=endpoint, **ACCESS_KEYS)
    client.create_bucket(Bucket="bucket")
    reached = {"aws_endpoint": endpoint, "aws_region": "us-east-1"}
    yield reached | ACCESS_KEYS | {"aws_allow_http": "true"}
    server.stop()


@pytest.fixture(scope="module")
def fasta(tmp_path_factory):
    path = tmp_path_factory.mktemp("objects") / "p.fa"
    path.write_text("".join(f">s{n}\n{'MKTAYIAKQR'[n % 7 :]}\n" for n in range(RECORDS)))
    sl.io.SequenceIndex(path)
    return path


@pytest.fixture(scope="module")
def whole(fasta):
    out = fasta.parent / "whole"
    embed_job.run(fasta, out, SHARD)
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in out.glob("*.safetensors")
    }


@pytest.fixture
def url(request):
    return f"s3://bucket/some folder/{request.node.name}"


def start(fasta, url, options, part="1/1"):
    environment = {**os.environ, **{name.upper(): it for name, it in options.items()}}
    command = [sys.executable, embed_job.__file__, fasta, url, str(SHARD), part]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def check_every_record_once(url, options, whole):
    folder = ObjectFolder(url, options)
    names = folder.names()
    shards = {name for name in names if name.endswith(".safetensors")}
    found = {name: hashlib.sha256(folder.read(name)).hexdigest() for name in shards}
    assert found == whole
    assert not [name for name in names if name.endswith(".part")]
    loaded = sl.infer.load(url, cloud_options=options)
    assert loaded.ids == [f"s{n}" for n in range(RECORDS)]


def test_a_bucket_and_a_folder_of_embeddings_are_equal(fasta, whole, url, options):
    embed_job.run(fasta, url, SHARD, cloud_options=options)
    check_every_record_once(url, options, whole)
    assert embed_job.run(fasta, url, SHARD, cloud_options=options).computed == 0
    found = sl.infer.load(url, cloud_options=options)
    expected = embed_job.expected_mean(b"MKTAYIAKQR")
    np.testing.assert_allclose(found["s0"], expected, rtol=1e-5)


@pytest.mark.parametrize("parts", [("1/2", "2/2"), ("1/1", "1/1")])
def test_two_processes_split_the_work_in_one_bucket(fasta, whole, url, options, parts):
    both = [start(fasta, url, options, part) for part in parts]
    computed = [int(it.communicate()[0].split()[0]) for it in both]
    assert sum(computed) == RECORDS // SHARD
    check_every_record_once(url, options, whole)


def test_a_killed_embedding_job_continues_in_its_bucket(fasta, whole, url, options):
    folder = ObjectFolder(url, options)
    for _ in range(3):
        with start(fasta, url, options) as process:
            before = len(folder.names())
            while len(folder.names()) < before + 2 and process.poll() is None:
                time.sleep(0.01)
            process.kill()
        assert len(folder.names()) > before
        for name in folder.names():
            if name.endswith(".done"):
                done = json.loads(folder.read(name))
                data = folder.read(done["file"])
                assert hashlib.sha256(data).hexdigest() == done["sha256"]
    embed_job.run(fasta, url, SHARD, cloud_options=options)
    check_every_record_once(url, options, whole)


def test_an_object_store_without_if_none_match_is_an_error(url, options, monkeypatch):
    monkeypatch.setattr(ObjectFolder, "put", lambda *_: True)
    folder = ObjectFolder(url, options)
    with pytest.raises(sl.errors.RemoteError, match="supports If-None-Match"):
        folder.create("x", b"")


def test_the_error_for_a_missing_bucket_names_it(fasta, options):
    with pytest.raises(sl.errors.RemoteError, match="s3://elsewhere/e"):
        embed_job.run(fasta, "s3://elsewhere/e", SHARD, cloud_options=options)


def test_cloud_options_without_a_url_are_an_error(fasta, tmp_path):
    with pytest.raises(sl.errors.ArgumentError, match="are for a URL"):
        embed_job.run(fasta, tmp_path / "e", SHARD, cloud_options={"timeout": "1s"})
    assert not Path(tmp_path / "e").exists()
