"""A small S3 API on loopback: what an object store needs, with each request's signature and digest checked, and faults.

Written from "Amazon S3 API Reference" and "Authenticating Requests (AWS Signature Version 4)" of the AWS documentation.
Objects are in memory, or in a folder (large ones).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

ACCESS_KEY = "AKIATESTONLY00000000"
SECRET_KEY = "only-for-tests/Zm9yIHRlc3Rz+Jq"
REGION = "us-east-1"
PAGE = 3  # keys of a listing, so that every test reads several pages

S3Fault = Literal["slow_down", "cut", "cut_body", "wrong_bytes", "denied"]
"""slow_down: 503; cut: the connection ends without a response; cut_body: in the middle of the content, up or down;
wrong_bytes: one byte of the content is another; denied: 403."""


class S3Request:
    """What a fault is decided by."""

    def __init__(self, method: str, bucket: str, key: str, query: dict[str, str]) -> None:
        self.method, self.bucket, self.key, self.query = method, bucket, key, query

    @property
    def is_part(self) -> bool:
        """One part of an upload in parts."""
        return self.method == "PUT" and "partNumber" in self.query

    def __repr__(self) -> str:
        return f"{self.method} {self.bucket}/{self.key} {sorted(self.query)}"


class S3Server:
    """Buckets with objects. ``fault`` decides what becomes of a request; ``requests`` has all of them."""

    def __init__(self, folder: Path | None = None) -> None:
        self.objects: dict[str, dict[str, S3Object]] = {}
        self.uploads: dict[str, tuple[str, str, dict[int, S3Object]]] = {}
        self.requests: list[S3Request] = []
        self.folder = folder
        self.fault: Callable[[S3Request], S3Fault | None] = lambda request: None
        self.is_denied = False
        self.lock = threading.Lock()
        server = self

        class Handler(_Handler):
            s3 = server

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.port: int = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def environment(self) -> dict[str, str]:
        """What a client of this server has in its environment."""
        return {
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ALLOW_HTTP": "true",
        }

    def make_bucket(self, name: str) -> dict[str, S3Object]:
        """An empty bucket."""
        return self.objects.setdefault(name, {})

    def stored(self, data: bytes) -> S3Object:
        """An object with this content, now."""
        if self.folder is None:
            return S3Object(data)
        path = self.folder / uuid.uuid4().hex
        path.write_bytes(data)
        return S3Object(path)

    def close(self) -> None:
        """End the server."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class S3Object:
    """The content of an object, in one piece or in parts, and when it was stored."""

    def __init__(self, *pieces: bytes | Path) -> None:
        self.pieces = pieces
        self.changed = time.time()

    @property
    def size(self) -> int:
        return sum(len(one) if isinstance(one, bytes) else one.stat().st_size for one in self.pieces)

    @property
    def etag(self) -> str:
        return f'"{hashlib.md5(b"".join(map(repr_of, self.pieces))).hexdigest()}"'

    @property
    def content(self) -> bytes:
        return b"".join(one if isinstance(one, bytes) else one.read_bytes() for one in self.pieces)

    def read(self, start: int, end: int) -> bytes:
        """A range of the content."""
        found = bytearray()
        at = 0
        for one in self.pieces:
            size = len(one) if isinstance(one, bytes) else one.stat().st_size
            if at < end and at + size > start:
                data = one if isinstance(one, bytes) else one.read_bytes()
                found += data[max(0, start - at) : end - at]
            at += size
        return bytes(found)


def repr_of(piece: bytes | Path) -> bytes:
    """Something short that differs between pieces."""
    return hashlib.sha256(piece).digest() if isinstance(piece, bytes) else str(piece).encode()


@contextmanager
def s3_server(folder: Path | None = None) -> Iterator[S3Server]:
    """A server for the time of a test."""
    server = S3Server(folder)
    try:
        yield server
    finally:
        server.close()


