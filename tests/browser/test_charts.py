"""Charts measured in a browser: no text covers another or leaves the picture, at any width, for any labels."""

from __future__ import annotations

import random
import unicodedata
from datetime import datetime, timedelta

import pytest
from playwright.sync_api import Browser, Page

from svc.assistant.findings import Severity
from svc.assistant.skills.charts import (
    Bar,
    Branch,
    ChartEvent,
    ChartMark,
    Crossing,
    GridRow,
    Periods,
    Series,
    bars,
    columns,
    grid,
    lanes,
    tree,
)
from svc.assistant.skills.charts.drawing import width_of
from svc.assistant.skills.charts.palette import STYLE
from svc.assistant.skills.skill import Picture
from tests.support.sampling import sampled

OPEN = ["10.0.0.7", "2001:db8:aaaa:bbbb:cccc:dddd:eeee:1", "powershell.exe -enc " + "A" * 300, "登录失败", "دخول"]
HELD = [
    "W" * 90, "⟦U+202E⟧" * 9, "\u202egnp.exe" * 5, "ﷺ" * 30, "﷽ x", "Ж" * 60, "漢字" * 40, "שלום עולם " * 12, "𒐫" * 20,
    "👩‍👩‍👧‍👦" * 20, "Z̸̡̢̛̗̘̙̜̝̞̟̠̤̥̦̩̪̫̬̭̮̯̰̱̲̳̹̺̻̼͇͈͉͍͎̀́̂̃̄̅̆̇̈̉̊̋̌̍̎̏̐̑̒̓̔̽̾̿̀́͂̓̈́͆͊͋͌̕̚" * 4, "ക്ഷ്മി" * 30, "</text><text x='0' y='9'>",
]  # fmt: skip
SPANS = [1, 45, 3_600, 86_400 * 2, 86_400 * 400, 86_400 * 1_826]
COVERED = """(width) => {
  const found = [];
  const shown = [...document.querySelectorAll("text")].filter((one) => getComputedStyle(one).display !== "none");
  const boxes = shown.map((one) => [one.getBoundingClientRect(), one.textContent]);
  boxes.forEach(([one, words], number) => {
    if (one.left < -0.5 || one.right > width + 0.5) found.push(`${words} leaves ${one.left} ${one.right}`);
    for (const [other, more] of boxes.slice(number + 1)) {
      const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (across > 0.5 && down > 3) found.push(`${words} | ${more}`);
    }
  });
  return [found, shown.length];
}"""

WIDTHS = """([letters, classes]) => {
  const text = document.querySelector("text");
  text.setAttribute("class", classes);
  return letters.map((letter) => {
    text.textContent = letter.repeat(10);
    return text.getComputedTextLength() / 10;
  });
}"""


def drawn(labels: list[str], count: int, seconds: float, seed: int) -> list[Picture]:
    """All kinds of charts of ``count`` items over a span, with the labels."""
    chance = random.Random(seed)
    start = datetime(2026, 3, 1) + timedelta(seconds=chance.random() * 86_400 * 300)
    named = [chance.choice(labels) for _ in range(count)]
    severities = list(Severity)
    marks = [
        ChartMark(
            time=start + timedelta(seconds=chance.random() * seconds),
            lane=name,
            label=name,
            severity=chance.choice(severities),
        )
        for name in named
    ]
    series = [Series(label=name, counts=[chance.randint(0, 10**9) for _ in range(40)], ask="?") for name in labels]
    events = [
        ChartEvent(time=start + timedelta(seconds=chance.random() * seconds), label=name, tip=name)
        for name in named[:5]
    ]
    periods = Periods(start=start, seconds=seconds / 40, unit="log lines about failures", zone="zone not stated")
    nodes = [Branch(label=name, note=name, severity=chance.choice(severities)) for name in named]
    values = [Bar(label=name, value=chance.random(), note=name, severity=chance.choice(severities)) for name in named]
    return [
        *lanes(labels[0], marks, zone="zone not stated", least=1),
        *columns(labels[-1], periods, series, events, event_words="accepted login"),
        *bars(labels[0], values, unit=labels[-1], least=1),
        *tree(labels[0], [Branch(label=labels[0], children=tuple(nodes))]),
        *grid(labels[0], [crossed(name, labels[: 1 + number % 9], severities) for number, name in enumerate(named)]),
    ]


def crossed(name: str, places: list[str], severities: list[Severity]) -> GridRow:
    crossings = {place: Crossing(label=name, severity=severities[len(place) % 5]) for place in places}
    return GridRow(label=name, note="same name", crossings=crossings)


def covered(page: Page, pictures: list[Picture], width: int) -> list[str]:
    page.set_viewport_size({"width": width, "height": 600})
    found = []
    for picture in pictures:
        page.set_content(f"<body style='margin:0'>{picture.svg}")
        texts, count = page.evaluate(COVERED, width)
        assert count >= 2
        found += texts
    return found


@pytest.fixture(scope="module")
def page(browser: Browser):
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("width", sampled([280, 320, 559, 560, 1_024], 2))
@pytest.mark.parametrize("labels", [OPEN, HELD], ids=["open", "held"])
def test_no_text_covers_another(page: Page, labels: list[str], width: int):
    for seed, (count, seconds) in enumerate(zip((1, 3, 6, 40, 300, 2_000), SPANS, strict=True)):
        assert covered(page, drawn(labels, count, seconds, seed), width) == []


def test_no_letter_is_wider_than_its_estimate(page: Page):
    letters = [chr(code) for code in range(0x20, 0x700) if unicodedata.category(chr(code))[0] in "LNPSZ"]
    page.set_content(f"<svg xmlns='http://www.w3.org/2000/svg'><style>{STYLE}</style><text></text></svg>")
    for classes, size in (("", 12), ("name", 15)):
        widths = page.evaluate(WIDTHS, [letters, classes])
        found = {letter: (width, width_of(letter, size)) for letter, width in zip(letters, widths, strict=True)}
        wide = {
            letter: pair for letter, pair in found.items() if pair[0] > pair[1] * 1.02
        }  # the margins have room for it
        assert wide == {}
