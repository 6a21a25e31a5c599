"""The text of every error that the SDK itself makes, to the letter: what happened, with values, and what to do.

What the service says is pinned where the service is tested; ``test_errors`` maps its codes to classes.
"""

# ruff: noqa: E501 - one row a text

from __future__ import annotations

import ast
import inspect
import socket
import ssl
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
import websockets
from websockets.datastructures import Headers
from websockets.frames import Close
from websockets.http11 import Response

import svc
from svc import Svc, _protocol, _requests, _transport, client, config, messages
from svc._protocol import CancelProtocol, Fail, TurnProtocol
from svc._proving import UnprovenError
from svc._requests import Reply, parse_error, parse_reply
from svc._transport import StreamConnection, Transport
from svc.config import Config, resolve
from svc.errors import SvcError
from svc.local import find_or_start
from svc.messages import Message, MessageType, MimeType, UpdateRequest
from tests.support.made_keys import made_key

KEY = made_key("secret")
HERE = "https://svc.example.org"
PINNED_WHOLE = (config, _requests, _protocol, client, messages)  # no error of theirs may be missing below


def resolved(**environ: str) -> Callable[[], object]:
    return lambda: resolve(environ=environ)


def received(*frames: Message | str, earlier_after: int = 0) -> Callable[[], None]:
    """What a turn fails with that receives these."""

    def follow() -> None:
        query = Message(message_type=MessageType.QUERY, id="q", turn="t", content="?")
        turn = TurnProtocol(query, earlier_after)
        turn.connected()
        for frame in frames:
            step = turn.receive(frame if isinstance(frame, str) else msgspec.json.encode(frame))
            if isinstance(step, Fail):
                raise step.error

    return follow


def closed(code: int, reason: str = "") -> Callable[[], None]:
    def read() -> None:
        close = Close(code, reason)
        with StreamConnection(None, "wss://svc.example.org")._translated():  # type: ignore[arg-type]
            raise websockets.ConnectionClosedError(close, close, True)

    return read


def upgrade(status: int, body: bytes) -> Callable[[], None]:
    def read() -> None:
        refused = websockets.InvalidStatus(Response(status, "", Headers(), body))
        raise _transport._refused(refused, "wss://svc.example.org")

    return read


def raising(make: Callable[..., SvcError], *values: object) -> Callable[[], None]:
    def read() -> None:
        raise make(*values)

    return read


def unproven(error: UnprovenError) -> SvcError:
    address = "http://127.0.0.1:1"
    return Transport(config.Config(base_url=address, ws_url="ws://127.0.0.1:1", api_key=KEY))._unproven(address, error)


def trusting(path: str) -> Callable[[], object]:
    there = Config(base_url=HERE, ws_url="wss://svc.example.org", api_key=KEY, ca_file=Path(path))
    return lambda: Transport(there).call(_requests.health())


def call_of(*, base_url: str) -> Callable[[], object]:
    there = Config(base_url=base_url, ws_url="ws://127.0.0.1", api_key=KEY)
    return lambda: Transport(there).call(_requests.health(), limit_seconds=0.0)


def unreadable(reply: Reply) -> Callable[[], object]:
    return lambda: parse_reply(_requests.health(), reply)


def wire(code: str, text: str) -> bytes:
    return msgspec.json.encode({"error": {"code": code, "message": text, "type": "x", "param": None}})


