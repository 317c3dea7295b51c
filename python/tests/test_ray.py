"""`oarlock fleet`: folders and buckets through a Ray of two workers on this machine."""

import ctypes
import json
import mmap
import os
import random
import subprocess
import sys
import threading
import time

import pytest
from ray_support import CHUNK, SIZES, Killer, is_clean, job, make, tree, worker_of

import oarlock
from oarlock._oarlock import AgeHeader, AgeIdentities, AgeKey
from oarlock.command import find_command
from oarlock.ray import JobError, headers
from oarlock.ray.job import _Job, _Upload
from oarlock.ray.lines import LINE_BYTES_MAX
from oarlock.ray.local import LocalStore
from oarlock.ray.names import fold
from oarlock.ray.objects import FOLDER, Changed, Entry, Failed
from oarlock.ray.worker import Fault, Item, Sealed, Settings

pytestmark = pytest.mark.usefixtures("cluster")


# Folders.


def test_folders_go_both_ways(keys, tmp_path, rng):
    path, _, recipient = keys[0]
    plain = make(tmp_path / "plain", rng)
    os.chmod(tmp_path / "plain" / "0.bin", 0o640)
    done = job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(recipient,), digest=True)
    assert (done.done, done.failed, done.skipped) == (len(SIZES), 0, 0) and done.is_complete
    assert done.bytes == sum(SIZES)
    sealed = tree(tmp_path / "sealed")
    assert sorted(sealed) == sorted(name + b".age" for name in plain)
    for name, data in plain.items():
        file = os.path.join(os.fsencode(tmp_path / "sealed"), name + b".age")
        with oarlock.open(file, identity=path) as opened:
            assert opened.read() == data
    assert (tmp_path / "sealed" / "0.bin.age").stat().st_mode & 0o777 == 0o640
    done = job("decrypt", tmp_path / "sealed", tmp_path / "opened", identities=(path,))
    assert (done.done, done.failed) == (len(SIZES), 0)
    assert tree(tmp_path / "opened") == plain
    done = job("verify", tmp_path / "plain", tmp_path / "sealed", identities=(path,))
    assert (done.done, done.failed) == (len(SIZES), 0)
    assert is_clean(tmp_path / "sealed") and is_clean(tmp_path / "opened")


def test_outputs_have_no_more_rights_than_the_umask_leaves(keys, tmp_path):
    """That of the process that starts the job, not that of the workers."""
    (path, _, recipient), _ = keys
    (tmp_path / "plain" / "deep").mkdir(parents=True)
    for name, size in (("deep/a", 5), ("b", 5 * CHUNK)):
        (tmp_path / "plain" / name).write_bytes(bytes(size))
        os.chmod(tmp_path / "plain" / name, 0o4664)
    before = os.umask(0o027)
    try:
        job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(recipient,), range_chunks=2)
        for name in ("deep/a.age", "b.age"):
            assert (tmp_path / "sealed" / name).stat().st_mode & 0o7777 == 0o640
            os.chmod(tmp_path / "sealed" / name, 0o666)
        os.umask(0o077)
        job("decrypt", tmp_path / "sealed", tmp_path / "opened", identities=(path,), range_chunks=2)
    finally:
        os.umask(before)
    for name in ("deep/a", "b"):
        assert (tmp_path / "opened" / name).stat().st_mode & 0o7777 == 0o600
    assert (tmp_path / "opened" / "deep").stat().st_mode & 0o777 == 0o700


def test_a_second_run_does_what_is_missing_or_changed(keys, tmp_path, rng):
    recipient = keys[0][2]
    make(tmp_path / "plain", rng)
    arguments = ("encrypt", tmp_path / "plain", tmp_path / "sealed")
    job(*arguments, recipients=(recipient,))
    before = tree(tmp_path / "sealed")
    (tmp_path / "plain" / "new").write_bytes(b"new")
    (tmp_path / "plain" / "0.bin").write_bytes(b"changed")
    (tmp_path / "sealed" / "2.bin.age").unlink()
    counted = job(*arguments, recipients=(recipient,), dry_run=True)
    assert (counted.done, counted.unchanged) == (3, len(SIZES) - 2)
    assert len(tree(tmp_path / "sealed")) == len(SIZES) - 1
    done = job(*arguments, recipients=(recipient,))
    assert (done.done, done.unchanged, done.failed) == (3, len(SIZES) - 2, 0)
    after = tree(tmp_path / "sealed")
    same = [name for name in before if before[name] == after[name]]
    assert sorted(same) == sorted(set(before) - {b"0.bin.age", b"2.bin.age"})
    done = job(*arguments, recipients=(recipient,))
    assert (done.done, done.unchanged) == (0, len(SIZES) + 1)
    # For others it is done again.
    done = job(*arguments, recipients=(recipient, keys[1][2]))
    assert (done.done, done.unchanged) == (len(SIZES) + 1, 0)


