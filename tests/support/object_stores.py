"""Object stores for tests: in memory, in a folder, and the S3 server, as the service opens them."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

from obstore.store import LocalStore, MemoryStore

from svc.service.sessions.files import FileJournal
from svc.service.sessions.objects import bucket as bucket_module
from svc.service.sessions.objects.address import ObjectAddress
from svc.service.sessions.objects.bucket import Bucket, open_bucket
from svc.service.sessions.objects.cache import FileCache
from svc.service.sessions.objects.files import ObjectFiles
from svc.service.store.disk_space import DiskSpace
from tests.support.s3_server import S3Server

BUCKET, PREFIX = "evidence", "team/svc"


def memory_bucket() -> Bucket:
    return Bucket(MemoryStore(), "memory://")


def local_bucket(folder: Path) -> Bucket:
    return Bucket(LocalStore(folder, mkdir=True), f"local://{folder.name}")


def s3_bucket(server: S3Server, name: str = BUCKET, prefix: str = PREFIX, *, retries: int = 2) -> Bucket:
    """A bucket of the server, by the keys in the environment; ``retries`` with short pauses."""
    environment = {**server.environment, "AWS_EC2_METADATA_DISABLED": "true"}
    with mock.patch.dict(os.environ, environment), mock.patch.object(bucket_module, "_RETRIES", retries):
        return open_bucket(ObjectAddress("s3", name, prefix))


def object_files(
    bucket: Bucket, journal: FileJournal, root: Path, *, cache_bytes: int = 100_000_000, results_bytes: int = 1_000_000
) -> ObjectFiles:
    """The files of a service; ``root`` is its machine's folder for fetched files."""
    space = DiskSpace([root], 0)
    return ObjectFiles(bucket, journal, FileCache(root, cache_bytes, space), space, results_bytes=results_bytes)
