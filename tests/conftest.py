"""What all tests share: the cache of compiled kernels, the real data sets, and Ctrl-C."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

PROJECT = Path(__file__).parent.parent
SHARED_DATA = PROJECT.parent / "shared" / "data"

# One cache for any state of the sources: its files are named by what they were compiled from. In the home folder, which
# belongs to the user alone. Set before anything imports Numba.
with suppress(RuntimeError):  # There is no home.
    os.environ.setdefault("NUMBA_CACHE_DIR", str(Path.home() / ".cache" / "swaprank-tests"))

# The processes of pytest already use all cores: threads of BLAS and of LightGBM would only wait for each other.
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# A busy machine fails no test.
settings.register_profile("no time limits", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no time limits")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One worker more than cores, because tests wait for servers and clusters; none for the tests of one file."""
    one_file = len(config.args) == 1 and ".py" in config.args[0]
    return 0 if one_file else (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take longest come first, so that no process waits for another in the end."""
    longest = (
        "test_same_everywhere.py",
        "test_network_cuts.py",
        "test_killed_workers.py",
        "test_demo.py",
        "test_dask_training.py",
    )
    items.sort(key=lambda item: item.path.name not in longest)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    if not SHARED_DATA.is_dir():
        pytest.skip("the real data sets are not beside this checkout (../shared/data)")
    return SHARED_DATA


@pytest.fixture(autouse=True)
def ctrl_c_interrupts() -> Iterator[None]:
    """Whatever the shell: it tells background jobs to ignore Ctrl-C, and a test of interruption would never end."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