def test_what_another_program_wrote_stays(keys, tmp_path, rng):
    recipient = keys[0][2]
    make(tmp_path / "plain", rng, sizes=(5, 6))
    (tmp_path / "sealed").mkdir()
    (tmp_path / "sealed" / "0.bin.age").write_text("theirs")
    done = job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(recipient,))
    assert (done.done, done.failed) == (1, 1)
    assert "--overwrite" in done.failures[0][1]
    # The refusal does not make it this job's.
    again = job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(recipient,))
    assert (again.done, again.unchanged, again.failed) == (0, 1, 1)
    assert (tmp_path / "sealed" / "0.bin.age").read_text() == "theirs"
    done = job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(recipient,), overwrite=True)
    assert (done.done, done.failed) == (1, 0)


def test_a_folder_that_cannot_be_listed_fails(keys, tmp_path, rng, monkeypatch):
    make(tmp_path / "plain", rng, sizes=(5,))
    (tmp_path / "plain" / "closed").mkdir()
    listed = os.scandir

    def refused(folder):
        # Root may list any folder.
        if os.fspath(folder).endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return listed(folder)

    monkeypatch.setattr(os, "scandir", refused)
    done = job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(keys[0][2],))
    assert (done.done, done.failed, done.skipped) == (1, 1, 0)
    assert done.failures == [("closed", "the folder cannot be listed: Permission denied")]


def test_ranges_of_long_files(keys, tmp_path, rng):
    """Different workers process parts of one file."""
    path, _, recipient = keys[0]
    plain = make(tmp_path / "plain", rng, sizes=(2 * CHUNK, 2 * CHUNK + 1, 4 * CHUNK, 11 * CHUNK + 5))
    job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(recipient,), range_chunks=2)
    for name, data in plain.items():
        with oarlock.open(os.path.join(os.fsencode(tmp_path / "sealed"), name + b".age"), identity=path) as opened:
            assert opened.read() == data
    done = job("decrypt", tmp_path / "sealed", tmp_path / "opened", identities=(path,), range_chunks=2)
    assert done.failed == 0
    assert tree(tmp_path / "opened") == plain
    # A range that is not authentic leaves no file.
    target = tmp_path / "sealed" / "deep" / "er" / "3.bin.age"
    data = bytearray(target.read_bytes())
    data[-CHUNK] ^= 1
    target.write_bytes(data)
    done = job("decrypt", tmp_path / "sealed", tmp_path / "again", identities=(path,), range_chunks=2)
    assert (done.done, done.failed) == (3, 1)
    assert "chunk" in done.failures[0][1]
    assert len(tree(tmp_path / "again")) == 3 and is_clean(tmp_path / "again")


@pytest.mark.usefixtures("threads_as_workers")
def test_rotation(keys, tmp_path, rng):
    (old, _, first), (new, _, second) = keys
    plain = make(tmp_path / "plain", rng)
    job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(first,))
    sealed = tree(tmp_path / "sealed")
    done = job("rotate", tmp_path / "sealed", tmp_path / "rotated", identities=(old,), recipients=(second,))
    assert (done.done, done.failed) == (len(SIZES), 0)
    assert any("can still open" in note for note in done.notes)
    rotated = tree(tmp_path / "rotated")
    for name, data in sealed.items():
        payload = AgeHeader.parse(data).size
        assert rotated[name][AgeHeader.parse(rotated[name]).size :] == data[payload:]
    assert job("decrypt", tmp_path / "rotated", tmp_path / "refused", identities=(old,)).done == 0
    assert job("decrypt", tmp_path / "rotated", tmp_path / "opened", identities=(new,)).failed == 0
    assert tree(tmp_path / "opened") == plain
    # Both, and where the files are.
    done = job("rotate", tmp_path / "sealed", tmp_path / "sealed", identities=(old,), recipients=(second,), keep=True)
    assert (done.done, done.failed) == (len(SIZES), 0)
    # The second recipient makes headers longer. Where they are not, no worker is needed.
    assert done.workers == 1
    # The manifest of what was encrypted follows what was rotated in place.
    for command, options in (("verify", {"identities": (new,)}), ("verify", {})):
        checked = job(command, tmp_path / "plain", tmp_path / "sealed", **options)
        assert (checked.done + checked.unchanged, checked.failed) == (len(SIZES), 0)
    again = job("rotate", tmp_path / "rotated", tmp_path / "rotated", identities=(new,), recipients=(first,))
    assert (again.done, again.failed, again.workers) == (len(SIZES), 0, 0)
    assert job("decrypt", tmp_path / "rotated", tmp_path / "back", identities=(old,)).failed == 0
    assert tree(tmp_path / "back") == plain
    for number, path in enumerate((old, new)):
        assert job("decrypt", tmp_path / "sealed", tmp_path / f"both{number}", identities=(path,)).failed == 0
        assert tree(tmp_path / f"both{number}") == plain
    done = job("rotate", tmp_path / "sealed", tmp_path / "sealed", identities=(old,), recipients=(second,), keep=True)
    assert (done.done, done.unchanged) == (0, len(SIZES))


