"""The page in a real browser: it opens in silence, sorts, filters, changes its theme."""

from __future__ import annotations

import pytest
from tests.report.browser import open_browser
from tests.report.cases import fitted

from featurewright.report import write_report

HOSTILE = {
    "names": [
        "<script>window.hacked = 1</script>",
        "\"><img src=x onerror='window.hacked = 2'>",
        "\u202etxt.exe\u2066 \u05d0\u05d1\u05d2 \x00\x1b[31m",
        "n" * 10_000,
    ],
    "labels": [
        "</script><script>window.hacked = 3</script>",
        "' onmouseover='window.hacked = 4",
        "</style><style>body { display: none }</style>",
        "{{ 7 * 7 }}" + "z" * 10_000,
    ],
    "target": "</title><script>window.hacked = 5</script>",
}
FIRST_FORMULAS = (
    "Array.from(document.querySelectorAll('#features-table tbody tr'))"
    ".filter(row => !row.hidden).map(row => row.dataset.text)"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    yield from open_browser(tmp_path_factory.mktemp("browser"))


@pytest.fixture
def page(browser, tmp_path):
    """Return a function that opens the report of a stand-in."""

    def show(**case):
        path = tmp_path / "report.html"
        write_report(fitted(**case), path)
        browser.open(path)
        return browser

    return show


CASES = [{}, {"task": "regression"}, {"keep_original": True}, HOSTILE]


@pytest.mark.parametrize("case", CASES, ids=["classes", "numbers", "original", "hostile"])
def test_opens_in_silence_and_asks_for_nothing(page, case):
    browser = page(**case)
    assert browser.complaints() == []
    assert len(browser.requests()) == 1  # the file itself
    assert browser.run("document.querySelector('h1').textContent").strip()


def test_hostile_names_and_labels_do_nothing(page):
    browser = page(**HOSTILE)
    assert browser.run("window.hacked") is None
    assert browser.run("document.scripts.length") == 1
    assert browser.run("document.images.length") == 0
    assert browser.run("document.querySelectorAll('style').length") == 1
    assert browser.run("getComputedStyle(document.body).display") == "block"
    assert "49" not in browser.run("document.querySelector('.labels').textContent")
    # Sorting and filtering move the names about: still nothing happens.
    browser.run("document.querySelectorAll('thead button').forEach(button => button.click())")
    browser.run(
        "for (const field of document.querySelectorAll('input')) {"
        "field.value = '<script>'; field.dispatchEvent(new Event('input')); }"
    )
    assert browser.run("window.hacked") is None
    assert browser.complaints() == []


def test_injected_scripts_and_requests_are_refused(page):
    browser = page()
    browser.run(
        "const s = document.createElement('script'); s.textContent = 'window.hacked = 1';"
        "document.body.append(s); fetch('https://example.org/').catch(() => {}); 0"
    )
    assert browser.run("window.hacked") is None
    assert any("Content Security Policy" in str(event) for event in browser.complaints())


def test_sorts_by_a_header(page):
    browser = page()
    first = browser.run(FIRST_FORMULAS)
    press = "document.querySelectorAll('#features-table thead button')[{}].click()"
    state = "document.querySelectorAll('#features-table thead th')[{}].getAttribute('aria-sort')"
    browser.run(press.format(2))
    assert browser.run(state.format(2)) == "descending"
    assert browser.run(FIRST_FORMULAS) == first
    browser.run(press.format(2))
    assert browser.run(state.format(2)) == "ascending"
    assert browser.run(FIRST_FORMULAS) == first[::-1]
    browser.run(press.format(1))
    browser.run(press.format(1))
    assert browser.run(FIRST_FORMULAS) == browser.run(
        f"{FIRST_FORMULAS}.sort((a, b) => a.localeCompare(b, undefined, {{numeric: true}}))"
    )
    assert browser.run(state.format(2)) is None


def test_rows_without_a_value_stay_last(page):
    browser = page()
    for _ in range(2):
        browser.run("document.querySelectorAll('#methods-table thead button')[3].click()")
        last = "document.querySelector('#methods-table tbody tr:last-child th').textContent"
        assert browser.run(last).strip() == "landmarks"


def test_filters_rows(page):
    browser = page()
    type_in = (
        "const field = document.getElementById('features-filter'); field.value = {!r};"
        "field.dispatchEvent(new Event('input')); field.value"
    )
    browser.run("{" + type_in.format("SQRT width") + "}")
    assert browser.run(FIRST_FORMULAS) == ["sqrt(x) + log(width)"]
    assert "1 of 6" in browser.run("document.getElementById('features-table-count').textContent")
    browser.run("{" + type_in.format("") + "}")
    assert len(browser.run(FIRST_FORMULAS)) == 6


def test_numbers_of_formulas_show_their_formulas(page):
    browser = page()
    shown = "Array.from(document.querySelectorAll('#front-formulas li:not([hidden])')).length"
    told = "document.getElementById('front-told').textContent"
    assert browser.run(shown) == 6
    assert "6 formulas (chosen)" in browser.run(told)
    browser.run("document.querySelectorAll('.front button')[2].click()")
    assert browser.run(shown) == 2
    assert browser.run(told).startswith("2 formulas: accuracy 80.8%")
    # A point does the same, and so do the arrows.
    browser.run(
        "document.querySelectorAll('.front g')[1].querySelector('.target')"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    assert browser.run(shown) == 1
    browser.run("document.querySelectorAll('.front button')[1].focus()")
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="ArrowLeft", code="ArrowLeft")
    assert browser.run("document.activeElement.dataset.count") == "0"
    assert browser.run(shown) == 0
    assert browser.complaints() == []


def test_long_formulas_wrap(page):
    long = "a long name of a column that goes on and on and on"
    browser = page(names=[f"{long} {k}" for k in range(4)])
    assert browser.run("document.querySelectorAll('.too-wide').length") > 0
    scrolls = "Array.from(document.querySelectorAll('.formula div, .formula .text'))"
    assert browser.run(f"{scrolls}.every(e => e.scrollWidth <= e.clientWidth + 1)")
    browser = page()
    assert browser.run("document.querySelectorAll('.too-wide').length") == 0


def test_switches_theme(page):
    browser = page()
    ground = "getComputedStyle(document.body).backgroundColor"
    before = browser.run(ground)
    browser.run("document.getElementById('theme').click()")
    assert browser.run(ground) != before
    assert browser.run("document.documentElement.dataset.theme") == "dark"
    browser.run("document.getElementById('theme').click()")
    assert browser.run(ground) == before
    assert browser.complaints() == []
    browser.run("localStorage.clear()")


def test_follows_the_system_into_the_dark(page):
    browser = page()
    ground = "getComputedStyle(document.body).backgroundColor"
    before = browser.run(ground)
    dark = {"name": "prefers-color-scheme", "value": "dark"}
    browser.call("Emulation.setEmulatedMedia", features=[dark])
    assert browser.run(ground) != before
    browser.call("Emulation.setEmulatedMedia", media="print", features=[dark])
    assert browser.run(ground) == "rgb(255, 255, 255)"
    assert browser.run("getComputedStyle(document.getElementById('theme')).display") == "none"
    browser.call("Emulation.setEmulatedMedia", media="", features=[])


@pytest.mark.parametrize("width", [390, 700, 850, 1000])
@pytest.mark.parametrize("case", [{}, HOSTILE], ids=["classes", "hostile"])
def test_fits_on_phones_and_in_frames(page, case, width):
    browser = page(**case)
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=844,
        deviceScaleFactor=1,
        mobile=True,
    )
    try:
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.run("window.innerWidth") == width
    finally:
        browser.call("Emulation.clearDeviceMetricsOverride")


