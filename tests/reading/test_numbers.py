"""Numbers are parsed as in Python: float32(float(text)) for features, float(text) for labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swaprank.reading.letor import read_letor
from tests.reading.naive_letor import single

# Numbers that are close together on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::swaprank.errors.PrecisionWarning")

NASTY = [
    "0", "-0", "+0", "1", "+1", "-1", "1.", ".5", "-.5", "+.5e1", "00012", "1e5", "1E5", "1e+5", "1e-5", "-1.5E-3",
    "0.1", "0.10000000000000001", "0.1000000000000000055511151231257827", "0.30000001192092896", "123456789",
    "12345678", "1234567", "12345678.5", "-1234567.25", "0.12345678", "0.123456789012", "-0.1234567890123",
    "16777216", "16777217", "16777218", "16777219", "1.00000005960464477539", "1.000000059604644775390625",
    "1.0000000596046447753906250000000000000001", "1.0000000596046447753906249999999999999999",
    "3.4028234663852886e38", "3.4028235677973366e38", "3.4028235677973365e38", "3.4028235677973367e38", "3.5e38",
    "1.79769313486232E+308", "1e400", "-1e400", "1e-400", "1.1754943508222875e-38", "1.17549429e-38", "1e-40",
    "1.4e-45", "7.006492321624085e-46", "7.0064923216240853e-46", "7.0064923216240854e-46", "7.1e-46", "1e-46",
    "1e-300", "2.2250738585072014e-308", "9007199254740993", "9007199254740992.5", "18446744073709551616", "1e22",
    "1e23", "8.5e22", "123456789012345678901234567890", "0." + "0" * 60 + "1", "1" + "0" * 30, "0" * 50 + "1.5",
    "1" + "0" * 400 + "e-400", "0." + "0" * 400 + "1e401", "4.9e-324", "99999999999999999999e-10", "1e0000000005",
]  # fmt: skip


def read_values(texts: list[str], folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Each text as a feature in the middle of a file, and each finite one as a label."""
    path = folder / "numbers.txt"
    lines = "".join(f"0 qid:1 1:{text} 2:{text} 3:{text}\n" for text in texts)
    path.write_text("0 qid:1 1:0\n" + lines + "0 qid:1 1:0" + " " * 64)
    features = read_letor(path, n_threads=1).features[1:-1]
    finite = [text for text in texts if np.isfinite(float(text))]
    path.write_text("0 qid:1 1:0\n" + "".join(f"{text} qid:1 1:0\n" for text in finite))
    return features, read_letor(path, n_threads=1).labels[1:]


def check(texts: list[str], folder: Path) -> None:
    features, labels = read_values(texts, folder)
    expected = np.array([single(text) for text in texts], np.float32)
    for column in features.T:
        differ = column.view(np.int32) != expected.view(np.int32)
        wrong = np.flatnonzero(differ & ~(np.isnan(column) & np.isnan(expected))).tolist()
        assert not wrong, [(texts[k], column[k], expected[k]) for k in wrong]
    exact = np.array([float(text) for text in texts if np.isfinite(float(text))])
    assert (labels.view(np.int64) == exact.view(np.int64)).all()


def test_nasty_numbers(tmp_path: Path) -> None:
    check(NASTY, tmp_path)


def test_numbers_at_the_very_end_of_a_file(tmp_path: Path) -> None:
    for text in NASTY:
        path = tmp_path / "end.txt"
        path.write_text(f"0 qid:1 1:{text}")
        found, expected = read_letor(path).features[0, 0], single(text)
        assert found == expected or (np.isnan(found) and np.isnan(expected)), text


def midpoint_texts(bits: int) -> list[str]:
    """The midpoint of two neighbouring float32, and the nearest decimals below and above."""
    low = np.array([bits], np.uint32).view(np.float32)[0]
    high = np.nextafter(low, np.float32(np.inf))
    middle = (float(low) + float(high)) / 2
    near = (np.nextafter(middle, 0.0), middle, np.nextafter(middle, np.inf))
    return [repr(float(x)) for x in near] + [f"{middle:.30e}", f"{middle:.60f}"[:70]]


decimals = st.builds(
    lambda sign, whole, part, exponent: f"{sign}{whole}.{part}{exponent}",
    st.sampled_from(["", "-", "+"]),
    st.text("0123456789", min_size=1, max_size=22),
    st.text("0123456789", max_size=25),
    st.one_of(
        st.just(""), st.integers(-420, 420).map(lambda e: f"e{e}"), st.integers(-60, 50).map(lambda e: f"E{e:+03}")
    ),
)
short_decimals = st.builds(
    lambda sign, whole, part: f"{sign}{whole}{part}",
    st.sampled_from(["", "-"]),
    st.integers(0, 10**9).map(str),
    st.one_of(st.just(""), st.text("0123456789", max_size=12).map(lambda digits: "." + digits)),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            decimals,
            short_decimals,
            st.floats(allow_nan=False, allow_infinity=False).map(repr),
            st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
            st.integers(0, 0x7F7FFFFE).flatmap(lambda bits: st.sampled_from(midpoint_texts(bits))),
        ),
        min_size=1,
        max_size=200,
    )
)
def test_any_decimal_is_read_as_python_reads_it(tmp_path: Path, texts: list[str]) -> None:
    check(texts, tmp_path)


@pytest.mark.slow
def test_more_hard_numbers_than_the_buffer_holds(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    texts = [text for bits in rng.integers(0, 0x7F7FFFFE, 3000).tolist() for text in midpoint_texts(bits)]
    check(texts, tmp_path)
    path = tmp_path / "wide.txt"
    pairs = " ".join(f"{k}:{text}" for k, text in enumerate(texts, 1))
    path.write_text(f"1 qid:1 {pairs}\n0 qid:1 {pairs}\n")
    expected = np.array([single(text) for text in texts])
    np.testing.assert_array_equal(read_letor(path).features, [expected, expected])


@pytest.mark.parametrize("word", ["nan", "NaN", "NAN", "NULL", "null", "-nan", "+NaN"])
def test_words_for_missing(tmp_path: Path, word: str) -> None:
    path = tmp_path / "missing.txt"
    path.write_text(f"1 qid:1 1:{word} 2:5\n1 qid:1 1:2 2:{word}")
    np.testing.assert_array_equal(read_letor(path).features, [[np.nan, 5], [2, np.nan]])
