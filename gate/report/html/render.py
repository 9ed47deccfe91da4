"""The page as one HTML file: nothing is loaded, nothing is sent, and text from outside is never markup.

Three nets, one below the other: the template escapes, the script only ever sets text, and the page's own policy allows
no script and no style but the two it carries (by their hashes), no request and no trusted markup.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gate.documents import Json
from gate.report.html.data import data
from gate.report.html.head import head
from gate.report.html.page import Page
from gate.report.html.summary import identity, summary
from gate.report.html.texts import all_shown

HERE = Path(__file__).parent
STYLES = ("page.css", "chart.css")
SCRIPTS = ("base.js", "axis.js", "lane.js", "detail.js", "chart.js", "page.js")


def render(page: Page) -> str:
    """The whole page."""
    style = "\n".join((HERE / "static" / name).read_text(encoding="utf-8") for name in STYLES)
    parts = "\n".join((HERE / "static" / name).read_text(encoding="utf-8") for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{parts}}})();\n'
    environment = Environment(
        loader=FileSystemLoader(HERE / "static"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2").render(
        policy=policy(style, script),
        style=Markup(style),  # noqa: S704 - a file of this package
        script=Markup(script),  # noqa: S704 - files of this package
        data=Markup(in_script(all_shown(data(page)))),  # noqa: S704 - escaped by in_script
        head=all_shown(head(page)),
        summary=all_shown(summary(page)),
        identity=all_shown(identity(page)),
    )


def policy(style: str, script: str) -> str:
    """The content security policy of a page with this style sheet and this script."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )


def in_script(value: Json) -> str:
    """`value` as JSON that can stand in a script element: no `<`, `>` or `&`, so that nothing in it can end it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for char, code in (
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("&", "\\u0026"),
        ("\u2028", "\\u2028"),
        ("\u2029", "\\u2029"),
    ):
        text = text.replace(char, code)
    return text


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
