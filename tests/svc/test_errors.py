"""Each code of the wire has its class, its status and OpenAI's word for its group."""

from __future__ import annotations

import pytest

import svc
from svc.errors import _CLASSES, ServiceError, service_error

ROWS = [
    (400, "invalid_request", svc.InvalidRequestError, "invalid_request_error"),
    (400, "stream_unsupported", svc.StreamUnsupportedError, "invalid_request_error"),
    (401, "invalid_api_key", svc.InvalidApiKeyError, "authentication_error"),
    (403, "experimental_not_allowed", svc.ExperimentalNotAllowedError, "permission_error"),
    (404, "session_not_found", svc.SessionNotFoundError, "not_found_error"),
    (404, "model_not_found", svc.ModelNotFoundError, "not_found_error"),
    (404, "not_found", svc.AddressNotFoundError, "not_found_error"),
    (405, "method_not_allowed", svc.MethodNotAllowedError, "invalid_request_error"),
    (404, "file_not_found", svc.SessionFileNotFoundError, "not_found_error"),
    (409, "turn_in_progress", svc.TurnInProgressError, "conflict_error"),
    (409, "session_id_taken", svc.SessionIdTakenError, "conflict_error"),
    (409, "history_lost", svc.HistoryLostError, "conflict_error"),
    (410, "session_expired", svc.SessionExpiredError, "invalid_request_error"),
    (413, "too_large", svc.TooLargeError, "invalid_request_error"),
    (429, "rate_limited", svc.RateLimitedError, "rate_limit_error"),
    (499, "cancelled", svc.TurnCancelledError, "invalid_request_error"),
    (500, "internal_error", svc.InternalServiceError, "server_error"),
    (502, "upstream_error", svc.UpstreamError, "server_error"),
    (503, "unavailable", svc.UnavailableError, "server_error"),
    (507, "quota_exceeded", svc.QuotaExceededError, "insufficient_quota"),
    (507, "insufficient_storage", svc.InsufficientStorageError, "server_error"),
]


@pytest.mark.parametrize(("status", "code", "cls", "kind"), ROWS, ids=[row[1] for row in ROWS])
def test_a_wire_code_becomes_its_class(status: int, code: str, cls: type[ServiceError], kind: str):
    error = service_error(code, "what happened", status=status, param="ttl", retry_after=2.0)

    assert type(error) is cls
    assert (error.status, error.code, error.type) == (status, code, kind)
    assert (str(error), error.param, error.retry_after) == ("what happened", "ttl", 2.0)
    assert (cls("x").status, cls("x").code) == (status, code)


def test_an_unknown_code_of_a_newer_service_is_a_plain_service_error():
    error = service_error("quota_gone", "no more", status=402)

    assert type(error) is ServiceError
    assert (error.status, error.code) == (402, "quota_gone")


def test_every_public_name_is_there_and_every_error_is_an_svc_error():
    for name in svc.__all__:
        value = getattr(svc, name)
        if name.endswith("Error"):
            assert issubclass(value, svc.SvcError)


def test_the_table_has_every_wire_code():
    assert {code: cls for _, code, cls, _ in ROWS} == _CLASSES
