"""How sessions are divided among models."""

from swaprank.serving.split import Split

SESSIONS = [f"user-{number}" for number in range(20_000)]


def test_shares_are_kept() -> None:
    split = Split("a", {"b": 0.1, "c": 0.25})
    found = [split.model_of(session) for session in SESSIONS]
    # Standard deviations are below 0.0035.
    for name, share in (("a", 0.65), ("b", 0.1), ("c", 0.25)):
        assert abs(found.count(name) / len(found) - share) < 0.015


def test_a_session_stays_with_a_model_whose_share_grows() -> None:
    small, large = Split("a", {"b": 0.1}), Split("a", {"b": 0.3})
    moved = [(small.model_of(session), large.model_of(session)) for session in SESSIONS]
    assert ("b", "a") not in moved
    assert ("a", "b") in moved


def test_another_test_divides_anew() -> None:
    first, second = Split("a", {"b": 0.5}), Split("a", {"c": 0.5})
    both = sum(first.model_of(each) == "b" and second.model_of(each) == "c" for each in SESSIONS)
    assert abs(both / len(SESSIONS) - 0.25) < 0.02


def test_everybody_and_nobody() -> None:
    assert {Split("a", {"b": 1.0}).model_of(session) for session in SESSIONS} == {"b"}
    assert {Split("a", {}).model_of(session) for session in SESSIONS} == {"a"}
    assert Split("a", {"b": 1.0}).model_of(None) == "a"
