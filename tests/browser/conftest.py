"""One server and one browser for all tests of this folder; every page's console is watched."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from browser_reading import settle
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = ROOT / "screenshots"
START_SECONDS = 60
SIZES = {"1280": {"width": 1280, "height": 800}, "1440": {"width": 1440, "height": 900}}
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# A page opened by its own link probes these two below its own path; Streamlit's way, not a fault.
_PROBES = ("/_stcore/health", "/_stcore/host-config")
OpenPage = Callable[..., Page]

# Nothing is timed here: a busy machine may take its time.
expect.set_options(timeout=20_000)


def _chromium() -> str:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail("no Chromium found; `make test` installs it, or: apt-get install chromium")
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the app on a free loopback port, with a data folder of its own; yield its address."""
    port = _free_port()
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py")]
    options = {
        "server.headless": "true",
        "server.address": "127.0.0.1",
        "server.port": str(port),
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",
    }
    flags = [part for name, value in options.items() for part in (f"--{name}", value)]
    process = subprocess.Popen(
        [*command, *flags],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TILEVIZ_DATA": str(tmp_path_factory.mktemp("served")),
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(address, process)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=20)


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            pytest.fail(f"the app ended while starting, exit status {process.returncode}")
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"the app did not answer within {START_SECONDS} seconds")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=_chromium(), args=list(_ARGUMENTS))
        yield started
        started.close()


@pytest.fixture(scope="session")
def contexts(browser: Browser) -> Iterator[dict[str, BrowserContext]]:
    """One browser profile a theme, so that scripts are fetched and compiled once."""
    made = {
        theme: browser.new_context(
            color_scheme=theme,
            viewport=SIZES["1280"],
            accept_downloads=True,
            reduced_motion="reduce",  # a tenth of a page's opening is spent on fading
        )
        for theme in ("light", "dark")
    }
    yield made
    for context in made.values():
        context.close()


@pytest.fixture
def open_page(server: str, contexts: dict[str, BrowserContext]) -> Iterator[OpenPage]:
    """Return a function that opens a link cold, in a session of its own.

    At the end of the test the console must hold no error, and the page no traceback.
    """
    opened: list[Page] = []
    faults: list[str] = []

    def open_(link: str, *, theme: str = "light", size: str = "1280") -> Page:
        page = contexts[theme].new_page()
        opened.append(page)
        page.set_viewport_size(SIZES[size])
        page.on("console", lambda message: faults.extend(_faults(message)))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(server + link)
        settle(page)
        return page

    yield open_
    for page in opened:
        assert page.get_by_test_id("stException").count() == 0
        page.close()
    assert faults == []


def _faults(message: ConsoleMessage) -> list[str]:
    if message.type != "error":
        return []
    path = urlsplit(str(message.location.get("url", ""))).path
    below_a_page = path.count("/") == 3 and path.endswith(_PROBES)
    if below_a_page and "404" in message.text:
        return []
    return [f"{message.text} ({path})"]


@pytest.fixture
def settled() -> Callable[[Page], None]:
    """Return the function that waits for a page to come to rest."""
    return settle


@pytest.fixture
def picture() -> Callable[[Page, str], Path | None]:
    """Return a function that saves the whole page, for people to look at; None unless asked to.

    With ``TILEVIZ_SCREENSHOTS=1`` the pictures lie in ``screenshots/``. They are a minute's work.
    """

    def save(page: Page, name: str) -> Path | None:
        if os.environ.get("TILEVIZ_SCREENSHOTS") != "1":
            return None
        SCREENSHOTS.mkdir(exist_ok=True)
        size = page.viewport_size or SIZES["1280"]
        height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        page.set_viewport_size({"width": size["width"], "height": max(size["height"], height)})
        settle(page)
        page.mouse.move(0, 0)
        path = SCREENSHOTS / f"{name}.png"
        page.screenshot(path=path)
        page.set_viewport_size(size)
        return path

    return save
