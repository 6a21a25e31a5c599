"""The page at ``/`` and the built files under ``/dist/``. Facts: docs/wire.md, "The service's page".

Nothing here needs a key; the page's script fetches everything else with one. A one-time code in the body of POST /
leads to a page that names the user and asks. Its button posts a confirmation, which must come from that page and is
exchanged for a short-lived key. The key appears only in that response: not in a URL, a cookie, storage or a cache. A
ticket in the tab's session storage yields it again after a reload.

npm builds the files into ``static/`` (labextension/ship.mjs). An installation without them (SVC_SKIP_JS, see
labextension/hatch_build.py) has a page that says so, and issues no key to it.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import html
from collections.abc import Mapping
from importlib import resources
from urllib.parse import parse_qs, urlsplit

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from svc.errors import AddressNotFoundError, InvalidApiKeyError, InvalidRequestError
from svc.service.http import endpoints as http
from svc.service.http.replies import reply
from svc.service.operations import Service
from svc.service.store.records import KeyRecord

FILES = {
    "swc.iife.js": "text/javascript; charset=utf-8",
    "swc.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "svc-sdk.tgz": "application/gzip",
    "svc-chat.tgz": "application/gzip",
}
_MAX_FORM_BYTES = 1_000  # a form with a code of 43 characters
_USED = "This sign-in code was already used or has expired."
_START_MARK = "{{start}}"
_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
_PAGE_HEADERS = {"Content-Security-Policy": _POLICY}
_CONFIRM_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",  # with no-referrer, the button's form would have the origin "null"
}
_UNBUILT_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
}
_FILE_HEADERS = {
    "Cache-Control": "no-cache",  # cached but revalidated, because file names do not change between versions
    "Cross-Origin-Resource-Policy": "cross-origin",  # other pages may embed the element
    "Vary": "Accept-Encoding",
}


class Start(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the page's script finds in the page: a key and the ticket for a reload, or why there is none."""

    api_key: str = ""
    ticket: str = ""
    notice: str = ""


class _File(msgspec.Struct, frozen=True):
    """A built file, plain and compressed, and its ETag."""

    plain: bytes
    compressed: bytes
    etag: str


async def page(service: Service, request: Request) -> Response:
    """GET /: the page, which asks for a key."""
    return _page(Start()) if is_built() else _unbuilt_page()


async def sign_in(service: Service, request: Request) -> Response:
    """POST /: with a code, the page that asks for confirmation; with a confirmation, the page, signed in."""
    if not is_built():
        return _unbuilt_page()
    form = parse_qs((await http.read_body(service, request, _MAX_FORM_BYTES)).decode("ascii", "replace"))
    if "confirmation" in form:
        check_own_form(request.headers)
        return await _signed_in(service, await service.sign_in_codes.confirm(form["confirmation"][0]))
    redeemed = await service.sign_in_codes.redeem(form.get("code", [""])[0])
    return _page(Start(notice=_USED), 401) if redeemed is None else _confirm_page(*redeemed)


def check_own_form(headers: Mapping[str, str]) -> None:
    """Raise InvalidRequestError unless the service's own page posted the form.

    A missing Origin is refused too: browsers send it with every POST.
    """
    origin, host = headers.get("origin", ""), headers.get("host", "")
    is_own = urlsplit(origin).netloc.lower() == host.lower() != ""
    if not is_own or headers.get("sec-fetch-site", "same-origin") != "same-origin":
        raise InvalidRequestError(
            "only the service's own page can confirm a sign-in; run `svc open` again", param="Origin"
        )


async def _signed_in(service: Service, key: KeyRecord | None) -> Response:
    if key is None:
        return _page(Start(notice=_USED), 401)
    try:
        page_key = await service.user_keys.open_page(key)
    except InvalidApiKeyError as error:
        return _page(Start(notice=error.message), 401)
    ticket = await service.page_tickets.issue(page_key.api_key, key.user_id)
    return _page(Start(api_key=page_key.api_key, ticket=ticket))


async def resume(service: Service, request: Request) -> Response:
    """POST /page/resume: the key of a page that was reloaded, for its ticket, and the next ticket."""
    form = parse_qs((await http.read_body(service, request, _MAX_FORM_BYTES)).decode("ascii", "replace"))
    check_own_form(request.headers)
    found = await service.page_tickets.redeem(form.get("ticket", [""])[0])
    if found is None:
        raise InvalidApiKeyError("this page's sign-in has ended; run `svc open` again")
    return reply(Start(api_key=found[0], ticket=found[1]))


async def file(service: Service, request: Request) -> Response:
    """GET /dist/…: a built file of the chat component or of the page, or an npm package."""
    name = request.url.path.rpartition("/")[2]
    try:
        found = _built(name)
    except FileNotFoundError as error:
        raise AddressNotFoundError(
            f"this installation was built without {name}; install the wheel: pip install --force-reinstall svc-jupyter"
        ) from error
    headers = {**_FILE_HEADERS, "ETag": found.etag}
    if found.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    is_compressed = name.endswith(".tgz")
    if "gzip" in request.headers.get("accept-encoding", "") and not is_compressed:
        return Response(found.compressed, headers={**headers, "Content-Encoding": "gzip"}, media_type=FILES[name])
    return Response(found.plain, headers=headers, media_type=FILES[name])


def is_built() -> bool:
    """Whether this installation has the scripts of the page."""
    folder = resources.files("svc.service") / "static"
    return all((folder / name).is_file() for name in FILES)


def _unbuilt_page() -> Response:
    text = (resources.files("svc.service") / "unbuilt.html").read_text("utf-8")
    return Response(text, headers=_UNBUILT_HEADERS, media_type="text/html")


def _confirm_page(key: KeyRecord, confirmation: str) -> Response:
    text = (resources.files("svc.service") / "confirm.html").read_text("utf-8")
    text = text.replace("{{confirmation}}", html.escape(confirmation)).replace("{{user}}", html.escape(key.user_id))
    return Response(text, headers=_CONFIRM_HEADERS, media_type="text/html")


def _page(start: Start, status: int = 200) -> Response:
    # The JSON is in a script element; escaping `<` keeps it from closing that element.
    data = msgspec.json.encode(start).decode().replace("<", "\\u003c")
    return Response(_template().replace(_START_MARK, data), status, headers=_PAGE_HEADERS, media_type="text/html")


@functools.cache
def _template() -> str:
    return (resources.files("svc.service") / "page.html").read_text("utf-8")


@functools.cache
def _built(name: str) -> _File:
    plain = (resources.files("svc.service") / "static" / name).read_bytes()
    return _File(plain, gzip.compress(plain, mtime=0), f'W/"{hashlib.sha256(plain).hexdigest()[:32]}"')
