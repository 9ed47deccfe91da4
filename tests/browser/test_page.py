"""The page in a real browser: it renders, its numbers are the run directory's, it is quiet, and nothing leaves it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gate.report.explain import explain_text
from gate.report.html.render import render
from gate.report.html.texts import short
from tests.browser.chromium import Chromium, Page
from tests.report.html.made import RUN, Made
from tests.report.html.scenes import HOSTILE, NAMES, SCENES
from tests.report.html.test_render import planted
from tests.report.html.test_texts import DURATIONS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium() as found:
        yield found


@cache
def made(scene: str) -> Made:
    return SCENES[scene]()


@cache
def html(scene: str) -> str:
    return render(made(scene).page())


@pytest.fixture
def show(browser: Chromium, tmp_path: Path) -> Any:
    """Opens a scene as a file from disk."""

    def opened(scene: str, **how: Any) -> Page:
        path = tmp_path / f"{scene}.html"
        path.write_text(html(scene), encoding="utf-8")
        return browser.open(path, **how)

    return opened


PROBES = Path(__file__).with_name("probes.js").read_text(encoding="utf-8").partition("\n")[2].strip()


def ask(page: Page, probe: str, *words: str) -> Any:
    """What one of the probes finds."""
    return page.evaluate(f"({PROBES}).{probe}({', '.join(map(json.dumps, words))})")


def texts(page: Page, selector: str) -> list[str]:
    found: list[str] = ask(page, "texts", selector)
    return found


SHAPES = [(1400, 900, False), (1400, 900, True), (390, 844, False), (390, 844, True)]


def test_a_page_that_is_not_quiet_is_heard(browser: Chromium, tmp_path: Path) -> None:
    path = tmp_path / "loud.html"
    loud = '<html data-ready="yes"><img src="http://gate.invalid/x"><script>console.log("one"); undefined.two</script>'
    path.write_text(loud, encoding="utf-8")
    page = browser.open(path)
    page.until("document.readyState === 'complete'")
    heard = " ".join(page.complaints())
    assert "one" in heard
    assert "TypeError" in heard
    assert "http://gate.invalid/x" in page.requests()


@pytest.mark.parametrize("scene", list(SCENES))
def test_it_is_quiet_and_asks_for_nothing(show: Any, scene: str) -> None:
    page = show(scene)
    for key in ("ArrowDown", "Enter", "End", "Enter", "+", "+", "-", "0", "/", "x", "Escape", "Escape"):
        page.key(key)
    assert page.complaints() == []
    assert [address.partition(":")[0] for address in page.requests()] == ["file"]
    assert page.evaluate("performance.getEntriesByType('resource').length") == 0


@pytest.mark.parametrize(("width", "height", "dark"), SHAPES)
@pytest.mark.parametrize("scene", ["failing", "running", "crowd"])
def test_it_fits_every_shape_in_light_and_dark(show: Any, scene: str, width: int, height: int, dark: bool) -> None:
    page = show(scene, width=width, height=height, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing hangs out at the side"
    word = page.evaluate("document.getElementById('word').getBoundingClientRect().bottom")
    assert word < height, "the word is on the first screen"
    ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    red = int(ground.removeprefix("rgb(").partition(",")[0])
    assert (red < 60) is dark
    assert page.complaints() == []


SEEN = ("#word", ".meaning", ".cause", ".seen", ".facts dt", ".leg-line .state", ".leg-line p", ".reason")
SEEN_BELOW = (".name .sub", ".name .id", ".tick b", ".command code", ".figures dt", ".legend li", ".status", ".keys")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("scene", ["passing", "failing", "running"])
def test_text_stands_out_from_its_ground(show: Any, scene: str, dark: bool) -> None:
    found = ask(show(scene, dark=dark), "contrast", *SEEN, *SEEN_BELOW)
    assert len(found) >= 12
    assert [each for each in found if each[1] < 4.5] == []


def test_the_first_screen_says_what_the_run_directory_says(show: Any) -> None:
    page = show("failing")
    decision = made("failing").decision
    assert decision is not None
    assert texts(page, "#word") == [decision.word]
    assert texts(page, "#cause") == [decision.cause[:1].upper() + decision.cause[1:]]
    assert texts(page, "#total") == [str(len(NAMES))]
    assert texts(page, ".next code") == [
        f"gate explain docker-vllm-3h --run {RUN}",
        f"gate logs docker-vllm-3h --run {RUN}",
        f"gate retry {RUN}",
    ]
    bottom = page.evaluate("document.querySelector('.then').getBoundingClientRect().bottom")
    assert bottom <= 900, "down to the next command on one laptop's screen"
    titles = page.evaluate("[...document.querySelectorAll('time')].map((e) => e.title)")
    assert titles
    assert all("where you are" in title for title in titles)


@pytest.mark.parametrize("scene", ["failing", "running", "crowd"])
def test_every_leg_has_a_row_with_its_outcome_and_a_lane_of_its_length(show: Any, scene: str) -> None:
    run = made(scene)
    page = show(scene)
    assert sorted(texts(page, ".name > .id")) == sorted(
        leg.id + ("" if leg.blocking else " informing") for leg in run.plan.legs
    )
    labels = ask(page, "labels")
    for leg, verdict in run.verdicts.items():
        assert labels[leg].startswith(f"{leg}: {verdict.outcome.value}, {verdict.reason.value.replace('_', ' ')}")


@pytest.mark.parametrize("scene", ["failing", "running"])
def test_lanes_are_as_long_as_the_legs_took(show: Any, scene: str) -> None:
    run = made(scene)
    page = show(scene)
    apart, label, width = ask(page, "ticks")
    second = apart / width / (int(label.removeprefix("+").removesuffix("h")) * 3600)
    for lane in run.page().lanes:
        drawn = ask(page, "segments", lane.row.leg)
        assert len(drawn) == len(lane.spans)
        assert drawn[0][0] >= -0.001
        for span, (begin, end) in zip(lane.spans, drawn, strict=True):
            length = (run.elapsed if span.end is None else span.end) - span.begin
            assert end - begin == pytest.approx(length * second, abs=0.003), span.kind


def test_the_evidence_is_the_text_of_explain(show: Any) -> None:
    page = show("failing")
    for leg, verdict in made("failing").verdicts.items():
        ask(page, "open", leg)
        assert "\n".join(ask(page, "lines", leg)) == explain_text(verdict).plain
    assert page.complaints() == []


def test_durations_are_spelled_as_python_spells_them(show: Any) -> None:
    page = show("passing")
    source = (Path(render.__code__.co_filename).parent / "static" / "base.js").read_text()
    function = source[source.index("function short") : source.index("const pad")]
    told = page.evaluate(f"(() => {{ {function} return {json.dumps(list(DURATIONS))}.map(short); }})()")
    assert told == list(DURATIONS.values()) == [short(seconds) for seconds in DURATIONS]


def test_hostile_text_is_text_everywhere(browser: Chromium, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(render(planted(made("hostile").page())), encoding="utf-8")
    page = browser.open(path)
    page.evaluate("document.querySelectorAll('.name').forEach((e) => e.click())")
    assert page.evaluate("document.title").startswith("NO-GO · "), "no handler ran"
    assert page.evaluate("document.querySelectorAll('img, script:not(#data):not(:last-of-type)').length") == 0
    shown = HOSTILE.replace("\u202e", "\\u202e").replace("\x1b", "\\x1b").replace("\u2028", "\\u2028")
    for selector in ("#cause", ".why", ".next code", ".remark", ".said", "pre.log", ".detail .facts dd"):
        assert any(shown in text for text in texts(page, selector)), selector
    assert page.complaints() == []
    assert len(page.requests()) == 1


def test_the_keyboard_is_enough(show: Any) -> None:
    page = show("failing")
    page.key("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.key("Enter")
    page.until("document.activeElement.id === 'legs'")
    page.evaluate("document.querySelector('.name[tabindex=\"0\"]').focus()")
    order = page.evaluate("[...document.querySelectorAll('.name')].map((e) => e.title)")
    page.key("ArrowDown")
    page.key("ArrowDown")
    assert page.evaluate("document.activeElement.title") == order[2]
    page.key("Enter")
    assert page.evaluate("document.activeElement.ariaExpanded") == "true"
    page.key("End")
    assert page.evaluate("document.activeElement.title") == order[-1]
    page.key("Home")
    assert page.evaluate("document.activeElement.title") == order[0]
    page.key("Escape")
    assert page.evaluate("document.querySelectorAll('.detail').length") == 0
    assert page.evaluate("document.querySelectorAll('.name[tabindex=\"0\"]').length") == 1, "one stop, not a thousand"
    page.key("+")
    page.key("+")
    assert page.evaluate("chart.scrollWidth > 3 * chart.clientWidth")
    assert ask(page, "painted", order[0]) == [order[0], True]
    page.key("0")
    assert page.evaluate("chart.scrollWidth <= chart.clientWidth + 1")


def test_finding_and_filtering(show: Any) -> None:
    page = show("crowd")
    assert ask(page, "visible") == 1000
    page.key("/")
    for char in "r07 stalled":
        page.key(char)
    hit = [
        leg
        for leg, verdict in made("crowd").verdicts.items()
        if leg.endswith("r07") and "stalled" in verdict.reason.value
    ]
    assert hit
    assert ask(page, "visible") == len(hit)
    assert texts(page, "#status") == [f"{len(hit)} of 1000 legs shown"]
    page.key("Escape")
    assert ask(page, "visible") == 1000
    page.evaluate("document.querySelector('.chip[data-state=FAIL]').click()")
    failed = sum(verdict.outcome.value == "FAIL" for verdict in made("crowd").verdicts.values())
    assert ask(page, "visible") == failed
    assert texts(page, ".chip[data-state=FAIL] b") == [str(failed)]
    page.evaluate("document.querySelector('a[data-reason=setup_stalled]').click()")
    stalled = sum(verdict.reason.value == "setup_stalled" for verdict in made("crowd").verdicts.values())
    assert ask(page, "visible") == stalled


def test_a_thousand_legs_are_drawn_as_they_come_into_view(show: Any) -> None:
    page = show("crowd")
    page.until(f"({PROBES}).drawn() > 10")
    assert ask(page, "drawn") < 200
    page.evaluate("chart.scrollTo(0, chart.scrollHeight)")
    page.until("document.querySelector('#rows > :last-child .track').childElementCount > 0")
    assert ask(page, "drawn") < 400


def test_the_next_commands_can_be_copied(show: Any) -> None:
    page = show("failing")
    page.evaluate("document.querySelector('.next .copy').click()")
    page.until("['copied', 'selected'].includes(document.querySelector('.next .copy').textContent)")
    page.until("document.querySelector('.next .copy').textContent === 'copy'")
    assert page.complaints() == []
