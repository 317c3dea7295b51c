"""`oarlock fleet` as programs: two at a time, killed, on a terminal, and with a Ray that ends."""

import contextlib
import fcntl
import glob
import json
import os
import pathlib
import pty
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import urllib.request

import pytest
from ray_support import CHUNK, fill_for, is_clean, job, make, tree

import oarlock
from oarlock.command import find_command
from oarlock.ray.command import main
from oarlock.ray.job import _Job
from oarlock.ray.objects import FOLDER
from oarlock.ray.worker import Fault

#: A job that makes a snapshot, killed at the steps of it: in each round one step later, after a line on standard input.
SNAPSHOTS = """
import os, signal, sys
from oarlock.ray import manifest
from oarlock.command import find_command
from oarlock.ray.command import main
from oarlock.ray.job import _Job

manifest._MANIFESTS_MAX, manifest._LINES_MAX = 1, 0
compact, left = manifest.Manifest._compact, 0


def stepped(work):
    def step(*arguments, **options):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return work(*arguments, **options)

    return step


def killed(self):
    for name in ("write", "fchmod", "fsync", "rename", "unlink"):
        setattr(os, name, stepped(getattr(os, name)))
    compact(self)


manifest.Manifest._compact = killed
for round, _ in enumerate(sys.stdin, 1):
    child = os.fork()
    if child == 0:
        left = round
        os._exit(main(sys.argv[1:]))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def driver(cluster, *arguments, **options):
    """Start a job as a program."""
    command = (sys.executable, "-m", "oarlock.ray", arguments[0], "--address", cluster.address_info["address"], "--json")
    command += tuple(map(str, arguments[1:]))
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def times_done(target):
    """Return how often each object was done, as the manifests say."""
    counts = {}
    for path in (target / FOLDER).glob("manifest-*.jsonl"):
        for line in map(json.loads, path.read_text().splitlines()):
            if line.get("state") == "done":
                counts[line["path"]] = counts.get(line["path"], 0) + 1
    return counts


def opened(target, identity):
    """Return the plaintexts of a folder."""
    found = {}
    for name in tree(target):
        with oarlock.open(os.path.join(os.fsencode(target), name), identity=identity) as file:
            found[name.removesuffix(b".age")] = file.read()
    return found


def test_two_drivers_on_one_destination(cluster, keys, tmp_path, rng, capsys):
    """Two processes. The second one is refused while the first one works, and afterwards finds everything done."""
    path, _, recipient = keys[0]
    plain, target = make(tmp_path / "plain", rng), tmp_path / "sealed"
    arguments = ("encrypt", "-r", recipient, tmp_path / "plain", target)
    first, lock = driver(cluster, *arguments), target / FOLDER / "lock"
    try:
        while not (lock.exists() and str(first.pid) in lock.read_text()):
            assert first.poll() is None, first.communicate()
            time.sleep(0.002)
        first.send_signal(signal.SIGSTOP)
        assert str(first.pid) in lock.read_text()
        assert main(list(map(str, arguments))) == 2
        printed, complaints = capsys.readouterr()
        assert not printed
        assert f"another job uses {target}: " in complaints and f'"pid": {first.pid}' in complaints, complaints
        assert socket.gethostname() in complaints and str(first.pid) in lock.read_text()
    finally:
        first.send_signal(signal.SIGCONT)
        printed, complaints = first.communicate()
    assert first.returncode == 0 and json.loads(printed)["done"] == len(plain), complaints
    again = job("encrypt", tmp_path / "plain", target, recipients=(recipient,))
    assert (again.done, again.unchanged, again.failed) == (0, len(plain), 0)
    assert set(times_done(target).values()) == {1} and len(times_done(target)) == len(plain)
    assert opened(target, path) == plain and is_clean(target)


@pytest.mark.usefixtures("cluster", "threads_as_workers")
@pytest.mark.parametrize("place", ["folder", "file"])
def test_a_driver_that_is_killed_while_it_makes_a_snapshot(work, place_of, keys, tmp_path, place):
    """At each step. The same command goes on, knows what is done, and leaves nothing of the killed ones."""
    target, manifest = place_of("folder", "dst"), tmp_path / "own" / "manifest"
    manifest.parent.mkdir()
    options = {"manifest": str(manifest)} if place == "file" else {}
    for name in "abc":
        fill_for(tmp_path / "src", {name: name.encode()}, "encrypt", keys)
        assert work("encrypt", tmp_path / "src", target, **options).done == 1
    before = tree(tmp_path / "dst")
    arguments = ["encrypt", "-r", keys[0][2], "--json", str(tmp_path / "src"), str(tmp_path / "dst")]
    arguments += ["--manifest", str(manifest)] if options else []
    command, pipes = (sys.executable, "-c", SNAPSHOTS, *arguments), {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    statuses = []
    with subprocess.Popen(command, text=True, **pipes) as killed:
        while not statuses or statuses[-1] < 0:
            assert len(statuses) < 50
            killed.stdin.write("\n")
            killed.stdin.flush()
            # The last one prints its summary too.
            while not re.fullmatch(r"-?\d+\n", line := killed.stdout.readline()):
                assert line
            statuses.append(int(line))
            done = work("encrypt", tmp_path / "src", target, dry_run=True, **options)
            assert (done.done, done.unchanged, done.notes) == (0, 3, []), (statuses, done)
    assert set(statuses[:-1]) == {-signal.SIGKILL} and len(statuses) > 4 and statuses[-1] == 0, statuses
    done = work("encrypt", tmp_path / "src", target, **options)
    assert (done.done, done.unchanged) == (0, 3) and tree(tmp_path / "dst") == before
    assert is_clean(tmp_path / "dst") and len(list((tmp_path / "dst" / FOLDER).glob("manifest-*"))) == (not options)
    assert os.listdir(manifest.parent) == (["manifest"] if options else [])


def left_of(place):
    """Return the processes of a Ray that has its files in a place."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            # The title of a worker has not the place, and a worker ends with its raylet.
            if os.fsencode(place) in pathlib.Path(path).read_bytes():
                found.append(int(path.split("/")[2]))
    return found


