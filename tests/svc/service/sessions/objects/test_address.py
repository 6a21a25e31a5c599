"""The value of ``--files``, and the names of keys in the environment."""

from __future__ import annotations

import os
import subprocess
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
from svc.service.sessions.objects.profile import profile_options
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


def test_obstore_is_imported_only_for_an_object_store():
    program = "import sys, svc.service.server.serve, svc.cli.serve; print('obstore' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("False\n", "")


def test_a_service_on_sqlite_keeps_its_files_beside_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("SVC_STATE_DIR", str(tmp_path))
    run = CliRunner().invoke(
        main, ["serve", "--port", "0", "--database", f"sqlite:///{tmp_path}/svc.db", "--files", "s3://evidence/a"]
    )
    assert run.exit_code != 0
    assert "s3://evidence/a needs a PostgreSQL database" in run.output


@pytest.mark.parametrize("value", ["s3.example.org", "http://", "http://127.0.0.1:123456", "ftp://hunter2@host"])
def test_an_endpoint_that_is_no_address_is_refused(monkeypatch: pytest.MonkeyPatch, value: str):
    monkeypatch.setenv("AWS_ENDPOINT_URL", value)
    with pytest.raises(ConfigError, match=r"AWS_ENDPOINT_URL is not the address of an object store") as caught:
        open_bucket(ADDRESS)
    assert "hunter2" not in str(caught.value)


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


CREDENTIALS = """[default]
aws_access_key_id = AKIA0
aws_secret_access_key = first%hunter2
[team]
aws_access_key_id = AKIA1
aws_secret_access_key = second
aws_session_token = third
region = eu-west-1
[half]
aws_access_key_id = AKIA2
"""
CONFIG = """[default]
region = us-west-2
[profile team]
region = eu-central-1
endpoint_url = https://s3.example.org
[profile sso]
sso_session = team
"""
FIRST = {"access_key_id": "AKIA0", "secret_access_key": "first%hunter2", "region": "us-west-2"}
SECOND = {
    "access_key_id": "AKIA1",
    "secret_access_key": "second",
    "session_token": "third",
    "region": "eu-west-1",
    "endpoint": "https://s3.example.org",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(CREDENTIALS)
    (tmp_path / ".aws" / "config").write_text(CONFIG)
    return tmp_path


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, FIRST),
        ({"AWS_PROFILE": "team"}, SECOND),
        ({"AWS_PROFILE": "team", "AWS_REGION": "x", "AWS_ENDPOINT_URL": "y"},
         {key: SECOND[key] for key in ("access_key_id", "secret_access_key", "session_token")}),
        ({"AWS_ACCESS_KEY_ID": "AKIA9"}, {}),
        ({"AWS_WEB_IDENTITY_TOKEN_FILE": "/token"}, {}),
        ({"AWS_PROFILE": "team", "AWS_ACCESS_KEY_ID": "AKIA9"}, SECOND),
        ({"AWS_SHARED_CREDENTIALS_FILE": "/none", "AWS_CONFIG_FILE": "/none"}, {}),
    ],
)  # fmt: skip
def test_a_profile_with_keys_is_read(home: Path, environment: dict[str, str], expected: dict[str, str]):
    assert profile_options(environment, home) == expected


@pytest.mark.parametrize(
    ("profile", "expected"),
    [("half", "has no keys in it"), ("sso", "has no keys in it"), ("nobody", "is not in the files of profiles")],
)
def test_a_profile_without_keys_is_refused_with_a_way_out(home: Path, profile: str, expected: str):
    with pytest.raises(ConfigError, match=f"{expected}.*aws configure export-credentials"):
        profile_options({"AWS_PROFILE": profile}, home)


def test_a_damaged_file_of_profiles_shows_no_key(home: Path):
    (home / ".aws" / "credentials").write_text("aws_secret_access_key = hunter2")
    with pytest.raises(ConfigError, match="credentials cannot be read") as caught:
        profile_options({}, home)
    assert "hunter2" not in str(caught.value)


def test_the_keys_of_a_profile_are_not_in_the_representation(home: Path, monkeypatch: pytest.MonkeyPatch):
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    bucket = open_bucket(ADDRESS)
    assert bucket._store.config["secret_access_key"] == "first%hunter2"
    assert "hunter2" not in f"{bucket!r}{bucket._store!r}"


def test_a_cache_that_the_largest_file_does_not_fit_into_is_refused(tmp_path: Path):
    settings = Settings(files_cache_bytes=1_000, max_upload_bytes=2_000)
    with pytest.raises(
        ConfigError, match=r"files_cache_bytes is 1,000; it must be at least max_upload_bytes \(2,000\)"
    ):
        object_files_of(memory_bucket(), SqliteStore(tmp_path / "a.db"), settings)
