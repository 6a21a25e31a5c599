"""The value of ``--files``, and the names of keys in the environment."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from svc.cli.main import main
from svc.errors import ConfigError
from svc.service.sessions.objects.address import ObjectAddress, parse_files
from svc.service.sessions.objects.bucket import open_bucket
from svc.service.sessions.objects.keys import drop_secrets, secret_variables
from svc.service.sessions.objects.opening import bucket_of, object_files_of
from svc.service.settings import Settings
from svc.service.store.sqlite import SqliteStore
from tests.support.object_stores import memory_bucket

ADDRESS = ObjectAddress("s3", "evidence", "team/svc")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("file:///srv/svc/files", Path("/srv/svc/files")),
        ("s3://evidence/team/svc/", ADDRESS),
        ("s3://evidence", ObjectAddress("s3", "evidence")),
        ("gs://evidence_1/a.b=c", ObjectAddress("gs", "evidence_1", "a.b=c")),
        ("az://evidence/svc", ObjectAddress("az", "evidence", "svc")),
    ],
)
def test_a_place_is_read(value: str, expected: Path | ObjectAddress):
    assert parse_files(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("/srv/files", "--files /srv/files is not valid; it must be file:///PATH, s3://"),
        ("file://srv/files", "--files file://… is not valid"),
        ("ftp://host/files", "--files ftp://… is not valid"),
        ("s3://", "names no bucket"),
        ("s3:///prefix", "names no bucket"),
        ("s3://E/prefix", "names no bucket"),
        ("s3://evidence//a", "the prefix of --files s3://evidence/… may have"),
        ("s3://evidence/a/../b", "the prefix of --files"),
        ("s3://evidence/a b", "the prefix of --files"),
        ("s3://KEY:hunter2@evidence/a", "It takes no keys"),
        ("az://evidence/a?sig=hunter2", "It takes no keys"),
        ("https://KEY:hunter2@s3.example.org/evidence", "--files https://… is not valid"),
        ("KEY hunter2", "--files … is not valid"),
    ],
)
def test_what_is_no_place_is_refused_without_its_keys(value: str, expected: str):
    with pytest.raises(ConfigError) as caught:
        parse_files(value)
    assert expected in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_the_keys_of_the_three_providers_leave_the_environment_and_nothing_else_does():
    keys = {
        "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
        "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_CLIENT_SECRET", "AZURE_STORAGE_TOKEN",
        "AZURE_STORAGE_CONNECTION_STRING", "GOOGLE_SERVICE_ACCOUNT_KEY", "IDENTITY_HEADER", "aws_secret_access_key",
    }  # fmt: skip
    others = {
        "AWS_REGION", "AWS_ENDPOINT_URL", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
        "AWS_PROFILE", "AZURE_STORAGE_ACCOUNT_NAME", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE",
        "GOOGLE_APPLICATION_CREDENTIALS", "PATH", "SVC_MODEL_KEY", "HOME", "MY_SECRET",
    }  # fmt: skip
    environment = dict.fromkeys([*keys, *others], "x")
    assert set(secret_variables(environment)) == keys
    drop_secrets(environment)
    assert set(environment) == others


def test_without_the_extra_the_start_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "svc.service.sessions.objects.bucket", None)
    with pytest.raises(ConfigError, match=r'pip install "svc-jupyter\[objects\]"'):
        bucket_of(ADDRESS)


def test_a_service_on_sqlite_keeps_its_files_beside_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("SVC_STATE_DIR", str(tmp_path))
    run = CliRunner().invoke(
        main, ["serve", "--port", "0", "--database", f"sqlite:///{tmp_path}/svc.db", "--files", "s3://evidence/a"]
    )
    assert run.exit_code != 0
    assert "s3://evidence/a needs a PostgreSQL database" in run.output


def test_an_account_of_azure_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(ConfigError, match="set AZURE_STORAGE_ACCOUNT_NAME"):
        open_bucket(ObjectAddress("az", "evidence", "a"))
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "team")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "bm90IHNlY3JldA==")
    store = repr(open_bucket(ObjectAddress("az", "evidence", "a/b"))._store)
    assert ("evidence" in store, "a/b" in store, "bm90IHNlY3JldA" in store) == (True, True, False)


def test_google_needs_no_more_than_the_bucket():
    assert (
        repr(open_bucket(ObjectAddress("gs", "evidence", "a/b"))._store) == 'GCSStore(bucket="evidence", prefix="a/b")'
    )


def test_a_profile_is_read_by_boto3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "credentials").write_text("[team]\naws_access_key_id = AKIA0\naws_secret_access_key = hunter2\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(ConfigError, match="the profile of AWS_PROFILE cannot be used: ProfileNotFound"):
        open_bucket(ADDRESS)
    monkeypatch.setenv("AWS_PROFILE", "team")
    assert "hunter2" not in repr(open_bucket(ADDRESS)._store)
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(ConfigError, match="pip install boto3"):
        open_bucket(ADDRESS)


def test_a_cache_that_the_largest_file_does_not_fit_into_is_refused(tmp_path: Path):
    settings = Settings(files_cache_bytes=1_000, max_upload_bytes=2_000)
    with pytest.raises(
        ConfigError, match=r"files_cache_bytes is 1,000; it must be at least max_upload_bytes \(2,000\)"
    ):
        object_files_of(memory_bucket(), SqliteStore(tmp_path / "a.db"), settings)
