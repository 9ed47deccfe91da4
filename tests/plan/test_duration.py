"""Durations and sizes: exact both ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.plan.duration import format_duration, parse_duration, rough_duration
from gate.plan.size import format_size, parse_size, rough_size


@given(st.integers(min_value=0, max_value=366 * 86_400_000))
def test_every_duration_reads_as_it_is_written(milliseconds: int) -> None:
    seconds = milliseconds / 1000
    assert parse_duration(format_duration(seconds)) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10m", 600), ("4h", 14400), ("1h30m", 5400), ("90s", 90), ("500ms", 0.5), ("2d", 172800), ("1m500ms", 60.5)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "10", "m", "1.5h", "-1m", "30m1h", "1m1m", "1h 30m", "1:30", "10 m", "١m", "400d", "99999999999s"]
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="a duration such as"):
        parse_duration(text)


def test_a_negative_slack_shows_its_sign() -> None:
    assert format_duration(-90) == "-1m30s"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (47.4, "47s"),
        (81430.8, "22h37m"),
        (7.8, "7s"),
        (0.85, "850ms"),
        (89.7, "1m29s"),
        (-1042.2, "-17m23s"),
    ],
)
def test_a_slack_is_read_at_a_glance(seconds: float, text: str) -> None:
    assert rough_duration(seconds) == text


@given(st.integers(min_value=0, max_value=10**6), st.sampled_from(["K", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"]))
def test_sizes_come_back(count: int, unit: str) -> None:
    size = parse_size(f"{count}{unit}")
    shown = format_size(size)
    assert (parse_size(shown) if shown[-1] in "iKMGT" else int(shown.split()[0])) == size


@pytest.mark.parametrize(("text", "size"), [("512Gi", 512 << 30), ("2048Gi", 2 << 40), ("64M", 64_000_000)])
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


def test_sizes_show_in_the_largest_unit() -> None:
    assert [format_size(n) for n in (0, 17, 2 << 40, 1000, 1536)] == ["0 bytes", "17 bytes", "2Ti", "1K", "1536 bytes"]


@pytest.mark.parametrize("text", ["", "512", "512GB", "1.5Gi", "-1Gi", "Gi", "1 Gi"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="a size such as"):
        parse_size(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (17, "17 bytes"),
        (2700 * 1024, "2.6 MiB"),
        (1023 * 1024, "1.0 MiB"),
        (500 * 1024, "500 KiB"),
        (3 << 40, "3.0 TiB"),
    ],
)
def test_a_size_is_read_at_a_glance(size: int, text: str) -> None:
    assert rough_size(size) == text
