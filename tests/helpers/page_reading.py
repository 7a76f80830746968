"""What the tests of several pages read from an app without a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import unescape
from typing import Any

from streamlit.testing.v1 import AppTest

_TAG = re.compile(r"<[^>]+>")


def page_html(test: AppTest) -> str:
    """Return everything that was drawn as HTML, style left out."""
    bodies = [element.proto.body for element in test.get("html")]
    return "\n".join(body for body in bodies if not body.startswith("<style"))


def page_words(test: AppTest) -> str:
    """Return the words of that HTML, tags left out."""
    return unescape(_TAG.sub("", page_html(test)))


def spaced_words(test: AppTest) -> str:
    """Return the words of that HTML with a space for each tag, so that cells stay apart."""
    return unescape(_TAG.sub(" ", page_html(test)))


def page_address(test: AppTest) -> dict[str, str]:
    """Return the keys of the address bar."""
    return {
        key: value[0] if isinstance(value, list) else value
        for key, value in test.query_params.items()
    }


def put_address(test: AppTest, query: Mapping[str, str]) -> None:
    """Make the browser report another address with the next run."""
    test.query_params.clear()
    for key, value in query.items():
        test.query_params[key] = value


def page_charts(test: AppTest) -> list[dict[str, Any]]:
    """Return every chart as Plotly's document."""
    return [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]
