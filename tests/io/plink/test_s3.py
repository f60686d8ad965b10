"""Genotypes in buckets of a server with the S3 protocol."""

import boto3
import numpy as np
import pytest
from moto.server import ThreadedMotoServer

from seqloom.errors import ArgumentError, MissingObjectError, RemoteError
from seqloom.io import open_bed, to_bed

EXPECTED_GENOTYPES = np.random.default_rng(0).choice(
    np.array([0, 1, 2, -127], np.int8), (9, 50)
)
ACCESS_KEYS = {"aws_access_key_id": "id", "aws_secret_access_key": "secret"}


@pytest.fixture(scope="module")
def endpoint():
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


@pytest.fixture(scope="module")
def options(endpoint, tmp_path_factory):
    """Options for a bucket that contains a PLINK set."""
    folder = tmp_path_factory.mktemp("set")
    to_bed(folder / "x.bed", EXPECTED_GENOTYPES)
    client = boto3.client("s3", "us-west-2", endpoint_url=endpoint, **ACCESS_KEYS)
    place = {"LocationConstraint": "us-west-2"}
    client.create_bucket(Bucket="genotypes", CreateBucketConfiguration=place)
    for path in folder.iterdir():
        client.upload_file(str(path), "genotypes", f"some folder/{path.name}")
    reached = {"aws_endpoint": endpoint, "aws_region": "us-west-2", "allow_http": "true"}
    return reached | ACCESS_KEYS | {"max_retries": "0", "timeout": "5s"}


def test_a_bed_in_an_s3_bucket_is_read_correctly(options):
    with open_bed("s3://genotypes/some folder/x.bed", cloud_options=options) as bed:
        assert bed.shape == (9, 50)
        assert bed.sid[-1] == "sid50"
        found = bed.read(np.s_[[3, 1], ::7], dtype="int8", order="C")
        np.testing.assert_array_equal(found, EXPECTED_GENOTYPES[[3, 1], ::7])


def test_s3_options_may_have_the_names_of_environment_variables(options):
    loud = {name.upper(): value for name, value in options.items()}
    url = "s3://genotypes/some%20folder/x.bed"
    found = open_bed(url, cloud_options=loud).read(dtype="int8")
    np.testing.assert_array_equal(found, EXPECTED_GENOTYPES)


def test_a_missing_object_in_an_s3_bucket_is_an_error(options):
    with pytest.raises(MissingObjectError, match=r"s3://genotypes/y\.bed: not found"):
        open_bed("s3://genotypes/y.bed", cloud_options=options)


def test_a_missing_s3_bucket_is_an_error(options):
    with pytest.raises(MissingObjectError, match="not found"):
        open_bed("s3://elsewhere/x.bed", cloud_options=options)


def test_an_unresponsive_s3_server_is_an_error(options):
    unreachable = options | {"aws_endpoint": "http://127.0.0.1:9"}
    with pytest.raises(RemoteError, match="S3 error"):
        open_bed("s3://genotypes/x.bed", cloud_options=unreachable)


def test_an_s3_option_given_under_two_names_is_an_error(options):
    with pytest.raises(ArgumentError, match="aws_region"):
        open_bed("s3://genotypes/x.bed", cloud_options=options | {"region": "eu-west-1"})