ROWS = [
    # config
    ("no-key", resolved(SVC_BASE_URL=HERE), svc.ConfigError, "base_url 'https://svc.example.org' needs a key. Set SVC_API_KEY (`svc keys create` creates one), or omit base_url and SVC_BASE_URL to use the local service."),
    ("ws-alone", resolved(SVC_WS_URL="wss://a"), svc.ConfigError, "ws_url was given without base_url. Set base_url (SVC_BASE_URL) as well; ws_url is optional."),
    ("key-for-local", lambda: resolve(KEY, "local"), svc.ConfigError, 'base_url="local" uses its own key and ws_url. Omit both, or pass the URL of a service.'),
    ("key-is-an-address", resolved(SVC_API_KEY=HERE), svc.ConfigError, "api_key is a URL. The key is the first argument: Svc(api_key, base_url=...)."),
    ("key-broken", resolved(SVC_API_KEY="svc_a b"), svc.ConfigError, "the API key contains spaces or invalid characters. Copy it again, on one line."),
    ("key-of-another-service", resolved(SVC_API_KEY="sk-1234"), svc.ConfigError, "the API key does not begin with svc_, so it is a key of another service. It was not sent. Copy it again, whole; `svc keys create` creates one."),
    ("key-cut", resolved(SVC_API_KEY=KEY[:-1]), svc.ConfigError, "the API key has 52 characters; a key has 53. It was not sent. Copy it again, whole; `svc keys create` creates one."),
    ("key-mistyped", resolved(SVC_API_KEY=KEY.replace("secret", "sacret")), svc.ConfigError, "the API key is mistyped: its checksum is wrong. It was not sent. Copy it again, whole; `svc keys create` creates one."),
    ("address-is-a-key", resolved(SVC_API_KEY="x", SVC_BASE_URL=KEY), svc.ConfigError, "base_url is not a URL. It looks like a key, which is the first argument. Use a complete URL such as https://svc.example.org."),
    ("scheme", resolved(SVC_API_KEY=KEY, SVC_BASE_URL="ftp://a.example.org"), svc.ConfigError, "base_url 'ftp://a.example.org' must start with https:// or, for this machine only, http://."),
    ("no-host", resolved(SVC_API_KEY=KEY, SVC_BASE_URL="https://"), svc.ConfigError, "base_url 'https://' has no valid host and port. Use a complete URL such as https://svc.example.org."),
    ("password", resolved(SVC_API_KEY=KEY, SVC_BASE_URL="https://u:pw@a.example.org"), svc.ConfigError, "base_url 'https://a.example.org' contains a password, a query or a fragment, and URLs end up in logs. Remove it; the key belongs in SVC_API_KEY."),
    ("in-the-open", resolved(SVC_API_KEY=KEY, SVC_BASE_URL="http://a.example.org"), svc.ConfigError, "base_url 'http://a.example.org' would send the key unencrypted over the network. Use https://; http:// is for this machine only."),
    ("port", resolved(SVC_API_KEY=KEY, SVC_BASE_URL="https://a:99999"), svc.ConfigError, "base_url is not a valid URL. Check its host and port."),
    ("tunnel", resolved(SVC_API_KEY=KEY, SVC_TUNNEL_TO="here:1"), svc.ConfigError, "SVC_TUNNEL_TO='here:1' is not valid: it must be the numeric address and port that the service behind the tunnel listens on, such as 127.0.0.1:8460"),
    # _requests
    ("no-lifetime", lambda: _requests.seconds_of("a day"), svc.InvalidRequestError, "ttl is 'a day', which is not a lifetime. Pass whole seconds or a timedelta. The order of the arguments is ttl, name, description, log_session, model, language."),
    ("file-without-a-name", lambda: _requests.upload_file("s", "", b""), svc.InvalidRequestError, "the file name is empty. Pass a name: questions refer to the file by it."),
    ("no-mime-type", lambda: _requests.upload_file("s", "a", b"", "text"), svc.InvalidRequestError, "mime_type_hint 'text' is not a MIME type. Use one such as text/plain, or omit it."),
    ("half-a-character", lambda: _requests.update(UpdateRequest(id="s", name="\ud800")), svc.InvalidRequestError, "'\\ud800' contains half a surrogate pair, which is not text. Remove it."),
    ("empty-bug", lambda: _requests.send_bug_report("s", " ", ""), svc.InvalidRequestError, "the bug report is empty. Say what happened and what you expected."),
    ("not-of-the-wire", unreadable(Reply(200, b"{}")), svc.ProtocolError, "the reply to GET /health is invalid: Object missing required field `status`. Check that base_url is an svc service of about the same version."),
    ("another-server", raising(parse_error, Reply(404, b"<h1>")), svc.ProtocolError, "HTTP 404 came back without the service's error body. Check that base_url and ws_url point to an svc service, including any path prefix."),
    ("gateway", raising(parse_error, Reply(502, b"<h1>")), svc.UpstreamError, "a proxy in front of the service answered HTTP 502. Try again; if it persists, ask its admin."),
    ("gateway-away", raising(parse_error, Reply(504, b"<h1>")), svc.UnavailableError, "a proxy in front of the service answered HTTP 504. Try again; if it persists, ask its admin."),
    ("the-services-own-words", unreadable(Reply(410, wire("session_expired", "it ended; make another"))), svc.SessionExpiredError, "it ended; make another"),
    # _protocol
    ("question-too-long", lambda: TurnProtocol(Message(message_type=MessageType.QUERY, id="q", turn="t", content="x" * 1_048_576, created_at=1.0), 0), svc.TooLargeError, "the question is 1,048,863 bytes on the wire; the limit is 1,048,576. Attach the long part as a file and ask about it."),
    ("frame-is-no-message", received("{}"), svc.ProtocolError, "malformed message on the stream (Object missing required field `message_type`): '{}'"),
    ("frame-is-no-message-while-cancelling", lambda: CancelProtocol("t", 0).receive("{}"), svc.ProtocolError, "malformed message on the stream: Object missing required field `message_type`"),
    ("set-back", received(Message(message_type=MessageType.QUERY, id="q", turn="t", seq=3), earlier_after=5), svc.ProtocolError, "the session went back to message 3 after message 5: the service was restored to an older state. Resume the session to continue from there."),
    ("lost-from-the-first", received(Message(message_type=MessageType.ERROR, status_code=409, status_message="history_lost", content="it is shorter")), svc.ProtocolError, "history_lost on a stream that begins at message 1"),
    ("turn-error", received(Message(message_type=MessageType.ERROR, turn="t", seq=1, status_code=502, status_message="upstream_error", content="the model is gone")), svc.UpstreamError, "the model is gone"),
    ("query-refused", received(Message(message_type=MessageType.ERROR, turn="t", parent_id="q", status_code=409, status_message="turn_in_progress", content="a turn runs; wait")), svc.TurnInProgressError, "a turn runs; wait"),
    # _transport
    ("closed", closed(1011), svc.UnreachableError, "wss://svc.example.org closed the stream (code 1011, no reason)."),
    ("history-lost", closed(4409), svc.UnreachableError, "wss://svc.example.org lost messages of the session (no reason)."),
    ("key-revoked", closed(4401, "revoked"), svc.InvalidApiKeyError, "the key is no longer valid (revoked). Set a new one."),
    ("session-ended", closed(4410), svc.SessionExpiredError, "the session has ended (expired or deleted). Make a new session."),
    ("closed-strangely", closed(1003, "what?"), svc.ProtocolError, "wss://svc.example.org closed the stream with code 1003 (what?)."),
    ("upgrade-refused-for-now", upgrade(503, wire("unavailable", "stopping")), svc.UnreachableError, "wss://svc.example.org answered HTTP 503."),
    ("upgrade-refused", upgrade(404, wire("session_not_found", "no such session")), svc.SessionNotFoundError, "no such session"),
    ("refused-connection", call_of(base_url="http://127.0.0.1:1"), svc.UnreachableError, "http://127.0.0.1:1 does not answer ([Errno 111] Connection refused). Check that the service runs and the address is right."),
    ("unknown-name", raising(_transport._lost, HERE, socket.gaierror(-2, "Name or service not known")), svc.UnreachableError, "https://svc.example.org cannot be reached: the name 'svc.example.org' is not known ([Errno -2] Name or service not known). Check it, and the network."),
    ("no-tls", raising(_transport._lost, HERE, ssl.SSLError(1, "wrong version number")), svc.UnreachableError, "https://svc.example.org cannot be reached over TLS (wrong version number). Check the address and its port."),
    ("address-ends-in-v1", raising(_transport._located, svc.AddressNotFoundError("unknown"), HERE + "/v1"), svc.AddressNotFoundError, "https://svc.example.org/v1 ends in /v1, which is only for clients of OpenAI's API. Leave /v1 out: https://svc.example.org"),
    ("unusable-proxy", raising(_transport._unusable_proxy), svc.ConfigError, "the proxy in HTTPS_PROXY cannot be used: its address is not valid. Use one such as http://proxy.example.org:3128."),
    ("untrusted", raising(_transport._untrusted, HERE, OSError("self-signed")), svc.UnreachableError, "the certificate of https://svc.example.org is not trusted (self-signed). If your own certificate authority issued it, set SVC_CA_BUNDLE to the authority's certificate file."),
    ("unproven", raising(unproven, UnprovenError("it is not the service")), svc.UnreachableError, "http://127.0.0.1:1: it is not the service. Neither your key nor your question was sent. Check the address, and whether the service is older than this client. If the address is a tunnel, set SVC_TUNNEL_TO to the address that the service listens on; if it is a balancer on this machine, its operator sets front_addresses of the services (SVC_FRONT_ADDRESSES)."),
    ("unknown-to-it", raising(unproven, UnprovenError("it does not know the key", is_key_unknown=True)), svc.InvalidApiKeyError, "http://127.0.0.1:1: it does not know the key. Neither your key nor your question was sent. Set a key that this service knows (`svc keys create` creates one)."),
    ("unproven-for-now", raising(unproven, UnprovenError("it closed the connection", is_passing=True)), svc.UnreachableError, "http://127.0.0.1:1: it closed the connection. Neither your key nor your question was sent. Check that the service runs and the address is right."),
    ("ca-bundle", trusting("/no/such.pem"), svc.ConfigError, "SVC_CA_BUNDLE='/no/such.pem' cannot be loaded ([Errno 2] No such file or directory). It must be a PEM file of CA certificates."),
    ("socks", raising(_transport._socks, ImportError("socksio is not installed")), svc.ConfigError, "the proxy in HTTPS_PROXY cannot be used: socksio is not installed. Install it, or use an HTTP proxy."),
    # messages, client
    ("broken-base64", lambda: Message(message_type=MessageType.INFO, id="m", mime_type=MimeType.PNG, content="a").get_content(), svc.ProtocolError, "message m: the image/png content is not valid base64: Invalid base64-encoded string: number of data characters (1) cannot be 1 more than a multiple of 4"),
    ("no-session-id", lambda: Svc(KEY, HERE).resume_session(""), svc.InvalidRequestError, "session_id is empty. Pass the session_id of a session."),
]  # fmt: skip


