import numpy as np
import pytest

from swaprank.collective import ALONE, Collective, add_with_largest, allgather, total
from tests.workers import run_workers


@pytest.mark.parametrize("size", [1, 2, 3])
def test_sums_gathered_rows_and_largest_values(size: int) -> None:
    rows = [np.arange(3 * k, dtype=np.float32).reshape(k, 3) + 100 * k for k in range(size)]

    def work(collective: Collective) -> tuple[object, ...]:
        rank = collective.rank
        counts, largest = add_with_largest(collective, np.array([1, rank]), np.array([-1.5 * rank, rank, -np.inf]))
        whole = allgather(collective, np.array([f"worker {rank}"] * rank, "U10"))
        return (
            total(collective, rank + 1),
            allgather(collective, rows[rank]).tolist(),
            counts.tolist(),
            largest.tolist(),
            whole.tolist(),
        )

    expected = (
        size * (size + 1) // 2,
        np.concatenate(rows).tolist(),
        [size, size * (size - 1) // 2],
        [0.0, size - 1.0, -np.inf],
        [f"worker {k}" for k in range(size) for _ in range(k)],
    )
    assert run_workers(work, size) == [expected] * size


def test_alone_nothing_is_copied() -> None:
    values = np.arange(3)
    assert allgather(ALONE, values) is values
    assert add_with_largest(ALONE, values, np.ones(1))[0] is values