def test_post_quantum_and_ssh_recipients(keys, tmp_path, rng):
    hybrid = tmp_path / "pq.txt"
    subprocess.run((find_command(), "keygen", "--pq", "-o", hybrid), check=True, capture_output=True)
    recipient = next(word for word in hybrid.read_text().split() if word.startswith("age1pq"))
    subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "ssh"), check=True)
    ssh = (tmp_path / "ssh.pub").read_text().strip()
    plain = make(tmp_path / "plain", rng, sizes=(100, CHUNK))
    for name, theirs, identity in (("pq", recipient, hybrid), ("ssh", ssh, tmp_path / "ssh")):
        job("encrypt", tmp_path / "plain", tmp_path / f"{name}-sealed", recipients=(theirs,))
        done = job("decrypt", tmp_path / f"{name}-sealed", tmp_path / f"{name}-opened", identities=(str(identity),))
        assert done.failed == 0 and tree(tmp_path / f"{name}-opened") == plain
    with pytest.raises(JobError, match="post-quantum"):
        job("encrypt", tmp_path / "plain", tmp_path / "mixed", recipients=(recipient, keys[0][2]))


def test_verification(keys, tmp_path, rng):
    path, _, recipient = keys[0]
    make(tmp_path / "plain", rng)
    job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(recipient,))
    damaged = tmp_path / "sealed" / "6.bin.age"
    data = bytearray(damaged.read_bytes())
    data[-5 * CHUNK] ^= 1
    status = damaged.stat()
    damaged.write_bytes(data)
    os.utime(damaged, ns=(status.st_atime_ns, status.st_mtime_ns))
    (tmp_path / "sealed" / "2.bin.age").unlink()
    (tmp_path / "plain" / "4.bin").write_bytes(bytes(CHUNK + 1))
    other = tmp_path / "sealed" / "0.bin.age"
    other.write_bytes(other.read_bytes())
    done = job("verify", tmp_path / "plain", tmp_path / "sealed", identities=(path,))
    reasons = dict(done.failures)
    assert sorted(reasons) == ["0.bin", "2.bin", "4.bin", "6.bin"]
    for name, word in (("0.bin", "another version"), ("2.bin", "not have"), ("4.bin", "changed"), ("6.bin", "chunk")):
        assert word in reasons[name]
    assert done.done == len(SIZES) - 4
    # Without an identity, what needs none.
    assert job("verify", tmp_path / "plain", tmp_path / "sealed").failed == 3


# Names and other things in a folder.


def test_names(keys, tmp_path):
    path, _, recipient = keys[0]
    root = os.fsencode(tmp_path / "plain")
    os.mkdir(root)
    deep = b"/".join([b"d" * 200] * 5)
    names = [
        b"two\nlines",
        b"\xff\xfe",
        "ä".encode(),
        b" ",
        b"...",
        b"A",
        b"a",
        b"-r",
        b'"',
        deep + b"/" + b"e" * 19,
        b"n" * 251,
    ]
    assert len(deep + b"/" + b"e" * 19) == 1024
    for name in names:
        os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
        with open(os.path.join(root, name), "wb") as file:
            file.write(b"content of " + name)
    with open(os.path.join(root, b"m" * 252), "wb") as file:
        file.write(b"too long with .age")
    os.symlink("/etc/passwd", os.path.join(root, b"link"))
    os.symlink("/etc", os.path.join(root, b"folder"))
    os.mkfifo(os.path.join(root, b"pipe"))
    done = job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(recipient,))
    assert (done.done, done.failed, done.skipped) == (len(names), 1, 3)
    assert done.failures[0][0] == "m" * 252
    assert {path for path, _ in done.skips} == {"link", "folder", "pipe"}
    done = job("decrypt", tmp_path / "sealed", tmp_path / "opened", identities=(path,))
    assert done.failed == 0
    assert tree(tmp_path / "opened") == {name: b"content of " + name for name in names}