@pytest.fixture
def short():
    """A folder with a path that is short enough for Ray's sockets. What has its files there ends with the test."""
    with tempfile.TemporaryDirectory(prefix="r", dir="/tmp", ignore_cleanup_errors=True) as folder:
        yield pathlib.Path(folder)
        for process in left_of(folder):
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)


def test_workers_of_this_machine(cluster, keys, tmp_path, rng, short):
    """--local N starts a Ray with so many workers, and ends it."""
    path, _, recipient = keys[0]
    plain, target = make(tmp_path / "plain", rng), tmp_path / "sealed"
    command = (find_command(), "fleet", "encrypt", "--local", "2", "--json", "-r", recipient, tmp_path / "plain", target)
    environment = {**os.environ, "RAY_TMPDIR": str(short), "RAY_ADDRESS": cluster.address_info["address"]}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        seen = False
        while started.poll() is None:
            seen = seen or bool(left_of(short))
            time.sleep(0.02)
        printed, complaints = started.communicate()
    assert started.returncode == 0 and seen, complaints
    summary = json.loads(printed)
    assert (summary["done"], summary["failed"], summary["workers"]) == (len(plain), 0, 2), summary
    assert opened(target, path) == plain and is_clean(target)
    # Some of them need a moment.
    deadline = time.monotonic() + 30
    while left_of(short):
        assert time.monotonic() < deadline, left_of(short)
        time.sleep(0.05)


@pytest.mark.usefixtures("cluster", "threads_as_workers")
def test_the_bar_on_a_terminal(keys, tmp_path, rng, monkeypatch, capfd):
    make(tmp_path / "plain", rng, (1000, 2000, 3000))
    arguments = ["encrypt", "--workers", "1", "-r", keys[0][2], str(tmp_path / "plain")]
    done = _Job._done

    def late(self, one):
        # More than the time between two pictures of the bar.
        time.sleep(0.15)
        done(self, one)

    monkeypatch.setattr(_Job, "_done", late)

    def shown(*more):
        """Return the status, and what a terminal of 100 columns gets."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 100, 0, 0))
        with open(ours, "rb", buffering=0) as screen, monkeypatch.context() as patch:
            with open(theirs, "w") as terminal:
                patch.setattr(sys, "stderr", terminal)
                status = main([*arguments, *more])
                terminal.write("the end")
            text = b""
            while not text.endswith(b"the end"):
                text += screen.read(1 << 16)
        return status, text.removesuffix(b"the end").decode()

    status, text = shown(str(tmp_path / "sealed"))
    assert status == 0 and re.search(r"6\.00kB \[00:0\d, .*B/s, 3 objects, 0 failed\]", text), text
    # It goes before the summary comes.
    assert text.endswith("\r") and not text.rsplit("\r", 2)[1].strip(), text
    assert "encrypt: 3 objects (6000 bytes" in capfd.readouterr().out
    status, text = shown("--json", str(tmp_path / "again"))
    assert (status, text) == (0, "") and json.loads(capfd.readouterr().out)["done"] == 3


@pytest.mark.usefixtures("cluster", "threads_as_workers")
def test_counters(keys, tmp_path, monkeypatch):
    fill_for(tmp_path / "src", {"a": bytes(10), "b": bytes(20), "c": b""}, "encrypt", keys)
    (tmp_path / "dst").mkdir()
    (tmp_path / "dst" / "b.age").write_bytes(b"another program's")
    done, lost, counted = _Job._done, [], {}

    class Recorded:
        def __init__(self, name, description, tag_keys):
            self._name = name
            assert description and tag_keys == ("command", "result")

        def inc(self, value, tags):
            key = (self._name, tags["command"], tags["result"])
            counted[key] = counted.get(key, 0) + value

    def lose(self, one):
        if not lost:
            lost.append(one)
            return self._missed(Fault(one.entry, "the worker that had it ended", "again"))
        return done(self, one)

    monkeypatch.setattr(_Job, "_done", lose)
    monkeypatch.setattr("oarlock.ray.job.Counter", Recorded)
    # The failure is found before there is a Ray.
    job("encrypt", tmp_path / "src", tmp_path / "dst", recipients=(keys[0][2],))
    objects = {key[2]: value for key, value in counted.items() if key[0] == "oarlock_fleet_objects"}
    size = {key[2]: value for key, value in counted.items() if key[0] == "oarlock_fleet_bytes"}
    assert objects == {"done": 2, "failed": 1, "retried": 1} and {key[1] for key in counted} == {"encrypt"}, counted
    assert (size["done"], size["failed"]) == (10, 20) and size.get("retried", 0) == lost[0].entry.size


# Long variants.


@pytest.mark.long
def test_counters_on_ray_s_page(keys, tmp_path, rng):
    """Those that Prometheus reads, of a Ray that has a page: `ray[default]`."""
    pytest.importorskip("opencensus")
    make(tmp_path / "plain", rng, (1000, 2000, 3000))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = f"""
