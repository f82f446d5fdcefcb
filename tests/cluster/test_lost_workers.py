"""Workers that are lost at any moment: training goes on without them, to the same bytes. The workers are threads."""

from collections.abc import Callable
from pathlib import Path
from time import sleep
from typing import Any

import pytest

import swaprank as sr
from swaprank.cluster.socket_collective import SocketCollective
from swaprank.errors import ClusterError
from swaprank.model_files import container
from swaprank.rankers import tree_checkpoints
from tests.thread_launcher import Harm, KilledError, Threads, harmful

pytestmark = pytest.mark.slow

TRAIN, VALI = sr.datasets.random_search((24, 9), n_documents=12, random_state=0)


@pytest.fixture(autouse=True)
def workers_come_to_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SocketCollective, "_exchange", harmful(SocketCollective._exchange))


def parts() -> sr.Parts:
    return sr.Parts([TRAIN.subset(slice(number, None, 6)) for number in range(6)])


def make() -> sr.LambdaMART:
    return sr.LambdaMART("ndcg@10", n_trees=12, n_leaves=5, document_fraction=0.7, random_state=1)


def saved(ranker: Any, folder: Path) -> bytes:
    ranker.save(folder / "model.swaprank")
    return (folder / "model.swaprank").read_bytes()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return saved(make().fit(TRAIN, valid=VALI), tmp_path_factory.mktemp("alone"))


def test_threads_train_as_one_process(alone: bytes, tmp_path: Path) -> None:
    assert saved(make().fit(parts(), valid=VALI, cluster=Threads("abc")), tmp_path) == alone


@pytest.mark.parametrize("name", ["a", "c"])
@pytest.mark.parametrize("at", [0, 3, 17, 40, 75, 120])
def test_a_worker_may_die_at_any_moment(name: str, at: int, alone: bytes, tmp_path: Path) -> None:
    cluster = Threads("abc", [(name, at, False)])
    seen: list[int] = []
    ranker = make().fit(parts(), valid=VALI, cluster=cluster, callbacks=[lambda progress: seen.append(progress.round)])
    assert saved(ranker, tmp_path) == alone
    assert cluster.attempts == [["a", "b", "c"], [each for each in "abc" if each != name]]
    # Every round is reported once, although the last one may be trained twice.
    assert seen == list(range(1, len(ranker.history_["valid"]["ndcg@10"]) + 1))


@pytest.mark.parametrize(("at", "every"), [(102, 1), (102, 10), (103, 1), (103, 10), (104, 1)])
def test_callbacks_hear_of_each_round_once_and_end_training_when_a_worker_dies_meanwhile(
    at: int, every: int, tmp_path: Path
) -> None:
    """The worker dies while the callbacks are asked, or before the first worker asks them."""
    alone = saved(make().fit(TRAIN, valid=VALI, callbacks=[lambda progress: progress.round == 3]), tmp_path)
    seen: list[int] = []

    def slow(progress: sr.rankers.Progress) -> bool:
        seen.append(progress.round)
        sleep(0.1 * (progress.round == 3))
        return progress.round == 3

    cluster, file = Threads("abc", [("b", at, False)]), tmp_path / "kept"
    ranker = make().fit(parts(), valid=VALI, cluster=cluster, callbacks=[slow], checkpoint=file, checkpoint_every=every)
    assert len(cluster.attempts) == 2
    assert seen == [1, 2, 3]
    assert saved(ranker, tmp_path) == alone


