"""The port of the driver, and workers that it cannot hear any more. Spark itself is not needed."""

from time import monotonic, sleep
from typing import Any

from swaprank.cluster import spark_launcher
from swaprank.cluster.driver_port import DriverConnection, DriverPort
from swaprank.cluster.launcher import Gone
from swaprank.cluster.worker_task import Job, KeptCheckpoint


def test_a_task_that_is_cut_off_is_gone_when_spark_has_given_it_up_and_hears_that_nobody_waits() -> None:
    """Its connection stays open: nobody says that it has ended."""
    port = DriverPort("127.0.0.1", b"secret", 1)
    team: Any = object.__new__(spark_launcher.SparkTeam)
    team._port, team._error, team._job = port, None, Job("", b"", 1000.0, None, {}, False, KeptCheckpoint(None, 1, b""))
    connection = DriverConnection(("127.0.0.1", port.number), b"secret", 0, "elsewhere")
    while not port.has_met(0):
        sleep(0.01)
    team._ended = monotonic() - 900
    assert team.outcomes() == [None]
    team._ended = monotonic() - 1001
    assert team.outcomes() == [Gone("has ended")]
    port.close()
    end = monotonic() + 20
    while not connection.ended() and monotonic() < end:
        sleep(0.01)
    assert connection.ended()
