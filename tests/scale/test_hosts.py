"""Workers on other hosts: network namespaces with a loopback of their own."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

distributed = pytest.importorskip(
    "distributed", reason="dask.distributed (extra 'dask') is not installed"
)


pytestmark = pytest.mark.slow

PATIENCE = 300  # seconds that starting and fitting may take on a busy machine
DRIVER = """
import json, os, sys
import numpy as np
from distributed import Client
from krein import KreinNystroem, SpectrumSVC
from krein.scale import fit, predict

rng = np.random.default_rng(0)
X = rng.random((2100, 3))
y = X[:, 0] > X[:, 1]
nystroem = KreinNystroem(20, random_state=0)
model = SpectrumSVC("flip", kernel="tl1", approximation=nystroem)
alone = fit(model, X, y, store=sys.argv[1] + "/alone")
with Client(sys.argv[2]) as client:
    client.wait_for_workers(2, timeout=240)
    hosts = sorted(info["host"] for info in client.scheduler_info()["workers"].values())
    together = fit(model, X, y, store=sys.argv[1] + "/together", client=client)
    agree = bool((predict(together, X, client=client) == alone.predict(X)).all())
same = together.dual_coef_.tobytes() == alone.dual_coef_.tobytes()
print(json.dumps({"hosts": hosts, "same": same, "agree": agree}))
"""


def run(*command):
    subprocess.run(command, check=True, capture_output=True, timeout=30)


class Hosts:
    """A bridge and namespaces behind it, each with an address of its own."""

    def __init__(self):
        self.mark = f"k{os.getpid() % 100000}"
        self.net = f"10.{200 + os.getpid() % 50}.77"
        self.names = []
        self.processes = []

    def build(self, n):
        bridge = f"{self.mark}b"
        run("ip", "link", "add", bridge, "type", "bridge")
        run("ip", "addr", "add", f"{self.net}.1/24", "dev", bridge)
        run("ip", "link", "set", bridge, "up")
        for i in range(n):
            name, here, there = (f"{self.mark}{kind}{i}" for kind in "nhp")
            run("ip", "netns", "add", name)
            self.names.append(name)
            run("ip", "link", "add", here, "type", "veth", "peer", "name", there)
            run("ip", "link", "set", there, "netns", name)
            run("ip", "link", "set", here, "master", bridge, "up")
            inside = ["ip", "-n", name]
            run(*inside, "addr", "add", f"{self.net}.{10 + i}/24", "dev", there)
            run(*inside, "link", "set", there, "up")
            run(*inside, "link", "set", "lo", "up")

    def start(self, *command, host=None, log):
        prefix = [] if host is None else ["ip", "netns", "exec", self.names[host]]
        environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
        with open(log, "wb") as file:
            process = subprocess.Popen(
                [*prefix, *command], env=environment, stdout=file, stderr=file
            )
        self.processes.append(process)

    def remove(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False)
        subprocess.run(["ip", "link", "del", f"{self.mark}b"], check=False)


@pytest.fixture
def hosts():
    found = Hosts()
    try:
        try:
            found.build(2)
        except (OSError, subprocess.SubprocessError) as error:
            detail = getattr(error, "stderr", b"") or str(error).encode()
            pytest.skip(f"network namespaces are not allowed here: {detail.decode()}")
        yield found
    finally:
        found.remove()


def wait_for(path, word):
    deadline = time.monotonic() + PATIENCE
    while word not in Path(path).read_text():
        assert time.monotonic() < deadline, Path(path).read_text()
        time.sleep(0.2)


def test_workers_on_two_hosts_give_the_same_model(hosts, tmp_path):
    scheduler = f"tcp://{hosts.net}.1:18786"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    log = tmp_path / "scheduler.log"
    hosts.start(*command, "--host", f"{hosts.net}.1", "--port", "18786", log=log)
    wait_for(log, "Scheduler at")
    for i in range(2):
        hosts.start(
            sys.executable, "-m", "distributed.cli.dask_worker", scheduler,
            "--host", f"{hosts.net}.{10 + i}", "--nthreads", "1", "--no-nanny",
            "--no-dashboard", "--local-directory", str(tmp_path / f"worker{i}"),
            host=i, log=tmp_path / f"worker{i}.log",
        )  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(tmp_path), scheduler],
        env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    logs = [path.read_text()[-2000:] for path in tmp_path.glob("*.log")]
    assert done.returncode == 0, [done.stderr, *logs]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == {
        "hosts": [f"{hosts.net}.10", f"{hosts.net}.11"], "same": True, "agree": True,
    }  # fmt: skip
