"""A request that failed is described without its address, which may have a signature in it."""

from __future__ import annotations

import os
from unittest import mock

import pytest

from svc.service.sessions.objects import bucket as bucket_module
from svc.service.sessions.objects.address import ObjectAddress
from svc.service.sessions.objects.bucket import BucketError, open_bucket
from tests.support.object_stores import BUCKET, PREFIX, s3_bucket
from tests.support.s3_server import S3Fault, S3Server, s3_server

SIGNED = "https://team.blob.core.windows.net/evidence/a?sv=2026&sig=hunter2"
GENERIC = f"Generic store error: Error performing GET {SIGNED} in 1ms - "


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("Server returned non-2xx status code: 503 Slow: <Error><Code>SlowDown</Code>", "unreachable",
         "it cannot be reached (status 503, SlowDown)"),
        ("Server returned non-2xx status code: 429 Too Many Requests: ", "unreachable",
         "it cannot be reached (status 429)"),
        ("HTTP error: error sending request", "unreachable", "it cannot be reached"),
        ("HTTP error: request or response body error", "unreachable", "it cannot be reached"),
        ("Server returned non-2xx status code: 400 Bad: <Code>AuthorizationHeaderMalformed</Code> the Credential",
         "refused", "it refused the request (status 400, AuthorizationHeaderMalformed)"),
        ("Server returned non-2xx status code: 404 Not Found: <Code>NoSuchBucket</Code>", "no_bucket",
         "there is no such bucket (status 404, NoSuchBucket)"),
        ('status code: 404 Not Found: {"code": 404, "message": "The specified bucket does not exist."}',
         "no_bucket", "there is no such bucket (status 404)"),
        ("PUT http://169.254.169.254/latest/api/token HTTP error: error sending request", "denied",
         "no keys were found for it in the environment, in a profile or from the machine's identity"),
        ("GET http://metadata.google.internal/token Server returned non-2xx status code: 403 Forbidden", "denied",
         "no keys were found for it in the environment, in a profile or from the machine's identity"),
        ("HTTP error: builder error", "refused",
         "its endpoint uses http, which is allowed only with AWS_ALLOW_HTTP=true"),
    ],
)  # fmt: skip
def test_a_failure_is_described_without_its_address(text: str, kind: str, reason: str):
    with pytest.raises(BucketError) as caught, bucket_module._translated():
        raise OSError(GENERIC + text)
    assert (caught.value.kind, str(caught.value)) == (kind, reason)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_the_program_s_own_errors_pass():
    with pytest.raises(RuntimeError, match="a bug"), bucket_module._translated():
        raise RuntimeError("a bug")


async def test_http_is_used_only_where_it_is_allowed():
    with s3_server() as server, mock.patch.dict(os.environ, {**server.environment, "AWS_ALLOW_HTTP": "false"}):
        server.make_bucket(BUCKET)
        bucket = open_bucket(ObjectAddress("s3", BUCKET, PREFIX))
        with pytest.raises(BucketError, match="its endpoint uses http"):
            await bucket.find("a")
        assert server.requests == []


async def test_a_listing_of_many_pages_is_whole_and_leaves_out_what_is_deeper():
    with s3_server() as server:
        objects = server.make_bucket(BUCKET)
        bucket = s3_bucket(server)
        for number in range(8):
            await bucket.put(f"{number}", bytes(number))
        await bucket.put("deeper/9", b"")
        objects["team/svc2"] = objects["other"] = objects[f"{PREFIX}/0"]
        listed = [one async for page in bucket.listed() for one in page]
        assert [(one.key, one.size) for one in listed] == [(str(number), number) for number in range(8)]
        await bucket.delete([str(number) for number in range(8)])
        assert set(objects) == {"team/svc2", "other", f"{PREFIX}/deeper/9"}


async def test_a_bucket_without_a_prefix_works():
    with s3_server() as server:
        objects = server.make_bucket(BUCKET)
        bucket = s3_bucket(server, prefix="")
        assert await bucket.create("mark", b"1")
        assert not await bucket.create("mark", b"2")
        assert set(objects) == {"mark"}
        assert await bucket.read("mark", limit_bytes=10) == b"1"
        assert await bucket.read("none", limit_bytes=10) is None


async def test_a_request_that_is_denied_or_slowed_down_is_told_apart():
    def fail(server: S3Server, fault: S3Fault) -> None:
        server.fault = lambda _: fault

    with s3_server() as server:
        server.make_bucket(BUCKET)
        bucket = s3_bucket(server, retries=1)
        kinds = []
        for fault in ("denied", "slow_down", "cut"):
            fail(server, fault)
            with pytest.raises(BucketError) as caught:
                await bucket.put("a", b"1")
            kinds.append(caught.value.kind)
        assert kinds == ["denied", "unreachable", "unreachable"]
        assert len(server.requests) == 5  # what is denied is not repeated