class _Refused(Exception):
    """A response that is an error."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status, self.code = status, code


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    s3: S3Server

    def log_message(self, form: str, *args: object) -> None:
        """Silent."""

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except OSError:  # the client has gone
            self.close_connection = True

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        request = S3Request(self.command, bucket, key, query)
        with self.s3.lock:
            self.s3.requests.append(request)
            fault = self.s3.fault(request)
        length = int(self.headers.get("Content-Length", 0))
        if fault == "cut" or (fault == "cut_body" and length):
            if fault == "cut_body":
                self.rfile.read(length // 2)
            self.close_connection = True
            return
        body = self.rfile.read(length)
        if fault == "wrong_bytes" and body:
            body = bytes([body[0] ^ 1]) + body[1:]
        try:
            if fault == "slow_down":
                raise _Refused(503, "SlowDown")
            if fault == "denied" or self.s3.is_denied:
                raise _Refused(403, "AccessDenied")
            self._check_signature(parts.path, query, body)
            with self.s3.lock:
                self._act(request, body, fault)
        except _Refused as refused:
            self._send(
                refused.status,
                f"<Error><Code>{refused.code}</Code><Message>{refused.code}</Message></Error>".encode(),
                {"Content-Type": "application/xml"},
            )

    def _check_signature(self, path: str, query: dict[str, str], body: bytes) -> None:
        found = re.fullmatch(
            r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d+)/([^/]+)/s3/aws4_request, *"
            r"SignedHeaders=([^,]+), *Signature=(\w+)",
            self.headers.get("Authorization", ""),
        )
        if found is None or found[1] != ACCESS_KEY:
            raise _Refused(403, "InvalidAccessKeyId")
        claimed = self.headers["x-amz-content-sha256"]
        # the names of what is signed, in their order
        signed = "".join(f"{name}:{' '.join(self.headers[name].split())}\n" for name in found[4].split(";"))
        asked = "&".join(
            f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in sorted(query.items())
        )
        canonical = f"{self.command}\n{path}\n{asked}\n{signed}\n{found[4]}\n{claimed}"
        scope = f"{found[2]}/{found[3]}/s3/aws4_request"
        text = (
            f"AWS4-HMAC-SHA256\n{self.headers['x-amz-date']}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        )
        secret = f"AWS4{SECRET_KEY}".encode()
        for step in scope.split("/"):
            secret = hmac.digest(secret, step.encode(), "sha256")
        if not hmac.compare_digest(hmac.new(secret, text.encode(), "sha256").hexdigest(), found[5]):
            raise _Refused(403, "SignatureDoesNotMatch")
        if claimed != "UNSIGNED-PAYLOAD" and claimed != hashlib.sha256(body).hexdigest():
            raise _Refused(400, "XAmzContentSHA256Mismatch")
        given = self.headers.get("x-amz-checksum-sha256")
        if given is not None and given != base64.b64encode(hashlib.sha256(body).digest()).decode():
            raise _Refused(400, "BadDigest")

    def _act(self, request: S3Request, body: bytes, fault: S3Fault | None) -> None:
        objects = self.s3.objects.get(request.bucket)
        if objects is None:
            raise _Refused(404, "NoSuchBucket")
        match request.method:
            case "PUT" if request.is_part:
                self._put_part(request, body)
            case "PUT":
                self._put(request, objects, body)
            case "POST" if "uploads" in request.query:
                upload = uuid.uuid4().hex
                self.s3.uploads[upload] = (request.bucket, request.key, {})
                self._xml(
                    f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
                )
            case "POST" if "uploadId" in request.query:
                self._complete(request, objects, body)
            case "POST" if "delete" in request.query:
                self._delete_several(objects, body)
            case "DELETE" if "uploadId" in request.query:
                self.s3.uploads.pop(request.query["uploadId"], None)
                self._send(204)
            case "DELETE":
                objects.pop(request.key, None)
                self._send(204)
            case "GET" if not request.key:
                self._list(request, objects)
            case "GET" | "HEAD":
                self._get(request, objects, fault)
            case _:
                raise _Refused(501, "NotImplemented")

    def _put(self, request: S3Request, objects: dict[str, S3Object], body: bytes) -> None:
        if self.headers.get("If-None-Match") == "*" and request.key in objects:
            raise _Refused(412, "PreconditionFailed")
        if (source := self.headers.get("x-amz-copy-source")) is not None:
            bucket, _, key = unquote(source).lstrip("/").partition("/")
            found = self.s3.objects.get(bucket, {}).get(key)
            if found is None:
                raise _Refused(404, "NoSuchKey")
            objects[request.key] = S3Object(*found.pieces)
            self._xml(f"<CopyObjectResult><ETag>{escape(found.etag)}</ETag></CopyObjectResult>")
            return
        objects[request.key] = stored = self.s3.stored(body)
        self._send(200, headers={"ETag": stored.etag})

    def _put_part(self, request: S3Request, body: bytes) -> None:
        if request.query["uploadId"] not in self.s3.uploads:
            raise _Refused(404, "NoSuchUpload")
        part = self.s3.stored(body)
        self.s3.uploads[request.query["uploadId"]][2][int(request.query["partNumber"])] = part
        self._send(200, headers={"ETag": part.etag})

    def _complete(self, request: S3Request, objects: dict[str, S3Object], body: bytes) -> None:
        if request.query["uploadId"] not in self.s3.uploads:
            raise _Refused(404, "NoSuchUpload")
        _, key, parts = self.s3.uploads[request.query["uploadId"]]
        asked = [
            (int(_text(one, "PartNumber")), _text(one, "ETag"))
            for one in ElementTree.fromstring(body)
            if one.tag.endswith("Part")
        ]
        if not asked or any(number not in parts or parts[number].etag != etag for number, etag in asked):
            raise _Refused(400, "InvalidPart")
        if any(parts[number].size < 5 << 20 for number, _ in asked[:-1]):
            raise _Refused(400, "EntityTooSmall")
        del self.s3.uploads[request.query["uploadId"]]
        objects[key] = stored = S3Object(*(piece for number, _ in asked for piece in parts[number].pieces))
        self._xml(f"<CompleteMultipartUploadResult><ETag>{escape(stored.etag)}</ETag></CompleteMultipartUploadResult>")

    def _delete_several(self, objects: dict[str, S3Object], body: bytes) -> None:
        keys = [_text(one, "Key") for one in ElementTree.fromstring(body) if one.tag.endswith("Object")]
        for key in keys:
            objects.pop(key, None)
        rows = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
        self._xml(f"<DeleteResult>{rows}</DeleteResult>")

    def _list(self, request: S3Request, objects: dict[str, S3Object]) -> None:
        after = request.query.get("continuation-token") or request.query.get("start-after", "")
        prefix = request.query.get("prefix", "")
        keys = sorted(key for key in objects if key.startswith(prefix) and key > after)
        page = keys[:PAGE]
        rows = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{objects[key].size}</Size><ETag>{escape(objects[key].etag)}</ETag>"
            f"<LastModified>{_iso(objects[key].changed)}</LastModified></Contents>"
            for key in page
        )
        more = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if len(keys) > len(page) else ""
        cut = str(bool(more)).lower()
        self._xml(f"<ListBucketResult><IsTruncated>{cut}</IsTruncated>{rows}{more}</ListBucketResult>")

    def _get(self, request: S3Request, objects: dict[str, S3Object], fault: S3Fault | None) -> None:
        found = objects.get(request.key)
        if found is None:
            raise _Refused(404, "NoSuchKey")
        size, status = found.size, 200
        start, end = 0, size
        headers = {"ETag": found.etag, "Last-Modified": formatdate(found.changed, usegmt=True)}
        if (wanted := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))) is not None:
            start, end = int(wanted[1]), min(size, int(wanted[2] or size) + 1)
            if start >= size:
                raise _Refused(416, "InvalidRange")
            status = 206
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
        if request.method == "HEAD":
            self.send_response(200)
            for name, value in {**headers, "Content-Length": str(size)}.items():
                self.send_header(name, value)
            self.end_headers()
            return
        content = found.read(start, end)
        if fault == "wrong_bytes" and content:
            content = content[:-1] + bytes([content[-1] ^ 1])
        self._send(status, content, headers, is_cut=fault == "cut_body")

    def _xml(self, text: str) -> None:
        self._send(200, f'<?xml version="1.0" encoding="UTF-8"?>{text}'.encode(), {"Content-Type": "application/xml"})

    def _send(
        self, status: int, body: bytes = b"", headers: dict[str, str] | None = None, *, is_cut: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(body[: len(body) // 2] if is_cut else body)
        if is_cut:
            self.close_connection = True


for _method in ("GET", "PUT", "POST", "DELETE", "HEAD"):
    setattr(_Handler, f"do_{_method}", _Handler._answer)


def _text(element: ElementTree.Element, name: str) -> str:
    return next((one.text or "" for one in element if one.tag.endswith(name)), "")


def _iso(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(seconds))
