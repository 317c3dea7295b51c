"""`oarlock fleet` and long objects, of several ranges."""

import errno
import os
import threading
import time

import pytest
from ray_support import CHUNK, fill_for, is_clean, job, worker_of

import oarlock
from oarlock._oarlock import AgeKey
from oarlock.ray import local
from oarlock.ray.local import LocalStore
from oarlock.ray.worker import Fault, Item, Sealed, Settings, Worker

pytestmark = pytest.mark.usefixtures("cluster", "threads_as_workers")


def test_a_worker_has_the_disk_write_its_range(keys, tmp_path, monkeypatch):
    """The driver's flush does not cover what another machine's memory has of the file."""
    fill_for(tmp_path / "src", {"a": bytes(4 * CHUNK)}, "encrypt", keys)
    folders = (str(tmp_path / "src"), str(tmp_path / "dst"))
    worker = worker_of(Settings("encrypt", *folders, None, (keys[0][2],), False, None, 2))
    worker._target.create()
    sealed = Sealed(AgeKey().wrap([worker.begin()[0]]), bytes(16), 0)
    item = Item(worker._source.stat("a"), "a.age", sealed=sealed)
    upload = worker._target.begin(item.path, 1 << 20, 2)
    fsync, flushed = os.fsync, []

    def noted(descriptor):
        flushed.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    monkeypatch.setattr(local.os, "fsync", noted)
    for number in range(2):
        assert worker.range(item, upload, number, bytes(200)) is None
        assert flushed == [upload[2]] * (number + 1)


def test_work_goes_on_while_a_long_object_gets_its_name(keys, tmp_path, monkeypatch):
    (path, _, recipient), _ = keys
    plain = {name: os.urandom(5 * CHUNK) for name in "ab"}
    fill_for(tmp_path / "src", plain, "encrypt", keys)
    commit, part, parts, goes_on, waited = LocalStore.commit, LocalStore.part, [], threading.Event(), []

    def last(self, upload, number, offset):
        parts.append(number)
        if len(parts) == 6:
            goes_on.set()
        return part(self, upload, number, offset)

    def late(self, *arguments, **more):
        waited.append(goes_on.wait(5))
        return commit(self, *arguments, **more)

    monkeypatch.setattr(LocalStore, "part", last)
    monkeypatch.setattr(LocalStore, "commit", late)
    done = job("encrypt", tmp_path / "src", tmp_path / "dst", recipients=(recipient,), range_chunks=2)
    assert (done.done, done.failed) == (2, 0) and waited == [True, True], waited
    for name, data in plain.items():
        with oarlock.open(tmp_path / "dst" / f"{name}.age", identity=path) as opened:
            assert opened.read() == data


def test_a_range_is_tried_again_after_a_pause(place_of, keys, rng, monkeypatch):
    """Ranges of S3's objects are, and of files that are decrypted."""
    (path, _, recipient), _ = keys
    source, target = place_of("folder", "src"), place_of("folder", "dst")
    source.write("a", rng.randbytes(5 * CHUNK))
    sealed = place_of("folder", "sealed")
    assert job("encrypt", source.url, sealed.url, recipients=(recipient,), range_chunks=2).done == 1
    work, times = Worker.range, []

    def failing(self, item, upload, number, prologue):
        if number == 1:
            times.append(time.monotonic())
            if len(times) < 3:
                return Fault(item.entry, "not this time", "again")
        return work(self, item, upload, number, prologue)

    monkeypatch.setattr(Worker, "range", failing)
    done = job("decrypt", sealed.url, target.url, identities=(path,), range_chunks=2)
    assert (done.done, done.failed, done.retries) == (1, 0, 2), done
    assert times[1] - times[0] >= 0.25 and times[2] - times[1] >= 0.5, times
    assert target.read("a") == source.read("a")


def test_the_disk_writes_a_long_file_before_its_end(tmp_path, monkeypatch):
    """And has room for it at its beginning."""
    monkeypatch.setattr(local, "_WRITEBACK_BYTES", 100)
    store, asked, reserved = LocalStore(tmp_path), [], []
    store.create()
    fallocate, sync = local._fallocate, local._sync_file_range

    def noted(descriptor, *arguments):
        asked.append(arguments)
        return sync(descriptor, *arguments)

    def room(descriptor, *arguments):
        reserved.append(fallocate(descriptor, *arguments))
        assert os.fstat(descriptor).st_size == 0
        return reserved[-1]

    monkeypatch.setattr(local, "_sync_file_range", noted)
    monkeypatch.setattr(local, "_fallocate", room)
    for name, size, count in (("short", 99, 0), ("long", 350, 1)):
        data = os.urandom(size)
        upload = store.begin(name, size, 1)
        sink = store.part(upload, 1, 0)
        for begin in range(0, size, 70):
            sink.write([memoryview(data)[begin : begin + 70]])
        sink.finish()
        store.commit(upload, None)
        assert (tmp_path / name).read_bytes() == data and len(reserved) == count
    assert asked == [(0, 100, local._SYNC_WRITE), (100, 100, local._SYNC_WRITE), (200, 100, local._SYNC_WRITE)]


def test_no_room_for_a_long_file(tmp_path, monkeypatch):
    store, number = LocalStore(tmp_path), errno.ENOSPC
    store.create()

    def refused(*_):
        local.ctypes.set_errno(number)
        return -1

    monkeypatch.setattr(local, "_fallocate", refused)
    with pytest.raises(OSError, match="No space left"):
        store.begin("a", 9 << 20, 1)
    assert is_clean(tmp_path)
    # File systems that find no room ahead.
    number = errno.EOPNOTSUPP
    store.abort(store.begin("a", 9 << 20, 1))
    assert is_clean(tmp_path)
