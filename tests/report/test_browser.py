"""The report in a real browser: it works, and asks for nothing."""

import time
from pathlib import Path

import pytest

from tests.report.browser import Browser, missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "browser is here")

DOWN, RIGHT, ESCAPE = "\ue015", "\ue014", "\ue00c"


@pytest.fixture(scope="module")
def browser(page, tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as window:
        window.requests()  # those of the empty first tab
        window.open(page)
        yield window


def column(browser, number):
    return browser.script(
        "return [...document.querySelectorAll('table.sortable tbody tr')]"
        ".map(row => row.cells[arguments[0]].textContent)",
        number,
    )


def tip(browser):
    return browser.script(
        "const t = document.getElementById('tip');"
        "return t.hidden ? null : t.textContent"
    )


def test_no_network_and_no_complaints(browser, page):
    asked = browser.requests()
    assert asked[0] == page.resolve().as_uri()
    assert [url for url in asked[1:] if not url.startswith("data:")] == []
    assert browser.console() == []


def test_names_are_shown_as_text(browser):
    assert "<script>alert(1)</script>" in browser.script(
        "return document.querySelector('h1').textContent"
    )
    assert browser.script("return document.querySelectorAll('img').length") == 1


def test_the_table_sorts(browser):
    browser.click("table.sortable th:nth-child(2) button")
    falling = column(browser, 1)
    assert falling == sorted(falling, key=float, reverse=True)
    browser.click("table.sortable th:nth-child(2) button")
    assert column(browser, 1) == sorted(falling, key=float)
    head = "return document.querySelector('th[aria-sort]').getAttribute('aria-sort')"
    assert browser.script(head) == "ascending"
    browser.click("table.sortable th:nth-child(1) button")
    titles = column(browser, 0)
    assert titles == sorted(titles, key=str.casefold, reverse=True)


def test_the_mouse_shows_texts(browser):
    browser.hover("svg.chart rect.plus[data-tip]")
    assert "eigenvalue 1:" in tip(browser)
    browser.hover("svg.chart g.class0[data-tip]")
    assert "good" in tip(browser) or "<script>" in tip(browser)
    browser.hover("h1")
    assert tip(browser) is None


def test_the_keyboard_shows_texts(browser):
    browser.keys("svg.chart", RIGHT)
    first = tip(browser)
    assert "95 % interval" in first
    browser.keys("svg.chart", DOWN)
    assert tip(browser) not in (None, first)
    browser.keys("svg.chart", ESCAPE)
    assert tip(browser) is None


def test_one_method_is_shown_at_a_time(browser):
    shown = (
        "return [...document.querySelectorAll('.pick')].filter(p => !p.hidden)"
        ".map(p => p.dataset.method)"
    )
    assert len(browser.script(shown)) == 1
    browser.script(
        "const s = document.querySelector('select.methods'); s.value = 'clip';"
        "s.dispatchEvent(new Event('change'))"
    )
    assert browser.script(shown) == ["clip"]


CONTRAST = """
const light = (colour) => {
  const parts = colour.match(/[0-9.]+/g).slice(0, 3).map(Number).map((v) => {
    v /= 255;
    return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
};
const page = light(getComputedStyle(document.body).backgroundColor);
const worst = ["body", ".about", "a", ".note", "dd", "footer"].map((selector) => {
  const text = light(getComputedStyle(document.querySelector(selector)).color);
  return (Math.max(text, page) + 0.05) / (Math.min(text, page) + 0.05);
});
return Math.min(...worst);
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_in_light_and_dark(browser, scheme):
    browser.emulate(scheme)
    dark = "return matchMedia('(prefers-color-scheme: dark)').matches"
    assert browser.script(dark) == (scheme == "dark")
    assert browser.script(CONTRAST) >= 4.5  # WCAG 2 level AA


def test_a_phone_needs_no_sideways_scrolling(browser):
    browser.resize(390, 844)
    width = browser.script("return document.documentElement.scrollWidth")
    assert width <= browser.script("return innerWidth")
    browser.resize(1200, 900)


SMALLEST_TEXT = """
return Math.min(...[...document.querySelectorAll('svg.chart')].flatMap((chart) => {
  const unit = chart.getBoundingClientRect().width / chart.viewBox.baseVal.width;
  return [...chart.querySelectorAll('text')].map(
    (text) => unit * parseFloat(getComputedStyle(text).fontSize));
}));
"""


@pytest.mark.parametrize("width", [390, 700, 1280])
def test_text_in_charts_can_be_read(browser, width):
    browser.resize(width, 900)
    assert browser.script(SMALLEST_TEXT) >= 12
    browser.resize(1200, 900)


def test_a_phone_shows_that_tables_scroll(browser):
    browser.resize(390, 844)
    hint = (
        "const t = document.querySelector('.wide'); return ["
        "t.scrollWidth > t.clientWidth, getComputedStyle(t, '::before').content]"
    )
    scrolls, text = browser.script(hint)
    assert scrolls
    # The page marks its tables when the browser tells it of the new width.
    for _ in range(50):
        if "scrolls sideways" in text:
            break
        time.sleep(0.1)
        _, text = browser.script(hint)
    assert "scrolls sideways" in text
    browser.resize(1200, 900)


def test_paper_shows_every_method_by_name(browser):
    """Nothing can be picked on paper."""
    shown = (
        "return [...document.querySelectorAll('.pick h4')].filter("
        "h => h.getClientRects().length).map(h => h.textContent)"
    )
    assert browser.script(shown) == []
    browser.emulate("light", media="print")
    titles = column(browser, 0)
    assert sorted(browser.script(shown)) == sorted(titles)
    hidden = "return document.querySelector('.picker').getClientRects().length"
    assert browser.script(hidden) == 0
    browser.emulate("light")


def test_alerts_and_verdict_are_seen_first(browser):
    order = browser.script(
        "return ['.answer', 'details', 'svg.chart', '.mistakes'].map("
        "s => document.querySelector(s).getBoundingClientRect().top)"
    )
    assert order == sorted(order)


@pytest.mark.slow
def test_the_demo_opens(tmp_path):
    from krein.report.demo import write_demo

    path = Path(write_demo(tmp_path / "demo")["report"])
    with Browser(tmp_path / "profile") as window:
        window.requests()
        window.open(path)
        asked = [url for url in window.requests() if not url.startswith("data:")]
        assert asked == [path.resolve().as_uri()]
        assert window.console() == []
        charts = "return document.querySelectorAll('svg.chart').length"
        assert window.script(charts) == 6
        window.hover("#case1 svg.chart g[data-tip]")
        assert "95 % interval" in tip(window)
