"""`oarlock fleet` as programs: two at a time, killed, on a terminal, and with a Ray that ends."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest
from ray_support import fill_for, is_clean, job, make, tree

import oarlock
from oarlock.ray.command import main
from oarlock.ray.objects import FOLDER

#: A job that makes a snapshot, killed at the steps of it: in each round one step later, after a line on standard input.
SNAPSHOTS = """
import os, signal, sys
from oarlock.ray import manifest
from oarlock.ray.command import main

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
