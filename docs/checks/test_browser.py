"""The site in a real browser: no errors, readable on a phone, in light and in dark."""

from __future__ import annotations

import functools
import http.server
import threading
from pathlib import Path

import pytest
from tests.report.browser import open_browser

SITE = Path(__file__).parents[1] / "_build" / "html"
PAGES = [
    "index.html",
    "start/tutorial/plot_tutorial.html",
    "reference/generated/featurewright.AutoFeatures.html",
    "reference/operators.html",
    "reference/cli.html",
    "auto_examples/index.html",
    "auto_examples/methods/plot_04_kernel_maps.html",
    "results.html",
]


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serve files in silence."""

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture(scope="module")
def address():
    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    yield from open_browser(tmp_path_factory.mktemp("browser"))


def show(browser, url, width=1280):
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=844,
        deviceScaleFactor=1,
        mobile=width < 600,
    )
    browser.open_address(url)


def is_error(event):
    """Whether an event is an exception, a failed request or a message of an error or warning."""
    return event["params"].get("type") not in ("log", "info", "debug")


@pytest.mark.parametrize("page", PAGES)
def test_opens_without_errors_and_asks_no_other_server(browser, address, page):
    show(browser, f"{address}/{page}")
    assert [event for event in browser.complaints() if is_error(event)] == []
    assert {url for url in browser.requests() if not url.startswith((address, "data:"))} == set()
    assert browser.run("document.querySelector('h1').textContent").strip()
    broken = (
        "Array.from(document.images).filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
    )
    assert browser.run(broken) == []


@pytest.mark.parametrize("page", PAGES)
def test_does_not_scroll_sideways_on_a_phone(browser, address, page):
    show(browser, f"{address}/{page}", width=390)
    assert browser.run("document.documentElement.scrollWidth") <= 390


def test_has_a_dark_theme_a_search_and_versions(browser, address):
    show(browser, f"{address}/index.html")
    background = "getComputedStyle(document.body).backgroundColor"
    light = browser.run("document.documentElement.dataset.theme = 'light'; " + background)
    dark = browser.run("document.documentElement.dataset.theme = 'dark'; " + background)
    assert light != dark
    assert browser.run("document.querySelectorAll('.version-switcher__button').length") >= 1
    assert browser.run("document.querySelectorAll('.search-button, .search-button__button').length")
    assert browser.run("fetch('searchindex.js').then(() => 0) && typeof window.fetch") == "function"