class FoldingStore(LocalStore):
    """A folder as of a system that does not tell letter case apart."""

    def folds_case(self):
        return True

    def stat(self, path):
        for entry in self.list():
            if isinstance(entry, Entry) and fold(entry.path) == fold(path):
                return entry._replace(path=path)
        return None


def test_names_that_differ_in_case(keys, tmp_path, monkeypatch):
    path, _, recipient = keys[0]
    root = tmp_path / "plain"
    root.mkdir()
    names = ["Report", "report", "e\u0301", "\xc9", "other", "deep/A", "Deep/a"]
    for name in names:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(name)
    # Skipped, so that their names are not used.
    (root / "x.tmp").symlink_to("/etc/passwd")
    (root / "X.tmp").symlink_to("/etc/passwd")
    made = {}

    def store_of(url, endpoint=None):
        made[url] = (FoldingStore if "folding" in url else LocalStore)(url)
        return made[url]

    monkeypatch.setattr("oarlock.ray.job.store", store_of)
    # Twice, because the second run may not take the first one's outputs for those of the other names.
    for done_count in (4, 0):
        done = job("encrypt", root, tmp_path / "folding", recipients=(recipient,), overwrite=done_count == 0)
        assert (done.done, done.failed, done.skipped) == (done_count, 3, 2), done
        assert len(tree(tmp_path / "folding")) == 4
        for name, reason in done.failures:
            other = next(one for one in names if one != name and fold(one) == fold(name))
            assert repr(other) in reason and "upper and lower case" in reason
            assert not (tmp_path / "folding" / f"{name}.age").exists()
            with oarlock.open(tmp_path / "folding" / f"{other}.age", identity=path) as opened:
                assert opened.read() == other.encode()
    # Files that are skipped have no outputs, so that only names with the suffix count.
    (tmp_path / "folding" / "readme").touch()
    (tmp_path / "folding" / "README").touch()
    done = job("decrypt", tmp_path / "folding", tmp_path / "folding-opened", identities=(path,))
    assert (done.done, done.failed, done.skipped) == (4, 0, 2)
    done = job("encrypt", root, tmp_path / "telling", recipients=(recipient,))
    assert (done.done, done.failed) == (len(names), 0)


def test_how_letter_case_is_told_apart(tmp_path, monkeypatch):
    store = LocalStore(tmp_path)
    assert not store.folds_case()
    store.create()
    assert not store.folds_case()
    (tmp_path / FOLDER.upper()).mkdir()
    assert not store.folds_case()
    (tmp_path / FOLDER.upper()).rmdir()
    # What a system that does not tell it apart shows.
    (tmp_path / FOLDER.upper()).symlink_to(tmp_path / FOLDER)
    assert store.folds_case()


def test_links_in_the_destination_are_not_followed(keys, tmp_path, rng):
    make(tmp_path / "plain", rng, sizes=(5, 6))
    (tmp_path / "outside").mkdir()
    (tmp_path / "sealed").mkdir()
    os.symlink(tmp_path / "outside", tmp_path / "sealed" / "deep")
    done = job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(keys[0][2],))
    assert (done.done, done.failed) == (1, 1)
    assert os.listdir(tmp_path / "outside") == []
    os.symlink(tmp_path / "outside", tmp_path / "own")
    (tmp_path / "other").mkdir()
    os.symlink(tmp_path / "outside", tmp_path / "other" / FOLDER)
    with pytest.raises((JobError, OSError)):
        job("encrypt", tmp_path / "plain", tmp_path / "other", recipients=(keys[0][2],))
    assert os.listdir(tmp_path / "outside") == []


def test_source_and_destination_must_be_apart(keys, tmp_path, rng):
    make(tmp_path / "plain", rng, sizes=(5,))
    os.symlink(tmp_path / "plain", tmp_path / "link")
    for source, target in (
        (tmp_path / "plain", tmp_path / "plain"),
        (tmp_path / "plain", tmp_path / "plain" / "sealed"),
        (tmp_path / "plain", tmp_path / "link" / "sealed"),
        (tmp_path / "plain" / "deep", tmp_path / "plain"),
        ("s3://bucket/a", "s3://bucket/a/b"),
        ("s3://bucket", "s3://bucket/b"),
    ):
        with pytest.raises(JobError, match=r"contain|not a folder"):
            job("encrypt", source, target, recipients=(keys[0][2],))
    assert list(tree(tmp_path / "plain")) == [b"0.bin"]