def test_callbacks_hear_of_a_round_that_only_the_others_know_of(
    alone: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, n_written = container.write_model, [0]

    def write_or_die(*content: Any) -> None:
        n_written[0] += 1
        if n_written[0] == 3:
            raise KilledError
        write(*content)

    monkeypatch.setattr(tree_checkpoints, "write_model", write_or_die)
    seen: list[int] = []
    ranker = make().fit(
        parts(),
        valid=VALI,
        cluster=Threads("abc"),
        callbacks=[lambda progress: seen.append(progress.round)],
        checkpoint=tmp_path / "kept",
        checkpoint_every=1,
    )
    assert seen == list(range(1, ranker.n_rounds_ + 1))
    assert saved(ranker, tmp_path) == alone


def test_the_last_rounds_are_shown_although_training_has_ended_meanwhile(capsys: pytest.CaptureFixture[str]) -> None:
    class Slow(Threads):
        def start(self, job: Any, placement: Any) -> Any:
            team = super().start(job, placement)
            ask = team.ask

            def slow(*arguments: Any) -> Any:
                while None in team.outcomes():
                    sleep(0.01)
                return ask(*arguments)

            team.ask = slow  # type: ignore[method-assign, assignment]
            return team

    make().fit(parts(), cluster=Slow("abc"), verbose=2)
    assert "tree 12 of 12" in capsys.readouterr().err


def test_training_goes_on_from_the_last_tree(
    alone: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from swaprank.trees.boosting import Booster

    grown: list[int] = []
    original: Callable[..., Any] = Booster.add_tree

    def counted(self: Any, objective: Any, number: int, *rest: Any) -> Any:
        grown.append(number)
        return original(self, objective, number, *rest)

    monkeypatch.setattr(Booster, "add_tree", counted)
    cluster = Threads("abc", [("b", 110, False)])
    ranker = make().fit(parts(), valid=VALI, cluster=cluster, verbose=100)
    assert saved(ranker, tmp_path) == alone
    # Three workers until one dies, then two: only the tree that was under way is grown again.
    times = [grown.count(number) for number in range(1, 13)]
    assert 2 in times or 3 in times
    assert sum(count > 3 for count in times) <= 2
    assert sum(times) <= 12 * 3 + 3
    shown = capsys.readouterr().err
    assert "worker 1 of 3 (b) has ended. Training goes on from" in shown


def test_what_was_learned_before_is_not_sent(alone: bytes, tmp_path: Path) -> None:
    class Looking(Threads):
        def start(self, job: Any, placement: Any) -> Any:
            sent.append(job.ranker)
            return super().start(job, placement)

    sent: list[Any] = []
    ranker = make().fit(TRAIN)
    learned = ranker.learned_
    ranker.fit(parts(), valid=VALI, cluster=Looking("ab"))
    assert not sent[0].__sklearn_is_fitted__()
    assert saved(ranker, tmp_path) == alone
    assert ranker.learned_ is not learned


def test_one_that_is_stopped_is_left_out(alone: bytes, tmp_path: Path) -> None:
    cluster = Threads("abc", [("b", 60, True)], silence=0.5)
    ranker = make().fit(parts(), valid=VALI, cluster=cluster)
    cluster.released.set()
    assert saved(ranker, tmp_path) == alone
    assert cluster.attempts == [["a", "b", "c"], ["a", "c"]]


def test_only_so_many_are_lost(tmp_path: Path, alone: bytes) -> None:
    harms: list[Harm] = [("a", 90, False), ("d", 60, False), ("c", 2, False)]
    cluster = Threads("abcd", harms)
    assert saved(make().fit(parts(), valid=VALI, cluster=cluster), tmp_path) == alone
    assert cluster.attempts == [list("abcd"), list("bcd"), list("bc"), list("b")]
    file = tmp_path / "kept"
    with pytest.raises(ClusterError, match=r"worker 2 of 3 \(d\) has ended. \d trees? \w+ finished: call fit again"):
        make().fit(parts(), valid=VALI, cluster=Threads("abcd", harms, max_restarts=1), checkpoint=file)
    assert saved(make().fit(parts(), valid=VALI, cluster=Threads("ab"), checkpoint=file), tmp_path) == alone
    with pytest.raises(ClusterError, match=r"worker 1 of 2 \(b\) has ended\.$"):
        make().fit(parts(), cluster=Threads("ab", [("b", 0, False)], max_restarts=0))
