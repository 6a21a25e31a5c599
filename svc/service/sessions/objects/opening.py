"""Open the object store that ``--files`` names. ``obstore`` is imported only for one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from svc.assistant.collections.spool import spool_root
from svc.errors import ConfigError
from svc.service.sessions.files import FileJournal
from svc.service.sessions.objects.address import ObjectAddress
from svc.service.settings import Settings
from svc.service.store.disk_space import DiskSpace

if TYPE_CHECKING:
    from svc.service.sessions.objects.bucket import Bucket
    from svc.service.sessions.objects.files import ObjectFiles


def bucket_of(address: ObjectAddress) -> Bucket:
    """The bucket, with what the environment says about it; raises ConfigError if it cannot be used."""
    try:
        from svc.service.sessions.objects.bucket import open_bucket
    except ImportError as error:
        raise ConfigError(
            f'--files {address} needs the extra "objects", which is not installed ({error}): '
            'pip install "svc-jupyter[objects]"'
        ) from error
    return open_bucket(address)


def object_files_of(bucket: Bucket, journal: FileJournal, settings: Settings) -> ObjectFiles:
    """The files in a bucket, with a cache in the state folder; raises ConfigError if that would be too small."""
    from svc.service.sessions.objects.cache import FileCache
    from svc.service.sessions.objects.files import ObjectFiles

    if settings.files_cache_bytes < settings.max_upload_bytes:
        raise ConfigError(
            f"files_cache_bytes is {settings.files_cache_bytes:,}; it must be at least max_upload_bytes "
            f"({settings.max_upload_bytes:,}), so that the largest file can be read. Raise SVC_FILES_CACHE_BYTES, or "
            "lower SVC_MAX_UPLOAD_BYTES"
        )
    root = spool_root().with_name("fetched")
    space = DiskSpace([root], settings.min_free_bytes)
    cache = FileCache(root, settings.files_cache_bytes, space)
    return ObjectFiles(bucket, journal, cache, space, results_bytes=settings.kept_results_bytes)


def sizes_of(bucket: Bucket) -> Callable[[str], int | None]:
    """Tells the sizes of the objects in a bucket; raises ConfigError if it cannot be listed."""
    return asyncio.run(_listed_sizes(bucket)).get


async def _listed_sizes(bucket: Bucket) -> dict[str, int]:
    from svc.service.sessions.objects.bucket import BucketError

    try:
        return {one.key: one.size async for page in bucket.listed() for one in page}
    except BucketError as error:
        raise ConfigError(f"{bucket.label} cannot be listed: {error}") from None
