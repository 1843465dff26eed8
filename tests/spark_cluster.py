"""A real standalone Spark cluster for tests: a master and two workers, processes of their own on loopback."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

import pyspark

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


class SparkCluster:
    """`with SparkCluster() as cluster:` … `cluster.master` is the address for `engine=`."""

    def __init__(self, n_workers: int = 2) -> None:
        self._home = Path(pyspark.__file__).parent
        self._n_workers = n_workers
        self._folder = Path(tempfile.mkdtemp(prefix="flou-cluster-"))
        self._processes: list[subprocess.Popen[bytes]] = []
        self.master = f"spark://{LOOPBACK}:{free_port()}"

    def environment(self) -> dict[str, str]:
        """What a driver needs so that everything stays on loopback."""
        return {**os.environ, "SPARK_LOCAL_IP": LOOPBACK}

    def __enter__(self) -> SparkCluster:
        try:
            port = self.master.rpartition(":")[2]
            self._start("master.Master", "--host", LOOPBACK, "--port", port, "--webui-port", str(free_port()))
            self._await(self._folder / "0.log", "I have been elected leader")
            for i in range(self._n_workers):
                work = str(self._folder / f"work-{i}")
                self._start(
                    "worker.Worker", "--host", LOOPBACK, "--cores", "1", "--memory", "1g", "--work-dir", work,
                    "--webui-port", str(free_port()), self.master,
                )  # fmt: skip
            for i in range(self._n_workers):
                self._await(self._folder / f"{i + 1}.log", "Successfully registered with master")
        except BaseException:
            self._stop()
            raise
        return self

    def _start(self, name: str, *arguments: str) -> None:
        log = (self._folder / f"{len(self._processes)}.log").open("wb")
        environment = {
            **self.environment(),
            "SPARK_HOME": str(self._home),
            "SPARK_DAEMON_MEMORY": "512m",
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        }
        command = [str(self._home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
        self._processes.append(
            subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=self._folder, start_new_session=True)
        )
        log.close()

    def _await(self, log: Path, words: str, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while words not in log.read_text(errors="replace"):
            if time.monotonic() > deadline or any(p.poll() is not None for p in self._processes):
                raise RuntimeError(f"the cluster did not start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.1)

    def _stop(self) -> None:
        for process in reversed(self._processes):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        for process in self._processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