def test_two_jobs_on_one_destination(keys, tmp_path, rng):
    make(tmp_path / "plain", rng, sizes=(5,))
    store = LocalStore(tmp_path / "sealed")
    store.create()
    assert store.lock("the other job") is None
    with pytest.raises(JobError, match="the other job"):
        job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(keys[0][2],))
    store.unlock()
    assert job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(keys[0][2],)).done == 1


# Failures.


def test_files_that_change_while_they_are_read(tmp_path):
    store = LocalStore(tmp_path)
    file = tmp_path / "file"
    changes = (
        lambda: file.write_bytes(b"longer than before"),
        lambda: file.write_bytes(b"same!"),
        lambda: os.truncate(file, 2),
    )
    for change in changes:
        file.write_bytes(b"12345")
        os.utime(file, ns=(0, 0))
        entry = store.stat("file")
        with pytest.raises(Changed):
            with store.open(entry):
                change()
        with pytest.raises(Changed):
            with store.open(entry):
                pass
    file.write_bytes(b"12345")
    entry = store.stat("file")
    with store.open(entry) as source:
        with pytest.raises(Changed):
            source.read([memoryview(bytearray(6))], 0)
    file.unlink()
    with pytest.raises(Failed, match="no longer"):
        with store.open(entry):
            pass
    file.symlink_to("/etc/passwd")
    with pytest.raises(Failed, match="regular"):
        with store.open(entry):
            pass


def change_unseen(file):
    """Change a file, and not its length or time of modification."""
    before = file.stat()
    with open(file, "r+b") as opened:
        first = opened.read(1)
        opened.seek(0)
        opened.write(bytes([first[0] ^ 1]))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_mtime_ns == before.st_mtime_ns


