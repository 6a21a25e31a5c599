"""``<svc-chat>`` without a mouse and without eyes: a session by keyboard, and the tree that screen readers read."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_chat import ShowChat, allowed, answers, show_chat, site
from tests.support.assistants.scripted import Echo

__all__ = ["allowed", "show_chat", "site"]  # fixtures
MOST_TABS = 40
FOCUSED = """() => {
    let found = document.activeElement;
    while (found?.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
    return found?.getAttribute("aria-label") || found?.textContent?.trim() || found?.tagName || "";
}"""


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the control of this name has the focus."""
    passed: list[str] = []
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        passed.append(page.evaluate(FOCUSED))
        if name in passed[-1]:
            return
    raise AssertionError(f"Tab does not lead to {name}, but to {passed}")


def tree(page: Page) -> list[tuple[str, str, dict[str, Any]]]:
    """Role, name and properties of what Chromium gives to screen readers."""
    nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    return [
        (
            node["role"]["value"],
            node.get("name", {}).get("value", ""),
            {one["name"]: one["value"].get("value") for one in node.get("properties", ())},
        )
        for node in nodes
        if not node["ignored"]
    ]


@pytest.mark.slow
def test_a_session_by_keyboard_alone(show_chat: ShowChat, allowed):
    page = show_chat(allowed(Echo))
    expect(page.get_by_label("Question")).to_be_enabled()

    tab_to(page, "Question")
    page.keyboard.type("what is it?")
    page.keyboard.press("Enter")
    expect(answers(page)).to_have_count(1)
    assert page.evaluate(FOCUSED) == "Question"  # the next question can be typed at once

    page.keyboard.type("and then?")
    tab_to(page, "Send")
    page.keyboard.press("Enter")
    expect(answers(page)).to_have_count(2)
    expect(answers(page).last).to_contain_text("and then?")


def test_the_tree_of_a_screen_reader_has_names_roles_and_announcements(show_chat: ShowChat, allowed):
    page = show_chat(allowed(Echo))
    box = page.get_by_label("Question")
    expect(box).to_be_enabled()
    box.fill("what is it?")
    box.press("Enter")
    expect(answers(page)).to_have_count(1)
    status = page.locator("svc-chat [role=status]").first
    expect(status).to_contain_text("Answer ready", timeout=10_000)

    nodes = tree(page)
    controls = {"button", "textbox", "link", "combobox", "checkbox", "switch", "radio", "tab", "menuitem"}
    assert [node for node in nodes if node[0] in controls and not node[1].strip()] == []
    named = {(role, name) for role, name, _ in nodes}
    assert ("textbox", "Question") in named
    assert any(role == "button" and "Send" in name for role, name in named)
    live = {role: properties for role, _, properties in nodes if properties.get("live")}
    assert live["status"]["live"] == "polite"
    texts = " ".join(name for role, name, _ in nodes if role == "StaticText")
    assert "Answer ready" in texts
    assert "0 files, 0 earlier" in texts
    assert sum(role == "article" for role, _, _ in nodes) == 1