def test_can_be_used_with_the_keyboard_alone(page):
    browser = page()
    reachable = browser.run(
        "Array.from(document.querySelectorAll('button, input')).every(e => e.tabIndex === 0)"
    )
    assert reachable
    unnamed = browser.run(
        "Array.from(document.querySelectorAll('input'))"
        ".filter(field => field.labels.length === 0 && !field.ariaLabel).length"
    )
    assert unnamed == 0


def test_contrast_is_enough_in_both_themes(page):
    browser = page()
    script = """
    (function () {
      function light(color) {
        const parts = color.match(/[\\d.]+/g).map(Number).slice(0, 3).map(function (part) {
          part /= 255;
          return part <= 0.03928 ? part / 12.92 : Math.pow((part + 0.055) / 1.055, 2.4);
        });
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
      }
      function ground(element) {
        for (; element; element = element.parentElement) {
          const color = getComputedStyle(element).backgroundColor;
          if (!/, 0\\)$/.test(color)) return color;
        }
        return 'rgb(255, 255, 255)';
      }
      let worst = 21;
      for (const element of document.querySelectorAll('h1, h2, p, td, th, dt, dd, small, button,'
          + 'span, code, li, footer')) {
        if (!element.textContent.trim() || !element.checkVisibility()) continue;
        const a = light(getComputedStyle(element).color), b = light(ground(element));
        worst = Math.min(worst, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
      }
      return worst;
    })()
    """
    assert browser.run(script) >= 4.5
    browser.run("document.documentElement.dataset.theme = 'dark'")
    assert browser.run(script) >= 4.5