@pytest.mark.parametrize(("act", "cls", "text"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_the_error_text_matches(act: Callable[[], object], cls: type[SvcError], text: str):
    with pytest.raises(cls) as caught:
        act()

    assert str(caught.value) == text


@pytest.fixture
def made_at(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, int]]:
    """Where errors were made while the test ran: file and line."""
    places: set[tuple[str, int]] = set()

    def make(cls: type[SvcError], *args: object, **kwargs: object) -> SvcError:
        frame = sys._getframe(1)
        places.add((frame.f_code.co_filename, frame.f_lineno))
        return Exception.__new__(cls, *args)

    monkeypatch.setattr(SvcError, "__new__", make)
    return places


@pytest.mark.parametrize("module", PINNED_WHOLE, ids=lambda module: module.__name__)
def test_no_error_is_missing_from_the_table(module: ModuleType, made_at: set[tuple[str, int]]):
    for _, act, cls, _ in ROWS:
        with pytest.raises(cls):
            act()

    lines = {line for file, line in made_at if file == module.__file__}
    makings = [
        node
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("Error")
    ]
    missing = [node.lineno for node in makings if not any(node.lineno <= n <= (node.end_lineno or 0) for n in lines)]
    assert missing == []


@pytest.mark.parametrize(
    ("act", "cls", "text"),
    [
        pytest.param(lambda s: s.stream(" "), svc.InvalidRequestError, "the question is empty. Write a question.", id="empty-question"),
        pytest.param(lambda s: s.query("wait", timeout_seconds=0.2), svc.TurnTimeoutError, "no answer within 0.2 s; the turn was cancelled. Use a longer time limit, or ask for less at once.", id="timeout"),
        pytest.param(lambda s: s.detach_file(7), svc.SessionFileNotFoundError, "no such file: 7. The session has 1: a.txt.", id="no-file"),
    ],
)  # fmt: skip
def test_the_error_text_of_a_session_matches(
    client: Svc, act: Callable[[object], object], cls: type[SvcError], text: str
):
    session = client.create_session()
    session.attach_file("a.txt", "a")

    with pytest.raises(cls) as caught:
        act(session)

    assert str(caught.value) == text


def test_an_invalid_folder_says_which_variable_to_set(tmp_path: Path):
    folder = tmp_path / "file" / "state"
    folder.parent.write_text("", encoding="utf-8")

    with pytest.raises(svc.LocalServiceError) as caught:
        find_or_start(folder)

    assert str(caught.value) == (
        f"{folder} cannot be used for the local service ([Errno 20] Not a directory: '{folder}'). "
        "Set SVC_STATE_DIR to a folder that you own."
    )