import sys, ray
from oarlock.ray import Options, run
ray.init(address="local", num_cpus=1, include_dashboard=False, object_store_memory=100 << 20, _metrics_export_port={port})
run(Options("encrypt", *sys.argv[1:3], recipients=(sys.argv[3],), workers=1))
print(flush=True)
sys.stdin.read()
"""
    command = (sys.executable, "-c", program, tmp_path / "plain", tmp_path / "sealed", keys[0][2])
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdout.readline()
        deadline, wanted = time.monotonic() + 120, {"objects": 3, "bytes": 6000}
        while True:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
                lines = [line for line in page.read().decode().splitlines() if line.startswith("ray_oarlock_fleet")]
                found = {
                    name: [line for line in lines if line.startswith(f"ray_oarlock_fleet_{name}_total{{")] for name in wanted
                }
                if all(found.values()):
                    break
            assert time.monotonic() < deadline
            time.sleep(0.5)
        started.stdin.close()
    for name, (line,) in found.items():
        assert 'command="encrypt"' in line and 'result="done"' in line and float(line.split()[-1]) == wanted[name], line


@pytest.mark.long
def test_drivers_that_begin_at_once(cluster, keys, tmp_path, rng):
    """Each one works, or is refused by one that does. Together they lose nothing and do nothing twice."""
    path, _, recipient = keys[0]
    for round in range(3):
        plain, target = make(tmp_path / f"plain{round}", rng), tmp_path / f"sealed{round}"
        drivers = [driver(cluster, "encrypt", "-r", recipient, tmp_path / f"plain{round}", target) for _ in range(3)]
        ended = [(one.communicate(), one.returncode) for one in drivers]
        worked = [json.loads(printed) for (printed, _), status in ended if status == 0]
        refused = [complaints for (_, complaints), status in ended if status == 2]
        assert len(worked) + len(refused) == 3 and worked, ended
        assert all(f"another job uses {target}" in complaints for complaints in refused), ended
        assert sum(summary["done"] for summary in worked) == len(plain) and not any(one["failed"] for one in worked)
        assert list(times_done(target).values()) == [1] * len(plain)
        assert opened(target, path) == plain and is_clean(target)


@pytest.mark.long
def test_a_head_that_is_restarted(keys, tmp_path, rng, short):
    """All of Ray is killed in the middle of a job, and started again. The same command does what is missing."""
    path, _, recipient = keys[0]
    plain, target = make(tmp_path / "plain", rng, [rng.randrange(CHUNK) for _ in range(2000)]), tmp_path / "sealed"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    start = (sys.executable, "-m", "ray.scripts.scripts", "start", "--head", f"--port={address.split(':')[1]}", "--num-cpus=2")
    start += ("--node-ip-address=127.0.0.1", "--include-dashboard=false", "--object-store-memory=100000000")
    command = (find_command(), "fleet", "encrypt", "--json", "--address", address, "-r", recipient, tmp_path / "plain", target)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    for attempt in range(2):
        subprocess.run((*start, f"--temp-dir={short}/{attempt}"), check=True, capture_output=True)
        ended = subprocess.Popen(command, **pipes)
        while attempt == 0 and (not target.exists() or len(tree(target)) < 800):
            assert ended.poll() is None, ended.communicate()
            time.sleep(0.002)
        if attempt == 0:
            for process in left_of(short):
                os.kill(process, signal.SIGKILL)
        printed, complaints = ended.communicate(timeout=300)
        if attempt == 0:
            assert ended.returncode != 0 and "GCS" in complaints, (printed, complaints)
            first = len(tree(target))
            assert 0 < first < len(plain)
    assert ended.returncode == 0, complaints
    summary = json.loads(printed)
    assert (summary["done"] + summary["unchanged"], summary["failed"]) == (len(plain), 0), summary
    # What had its name and no line yet is known by the journals, and may be done again. Nothing else is.
    assert max(times_done(target).values()) == 1 and summary["unchanged"] > 0
    assert opened(target, path) == plain and is_clean(target)