def test_a_change_with_the_time_of_modification_put_back(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    store = LocalStore(tmp_path)
    entry = store.stat("file")
    time.sleep(0.02)
    change_unseen(file)
    with pytest.raises(Changed):
        with store.open(entry):
            pass
    # Another file under the name, with all times of the first one that a program can set.
    entry = store.stat("file")
    other = tmp_path / "other"
    other.write_bytes(b"54321")
    os.utime(other, ns=(0, int(entry.etag, 16)))
    os.rename(other, file)
    assert not store.stat("file").is_same(entry)


@pytest.mark.parametrize("is_settled", [True, False])
def test_no_nonce_meets_two_plaintexts(tmp_path, is_settled):
    """A range that is tried again, of a file that has changed between the attempts."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "sealed").mkdir()
    file = tmp_path / "plain" / "file"
    file.write_bytes(bytes(4 * CHUNK))
    recipient = AgeIdentities.generate().recipient
    folders = (str(tmp_path / "plain"), str(tmp_path / "sealed"))
    worker = worker_of(Settings("encrypt", *folders, None, (recipient,), False, None, 2))
    worker._target.create()
    entry = worker._source.stat("file")._replace(is_settled=is_settled)
    key, nonce = AgeKey(), os.urandom(16)
    sealed = Sealed(key.wrap([worker.begin()[0]]), nonce, 0)
    item = Item(entry, "file.age", sealed=sealed)
    upload = worker._target.begin(item.path, 1 << 20, 2)
    part, written = worker._target.part, []

    def failing(*arguments):
        sink = part(*arguments)

        def write(views):
            written.append(b"".join(views))
            time.sleep(0.02)
            change_unseen(file)
            raise OSError(5, "not this time")

        sink.write = write
        return sink

    worker._target.part = failing
    fault = worker.range(item, upload, 1, bytes(200))
    assert len(written) == 1
    assert fault.kind == ("changed" if is_settled else "again")


def test_a_change_between_read_and_seal_is_noticed(tmp_path):
    (tmp_path / "sealed").mkdir()
    file = tmp_path / "file"
    file.write_bytes(bytes(4 * CHUNK))
    recipient = AgeIdentities.generate().recipient
    worker = worker_of(Settings("encrypt", str(tmp_path), str(tmp_path / "sealed"), None, (recipient,), False, None, 2))
    worker._target.create()
    item = Item(worker._source.stat("file"), "file.age", sealed=Sealed(AgeKey().wrap([worker.begin()[0]]), bytes(16), 0))
    upload = worker._target.begin(item.path, 1 << 20, 2)
    opened, part, written = worker._source.source, worker._target.part, []

    def source(entry):
        found = opened(entry)
        read = found.read

        def late(views, position):
            time.sleep(0.02)
            change_unseen(file)
            read(views, position)

        found.read = late
        return found

    def sink(*arguments):
        found = part(*arguments)
        found.write = written.append
        return found

    worker._source.source, worker._target.part = source, sink
    assert worker.range(item, upload, 1, bytes(200)).kind == "changed"
    assert not written


def test_a_change_of_a_file_may_not_show():
    """Also if it was the last one long ago: a program that has mapped it writes without a new time."""
    folder, name = os.path.split(os.path.realpath(sys.executable))
    assert not LocalStore(folder).stat(name).is_settled


def change_mapped(file):
    with open(file, "r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
        mapped[0] ^= 1


@pytest.mark.parametrize("change", [change_unseen, change_mapped, None])
def test_a_changed_source_gets_another_file_key(keys, tmp_path, rng, monkeypatch, change):
    path, _, recipient = keys[0]
    (tmp_path / "plain").mkdir()
    file = tmp_path / "plain" / "file"
    file.write_bytes(rng.randbytes(5 * CHUNK))
    uploads, failures, answer = [], [1], _Job._range_done

    def begun(self, *arguments):
        uploads.append(self)
        _Upload.__init__(self, *arguments)

    def failing(self, unit, given):
        if failures:
            failures.pop()
            if change is not None:
                change(file)
            given = Fault(unit.long.item.entry, "the connection broke", "again")
        return answer(self, unit, given)

    monkeypatch.setattr("oarlock.ray.job._Upload", type("Spied", (_Upload,), {"__init__": begun}))
    monkeypatch.setattr(_Job, "_range_done", failing)
    done = job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(recipient,), range_chunks=2)
    assert (done.done, done.failed) == (1, 0) and done.retries
    first, second = uploads
    assert first.prologue != second.prologue and first._nonce != second._nonce
    with oarlock.open(tmp_path / "sealed" / "file.age", identity=path) as opened:
        assert opened.read() == file.read_bytes()
    assert is_clean(tmp_path / "sealed")


def test_a_file_that_keeps_growing_is_not_put_out(keys, tmp_path, rng):
    recipient = keys[0][2]
    plain = make(tmp_path / "plain", rng)
    growing, is_over = tmp_path / "plain" / "growing", threading.Event()

    def grow():
        with open(growing, "ab", buffering=0) as file:
            while not is_over.is_set():
                file.write(b"x" * 10)
                time.sleep(0.0005)

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        while not growing.exists():
            time.sleep(0.01)
        done = job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(recipient,))
    finally:
        is_over.set()
        thread.join()
    assert (done.done, done.failed) == (len(plain), 1)
    assert done.failures == [("growing", "it changed while it was read")] and done.retries > 0
    assert not (tmp_path / "sealed" / "growing.age").exists()
    # Once it stays as it is, it is taken.
    done = job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(recipient,))
    assert (done.done, done.unchanged) == (1, len(plain))


def test_a_worker_that_is_killed(keys, tmp_path, rng):
    path, _, recipient = keys[0]
    plain = make(tmp_path / "plain", rng, sizes=[rng.randrange(3 * CHUNK) for _ in range(300)])
    (tmp_path / "plain" / "long").write_bytes(rng.randbytes(40 * CHUNK))
    plain = tree(tmp_path / "plain")
    for command, source, target, workers, options in (
        ("encrypt", "plain", "sealed", 2, {"recipients": (recipient,)}),
        ("decrypt", "sealed", "opened", 1, {"identities": (path,)}),
        ("rotate", "sealed", "rotated", 1, {"identities": (path,), "recipients": (keys[1][2],)}),
    ):
        with Killer() as killer:
            done = job(command, tmp_path / source, tmp_path / target, workers=workers, range_chunks=2, **options)
        assert killer.killed == done.workers_lost == 1
        assert (done.done + done.unchanged, done.failed) == (len(plain), 0)
        assert is_clean(tmp_path / target)
    assert tree(tmp_path / "opened") == plain
    for name, data in plain.items():
        with oarlock.open(os.path.join(os.fsencode(tmp_path / "rotated"), name + b".age"), identity=keys[1][0]) as opened:
            assert opened.read() == data


def test_headers_that_were_written_in_part(tmp_path, monkeypatch):
    """A job that ends while it replaces a header in place leaves a journal, with which the next one repairs the file."""
    old, new, key = AgeIdentities.generate(), AgeIdentities.generate(), AgeKey()
    store = LocalStore(tmp_path)
    store.create()
    header, rest = key.wrap([old.recipient]), os.urandom(100)
    names = ("a", "b", "c")
    for name in names:
        (tmp_path / name).write_bytes(header + rest)
    again = key.wrap([new.recipient], AgeHeader.parse(header))
    assert len(again) == len(header)
    items = [Item(store.stat(name), name, header=again, header_bytes=len(header)) for name in names]
    write, written = os.pwrite, []

    def write_in_part(descriptor, data, position):
        written.append(write(descriptor, data[:50] if written else data, position))
        return written[-1]

    monkeypatch.setattr(os, "pwrite", write_in_part)
    with pytest.raises(OSError):
        headers.replace(store, items)
    monkeypatch.undo()
    contents = {name: (tmp_path / name).read_bytes() for name in names}
    assert contents == {"a": again + rest, "b": again[:50] + header[50:] + rest, "c": header + rest}
    # A file that is another one now stays as it is, and a journal leads nowhere else.
    (tmp_path / "c").write_bytes(header + os.urandom(100))
    other = (tmp_path / "c").read_bytes()
    outside = tmp_path.parent / "outside"
    outside.write_bytes(header + rest)
    (journal,) = (tmp_path / FOLDER).glob("headers-*")
    line = json.loads(journal.read_text().splitlines()[0])
    with open(journal, "a") as file:
        for change in (
            {"path": "../outside"},
            {"path": str(outside)},
            {"path": 5},
            {"size": None},
            {"header": "?"},
            {"following": ""},
        ):
            file.write(json.dumps({**line, **change}) + "\n")
        file.write('[]\n"text"\n' + "[" * 10_000 + '\n{"cut')
    assert store.lock("test") is None
    store.unlock()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == again + rest
    assert (tmp_path / "c").read_bytes() == other
    assert outside.read_bytes() == header + rest
    assert is_clean(tmp_path)


def test_a_job_that_is_killed_goes_on(cluster, keys, tmp_path, rng):
    path, _, recipient = keys[0]
    plain = make(tmp_path / "plain", rng, sizes=[rng.randrange(CHUNK) for _ in range(900)])
    command = [sys.executable, "-m", "oarlock.ray", "encrypt", "--address", cluster.address_info["address"]]
    command += ["-r", recipient, str(tmp_path / "plain"), str(tmp_path / "sealed")]
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not any(tmp_path.glob("sealed/*.age")):
        assert driver.poll() is None and time.monotonic() < deadline, driver.stderr.read()
        time.sleep(0.005)
    driver.kill()
    driver.communicate()
    written = len(tree(tmp_path / "sealed"))
    assert 0 < written < len(plain)
    done = job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(recipient,))
    assert done.failed == 0 and done.done + done.unchanged == len(plain)
    assert is_clean(tmp_path / "sealed")
    job("decrypt", tmp_path / "sealed", tmp_path / "opened", identities=(path,))
    assert tree(tmp_path / "opened") == plain


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_full_disk(keys, tmp_path, rng):
    make(tmp_path / "plain", rng, sizes=[20 * CHUNK] * 8)
    target = tmp_path / "sealed"
    target.mkdir()
    library = ctypes.CDLL(None, use_errno=True)
    if library.mount(b"none", os.fsencode(target), b"tmpfs", 0, b"size=3m") != 0:
        pytest.skip("this machine mounts nothing")
    try:
        with pytest.raises(JobError, match="No space left"):
            job("encrypt", tmp_path / "plain", target, recipients=(keys[0][2],))
        for name, data in tree(target).items():
            assert len(data) > 20 * CHUNK, name
        assert is_clean(target)
    finally:
        library.umount2(os.fsencode(target), 2)


# Manifests that somebody else wrote.


def test_hostile_manifests(keys, tmp_path, rng):
    path, _, recipient = keys[0]
    plain = make(tmp_path / "plain", rng)
    job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(recipient,), digest=True)
    (manifest,) = (tmp_path / "sealed" / FOLDER).glob("manifest-*.jsonl")
    lines = [json.loads(line) for line in manifest.read_text().splitlines()]
    done = {line["path"]: line for line in lines if line.get("state") == "done"}
    hostile = [
        b"\n",
        b"{" * 100_000 + b"\n",
        b"[" * 60_000 + b"\n",
        b'"text"\n',
        b"x" * (3 << 20) + b"\n",
        b"\xff\xfe\x00\n",
        json.dumps({**done["0.bin"], "path": 5}).encode() + b"\n",
        json.dumps({**done["0.bin"], "path": "\ud800"}).encode() + b"\n",
        json.dumps({**done["0.bin"], "output": []}).encode() + b"\n",
        json.dumps({**done["0.bin"], "state": "opened"}).encode() + b"\n",
        json.dumps({**done["0.bin"], "path": "../../outside"}).encode() + b"\n",
        json.dumps({**done["0.bin"], "path": "/etc/passwd"}).encode() + b"\n",
        json.dumps({**done["0.bin"], "size": 10**400}).encode() + b"\n",
        json.dumps({**done["2.bin"], "etag": {"a": [1]}}).encode() + b"\n",
        json.dumps({**done["4.bin"], "output": {"size": 1, "etag": "0"}}).encode() + b"\n",
        json.dumps({**done["6.bin"], "sha256": "0" * 64}).encode() + b"\n",
        json.dumps({**done["6.bin"], "sha256": "0" * 64}).encode() + b"\n",
        b'{"cut short',
    ]
    with open(manifest, "ab") as file:
        file.writelines(hostile)
    checked = job("verify", tmp_path / "plain", tmp_path / "sealed", identities=(path,))
    assert [path for path, reason in checked.failures if "SHA-256" in reason] == ["6.bin"]
    assert any("10 lines of manifests were ignored" in note for note in checked.notes), checked.notes
    assert not any(len(note) > 2000 for note in checked.notes)
    # Lines that do not fit what is there are not believed.
    again = job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(recipient,))
    assert (again.done, again.unchanged, again.failed) == (3, len(plain) - 3, 0)
    assert not (tmp_path / "outside").exists()
    huge = tmp_path / "manifest"
    with open(huge, "wb") as file:
        file.write(b"y" * (LINE_BYTES_MAX + 1) + b"\n" + b"z" * (1 << 20))
    again = job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(recipient,), manifest=str(huge))
    assert again.done == 0 and again.failed == len(plain)
    os.unlink(manifest)
    os.symlink(huge, manifest)
    with pytest.raises(OSError):
        job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(recipient,))


def test_without_ray():
    code = "import sys; sys.modules['ray'] = None; from oarlock.ray.command import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run((sys.executable, "-c", code, "encrypt", "a", "b", "-r", "x"), capture_output=True, text=True)
    assert done.returncode == 2
    assert "ray is not installed: install the wheel of oarlock with the extra [ray]" in done.stderr


def test_arguments(tmp_path, keys, capsys):
    from oarlock.ray.command import main

    path, identity, recipient = keys[0]
    folder, sealed = str(tmp_path / "plain"), str(tmp_path / "sealed")
    os.mkdir(folder)
    for arguments, word in (
        (["encrypt", folder, sealed], "recipient"),
        (["rotate", folder, sealed, "-i", path], "recipients"),
        (["decrypt", folder, sealed], "identity"),
        (["decrypt", folder, sealed, "-i", "/no/such"], "No such file"),
        (["encrypt", folder, sealed, "-r", identity], "secret"),
        (["encrypt", folder, sealed, "-R", "/no/such"], "No such file"),
        (["encrypt", "/no/such", sealed, "-r", recipient], "not a folder"),
        (["encrypt", "nothing://host/x", sealed, "-r", recipient], "not supported"),
        (["encrypt", "s3:///x", sealed, "-r", recipient], "bucket"),
    ):
        assert main(arguments) == 2
        error = capsys.readouterr().err
        assert word in error and identity[16:40] not in error.upper(), error
    for arguments in (["encrypt"], ["encrypt", folder, sealed, "--local", "0"], ["frobnicate"]):
        with pytest.raises(SystemExit):
            main(arguments)


# Long variants.


@pytest.mark.long
def test_many_small_files(keys, tmp_path, rng):
    """The overhead of an object is at most 2 ms, in bounded memory."""
    path, _, recipient = keys[0]
    count = 10_000
    for number in range(count):
        file = tmp_path / "plain" / f"{number % 100}" / f"{number}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(rng.randbytes(4096))
    for command, source, target, options in (
        ("encrypt", "plain", "sealed", {"recipients": (recipient,)}),
        ("decrypt", "sealed", "opened", {"identities": (path,)}),
    ):
        done = job(command, tmp_path / source, tmp_path / target, **options)
        assert (done.done, done.failed) == (count, 0)
        print(f"{command}: {done.seconds / count * 1000:.2f} ms an object")
        assert done.seconds / count <= 0.002
    assert tree(tmp_path / "opened") == tree(tmp_path / "plain")


@pytest.mark.long
def test_workers_that_are_killed_again_and_again(keys, tmp_path):
    rng = random.Random(1)
    path, _, recipient = keys[0]
    plain = make(tmp_path / "plain", rng, sizes=[rng.randrange(20 * CHUNK) for _ in range(2000)])
    for command, source, target, options in (
        ("encrypt", "plain", "sealed", {"recipients": (recipient,)}),
        ("decrypt", "sealed", "opened", {"identities": (path,)}),
    ):
        with Killer(3) as killer:
            done = job(command, tmp_path / source, tmp_path / target, workers=2, range_chunks=2, **options)
        assert killer.killed > 1
        assert (done.done, done.failed) == (len(plain), 0)
    assert tree(tmp_path / "opened") == plain
