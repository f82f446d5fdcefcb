"""CPUs that Ray does not have: what is left of a training that never started. Ray itself is not needed."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from swaprank.cluster.launcher import Placement
from swaprank.cluster.ray_launcher import RayTeam
from swaprank.errors import ClusterError


@pytest.mark.parametrize(("end", "error"), [(KeyboardInterrupt(), KeyboardInterrupt), (None, ClusterError)])
def test_nothing_is_left_of_a_claim_on_cpus(
    end: BaseException | None, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    removed = list[Any]()

    def wait(seconds: float) -> bool:
        if end is not None:
            raise end
        return False

    group = SimpleNamespace(wait=wait)
    groups = SimpleNamespace(placement_group=lambda bundles, strategy: group)
    strategies = SimpleNamespace(PlacementGroupSchedulingStrategy=None)
    util = SimpleNamespace(remove_placement_group=removed.append)
    modules = {"": SimpleNamespace(util=util), ".util": util, ".util.placement_group": groups}
    for name, module in {**modules, ".util.scheduling_strategies": strategies}.items():
        monkeypatch.setitem(sys.modules, f"ray{name}", module)
    job: Any = None
    shard: Any = None
    with pytest.raises(error):
        RayTeam(job, Placement(["a"], [shard]), 1)
    assert removed == [group]
