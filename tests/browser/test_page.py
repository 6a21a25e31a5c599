"""The service's page in Chromium: signed in by ``svc open``'s file, or by a key; keys made, shown once, revoked."""

from __future__ import annotations

import html
import re
import urllib.parse
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from svc import Svc
from svc.cli.open import write_form
from tests.support.live import ThreadService
from tests.support.watched import OpenPage

AXE = Path(__file__).parents[2] / "labextension" / "node_modules" / "axe-core" / "axe.min.js"
SECRETS_IN_THE_PAGE = """() => JSON.stringify([
  location.href, document.cookie, {...localStorage}, {...sessionStorage}, performance.getEntries().map(e => e.name),
  history.state, document.referrer,
])"""


def write_file(service: ThreadService, folder: Path) -> Path:
    """What ``svc open`` writes for this service."""
    with Svc(service.key, service.base_url) as client:
        return write_form(folder, f"{service.base_url}/", client.make_page_code())


def sign_in(page: Page, service: ThreadService, key: str | None = None) -> None:
    page.goto(service.base_url)
    page.get_by_label("Or enter an API key").fill(key or service.key)
    page.get_by_role("button", name="Sign in").click()


def open_file(page: Page, address: str) -> None:
    """Open the file of ``svc open`` and confirm the sign-in."""
    page.goto(address)
    page.get_by_role("button", name="Sign in").click()


@pytest.fixture
def signed_in(open_page: OpenPage, service: ThreadService, tmp_path: Path) -> Page:
    """The page as ``svc open`` shows it."""
    page = open_page().page
    open_file(page, write_file(service, tmp_path).as_uri())
    expect(page.get_by_role("button", name="API keys")).to_be_visible()
    return page


def test_the_file_of_svc_open_shows_the_page_signed_in(signed_in: Page, service: ThreadService):
    expect(signed_in.locator(".user")).to_have_text("local")
    expect(signed_in.locator("svc-chat")).to_be_attached()
    assert signed_in.url == f"{service.base_url}/"


def test_no_key_is_in_address_cookie_storage_or_history(signed_in: Page):
    seen = signed_in.evaluate(SECRETS_IN_THE_PAGE)
    assert "svc_" not in seen.replace("svc_theme", "")
    assert signed_in.context.cookies() == []
    assert "svc_" not in signed_in.evaluate("() => document.head.outerHTML")


def test_the_pages_key_is_not_the_one_that_opened_it(signed_in: Page, service: ThreadService):
    key = signed_in.locator("svc-chat").get_attribute("api-key")
    assert key != service.key
    assert re.fullmatch(r"svc_\w{49}", key)


def test_a_reload_keeps_the_tab_signed_in_and_its_session_and_does_not_resend_the_code(signed_in: Page):
    key = signed_in.locator("svc-chat").get_attribute("api-key")
    signed_in.get_by_label("Question").fill("who?")
    signed_in.keyboard.press("Enter")
    expect(signed_in.locator("article.turn .answer")).to_contain_text("0 files, 0 earlier")
    for _ in range(2):
        signed_in.reload()
        expect(signed_in.locator("article.turn .answer")).to_contain_text("0 files, 0 earlier")
        assert signed_in.locator("svc-chat").get_attribute("api-key") == key
    seen = signed_in.evaluate(SECRETS_IN_THE_PAGE)
    assert key not in seen
    assert signed_in.context.cookies() == []

    other = signed_in.context.new_page()  # a ticket is its tab's
    other.goto(signed_in.url)
    expect(other.get_by_label("Or enter an API key")).to_be_visible()


def test_after_signing_out_a_reload_stays_signed_out(signed_in: Page):
    signed_in.get_by_role("button", name="Sign out").click()
    expect(signed_in.get_by_role("alert")).to_have_text("You are signed out.")
    signed_in.reload()
    expect(signed_in.get_by_label("Or enter an API key")).to_be_visible()
    assert signed_in.evaluate("() => sessionStorage.length") == 0


def test_a_typed_key_is_forgotten_by_a_reload(open_page: OpenPage, service: ThreadService):
    page = open_page().page
    sign_in(page, service)
    expect(page.get_by_role("button", name="API keys")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Or enter an API key")).to_be_visible()
    expect(page.locator(".notice")).to_be_empty()


def test_a_ticket_that_has_ended_leads_to_the_sign_in_with_what_to_do(signed_in: Page):
    signed_in.evaluate("() => sessionStorage.setItem('svc-page-ticket', 'x')")
    signed_in.reload()
    expect(signed_in.get_by_role("alert")).to_contain_text("sign-in has ended. Run `svc open` again")


def test_a_file_that_was_already_used_is_rejected_with_a_message(
    open_page: OpenPage, service: ThreadService, tmp_path: Path
):
    page = open_page().page
    file = write_file(service, tmp_path).as_uri()
    open_file(page, file)
    expect(page.get_by_role("button", name="API keys")).to_be_visible()
    page.goto(file)
    expect(page.get_by_role("alert")).to_contain_text("already used")


def test_a_typed_key_signs_in_and_an_invalid_one_is_reported(open_page: OpenPage, service: ThreadService):
    page = open_page().page
    sign_in(page, service, "svc_" + "0" * 49)
    expect(page.get_by_role("alert")).to_contain_text("invalid")
    sign_in(page, service)
    expect(page.get_by_role("button", name="API keys")).to_be_visible()


def test_a_key_is_created_shown_once_and_revoked(signed_in: Page, service: ThreadService):
    signed_in.get_by_role("button", name="API keys").click()
    dialog = signed_in.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Name").fill("laptop <b>")
    dialog.get_by_role("button", name="Create key").click()
    made = dialog.get_by_label("The new key").input_value()
    with Svc(made, service.base_url) as client:
        assert client.get_user_info().user.id == "local"

    row = dialog.get_by_role("row", name="laptop <b>")
    row.get_by_role("button", name="Revoke").click()
    row.get_by_role("button", name="Really revoke?").click()
    expect(row).to_contain_text("revoked 2")
    with service.http(made) as http:
        assert http.get("/user/info").status_code == 401

    dialog.get_by_role("button", name="Close").click()
    assert made not in signed_in.content()


def test_the_page_prints_the_conversation_dark_on_white(signed_in: Page):
    signed_in.get_by_role("button", name="Switch to the dark theme").click()
    signed_in.emulate_media(media="print")
    signed_in.get_by_label("Question").evaluate("area => { area.value = 'word '.repeat(3000) }")
    signed_in.get_by_label("Question").dispatch_event("keydown", {"key": "Enter"})
    answer = signed_in.locator("article.turn .answer")
    expect(answer).to_contain_text("0 files, 0 earlier")
    expect(signed_in.get_by_role("banner")).to_be_hidden()
    expect(answer).to_have_css("color", "rgb(27, 31, 36)")
    assert signed_in.evaluate("() => document.documentElement.scrollHeight") > 1_000


def test_signing_out_ends_the_pages_key(signed_in: Page, service: ThreadService):
    key = signed_in.locator("svc-chat").get_attribute("api-key")
    signed_in.get_by_role("button", name="Sign out").click()
    expect(signed_in.get_by_role("alert")).to_have_text("You are signed out.")
    with service.http(key) as http:
        assert http.get("/user/info").status_code == 401
    assert key not in signed_in.content()


def revoke(key: str, service: ThreadService) -> None:
    with service.http(key) as http:
        (own,) = [row["id"] for row in http.get("/key/list").json()["keys"] if row["is_asking"]]
        http.post("/key/revoke", json={"id": own})


def test_a_key_that_is_revoked_elsewhere_signs_the_page_out_as_its_stream_is_closed(
    signed_in: Page, service: ThreadService
):
    signed_in.get_by_label("Question").fill("who?")
    signed_in.keyboard.press("Enter")
    expect(signed_in.locator("article.turn .answer")).to_contain_text("0 files, 0 earlier")
    revoke(signed_in.locator("svc-chat").get_attribute("api-key"), service)
    expect(signed_in.get_by_role("alert")).to_contain_text("invalid")


def test_a_page_without_a_stream_learns_from_its_list_of_keys_that_its_own_is_revoked(
    signed_in: Page, service: ThreadService
):
    expect(signed_in.get_by_label("Model")).to_be_visible()  # the last that it asks for before the first question
    revoke(signed_in.locator("svc-chat").get_attribute("api-key"), service)
    signed_in.get_by_role("button", name="API keys").click()
    expect(signed_in.get_by_role("alert")).to_contain_text("invalid")


def test_the_theme_follows_the_system_until_one_is_chosen(open_page: OpenPage, service: ThreadService):
    page = open_page(color_scheme="dark").page
    page.goto(service.base_url)
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Switch to the light theme").click()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


def test_the_page_cannot_be_framed(open_page: OpenPage, service: ThreadService):
    page = open_page().page
    page.goto("about:blank")
    page.set_content(f'<iframe src="{service.base_url}/"></iframe>')
    frame = page.frames[-1]
    page.wait_for_timeout(300)
    assert "svc" not in frame.title()


FORM = '<form method="post" action="{address}" target="{target}"><input name="{field}" value="{code}"></form>'
SUBMIT = "<script>document.forms[0].submit()</script>"
SANDBOX = "allow-scripts allow-forms allow-popups allow-top-navigation"


@pytest.mark.parametrize("field", ["code", "confirmation"])
@pytest.mark.parametrize("how", ["form", "sandboxed iframe", "sandboxed iframe to the top", "data"])
def test_no_other_page_signs_its_visitor_in(browser: Browser, service: ThreadService, field: str, how: str):
    """The attacker's own code or confirmation, posted by the attacker's page in the victim's browser."""
    _, key = service.make_key("mallory")
    with service.http(key) as http:
        code = http.post("/page/code").json()["code"]
        if field == "confirmation":
            asked = http.post("/", data={"code": code}).text
            code = re.search(r'name="confirmation" value="([^"]+)"', asked)[1]
    page = browser.new_context().new_page()
    target = "_top" if how.endswith("top") else "_self"
    attack = FORM.format(address=f"{service.base_url}/", field=field, code=code, target=target) + SUBMIT
    page.route("https://attacker.example/", lambda route: route.fulfill(content_type="text/html", body=body))
    body = attack
    if how.startswith("sandboxed"):
        body = f'<iframe sandbox="{SANDBOX}" srcdoc="{html.escape(attack)}"></iframe>'
    elif how == "data":
        body = f'<iframe src="data:text/html,{urllib.parse.quote(attack)}"></iframe>'
    page.goto("https://attacker.example/")
    page.wait_for_timeout(1_000)

    for frame in page.frames:
        assert "svc-chat" not in frame.content()
        assert "API keys" not in frame.content()
    with service.http(key) as http:
        assert [row for row in http.get("/key/list").json()["keys"] if row["is_page"]] == []
    page.context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1_400])
def test_axe_reports_no_violations(
    installed: None, open_page: OpenPage, service: ThreadService, tmp_path: Path, theme: str, width: int
):
    page = open_page(color_scheme=theme, width=width).page
    found = {}
    page.goto(service.base_url)
    found["sign in"] = violations(page)
    page.goto(write_file(service, tmp_path).as_uri())
    found["confirm"] = violations(page)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="API keys").click()
    expect(page.get_by_role("row", name="this page")).to_be_visible()
    found["keys"] = violations(page)
    page.get_by_role("button", name="Close").click()
    found["chat"] = violations(page)
    assert found == {"sign in": [], "confirm": [], "keys": [], "chat": []}


def violations(page: Page) -> list[str]:
    """Rule and element of each fault that axe finds."""
    page.evaluate(AXE.read_text("utf-8"))
    result = page.evaluate("() => axe.run()")
    return [f"{fault['id']}: {node['html'][:150]}" for fault in result["violations"] for node in fault["nodes"]]
