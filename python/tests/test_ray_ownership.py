"""`oarlock fleet` and objects of the destination that are not the job's, in folders, buckets and on servers of SFTP."""

import errno
import os

import pytest
from ray_support import Bucket, fill_for, is_clean, job

from oarlock.ray import local
from oarlock.ray.job import _Job
from oarlock.ray.local import LocalStore
from oarlock.ray.objects import FOLDER, Changed
from oarlock.ray.worker import Fault

pytestmark = pytest.mark.usefixtures("cluster", "threads_as_workers")


COMMANDS = ("encrypt", "decrypt", "rotate")
FOREIGN = b"what another program has written"


def is_left_alone(done, count=1):
    return done.failed == count and all("--overwrite" in reason for _, reason in done.failures)


@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_that_was_edited_stays(work, target, keys, tmp_path, command):
    names = fill_for(tmp_path / "src", {"a": b"a", "b": b"b"}, command, keys)
    assert work(command, tmp_path / "src", target).done == 2
    target.write(names[0], FOREIGN)
    for _ in range(2):
        done = work(command, tmp_path / "src", target)
        assert (done.done, done.unchanged) == (0, 1) and is_left_alone(done), done
        assert target.read(names[0]) == FOREIGN
    # Also if the source has changed, and the other one is the job's.
    fill_for(tmp_path / "src", {"a": b"newer", "b": b"newer"}, command, keys)
    done = work(command, tmp_path / "src", target)
    assert done.done == 1 and is_left_alone(done), done
    assert target.read(names[0]) == FOREIGN
    done = work(command, tmp_path / "src", target, overwrite=True)
    assert (done.done, done.unchanged, done.failed) == (1, 1, 0), done
    assert target.read(names[0]) != FOREIGN
    assert work(command, tmp_path / "src", target).unchanged == 2


def test_a_failure_does_not_make_an_object_the_job_s(work, target, keys, tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "x.age").write_bytes(b"no age file")
    done = work("decrypt", tmp_path / "src", target)
    assert (done.done, done.failed) == (0, 1)
    target.write("x", FOREIGN)
    fill_for(tmp_path / "src", {"x": b"x"}, "decrypt", keys)
    done = work("decrypt", tmp_path / "src", target)
    assert done.done == 0 and is_left_alone(done), done
    assert target.read("x") == FOREIGN


class Ends(Exception):
    """The end of a driver."""


@pytest.mark.parametrize("command", COMMANDS)
def test_what_was_begun_alone_is_not_the_job_s(work, target, keys, tmp_path, monkeypatch, command):
    (name,) = fill_for(tmp_path / "src", {"x": b"x"}, command, keys)
    hand_out = _Job._hand_out

    def end(self):
        if self._units:
            raise Ends
        hand_out(self)

    monkeypatch.setattr(_Job, "_hand_out", end)
    with pytest.raises(Ends):
        work(command, tmp_path / "src", target)
    monkeypatch.undo()
    target.write(name, FOREIGN)
    done = work(command, tmp_path / "src", target)
    assert done.done == 0 and is_left_alone(done), done
    assert target.read(name) == FOREIGN


@pytest.mark.parametrize("command", COMMANDS)
def test_two_sources_of_one_destination(work, target, keys, tmp_path, command):
    (name,) = fill_for(tmp_path / "A", {"report": b"of A"}, command, keys)
    fill_for(tmp_path / "B", {"report": b"of B", "other": b"other"}, command, keys)
    # Archives may give files of the same length the same time.
    for folder in ("A", "B"):
        for file in (tmp_path / folder).iterdir():
            os.utime(file, (1, 1))
    assert work(command, tmp_path / "A", target).done == 1
    before = target.read(name)
    done = work(command, tmp_path / "B", target)
    assert done.done == 1 and is_left_alone(done), done
    assert target.read(name) == before
    assert work(command, tmp_path / "A", target).unchanged == 1
    # A job of the other source may go on, and replaces nothing of the first.
    done = work(command, tmp_path / "B", target)
    assert done.unchanged == 1 and is_left_alone(done), done
    if command == "encrypt":
        checked = work("verify", tmp_path / "B", target, recipients=())
        assert [(path, "differs" in reason) for path, reason in checked.failures] == [("report", True)]
        checked = job("verify", tmp_path / "B", target.url, **target.options)
        assert [path for path, _ in checked.failures] == ["report"]
    assert work(command, tmp_path / "B", target, overwrite=True).done == 1
    assert is_left_alone(work(command, tmp_path / "A", target))


def test_a_destination_that_fails_for_a_moment(work, target, keys, tmp_path, monkeypatch):
    (name,) = fill_for(tmp_path / "src", {"x": b"x"}, "encrypt", keys)
    target.write(name, FOREIGN)
    stat, failures = target.store.stat, [OSError(errno.EIO, "not this time")]

    def failing(self, path):
        if path == name and failures:
            raise failures.pop()
        return stat(self, path)

    monkeypatch.setattr(target.store, "stat", failing)
    done = work("encrypt", tmp_path / "src", target)
    assert not failures and done.done == 0 and is_left_alone(done), done
    assert target.read(name) == FOREIGN


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("is_long", [False, True])
@pytest.mark.parametrize("is_new", [True, False])
def test_an_object_that_appears_during_the_job(work, target, keys, tmp_path, monkeypatch, command, is_long, is_new):
    """After the job's look at the destination, which a new one needs not even do."""
    size, options = target.long if is_long else (5, {})
    names = fill_for(tmp_path / "src", {"a": os.urandom(size), "b": b"b"}, command, keys)
    if not is_new:
        assert work(command, tmp_path / "src", target, **options).done == 2
        fill_for(tmp_path / "src", {"a": os.urandom(size)}, command, keys)
    item, begin, written = _Job._item, _Job._begin, []

    def appear(path):
        if path == names[0] and not written:
            target.write(path, FOREIGN)
            written.append(path)

    def late(self, member, recipient):
        appear(member.item.path)
        return item(self, member, recipient)

    def late_begin(self, unit):
        appear(unit.member.item.path)
        return begin(self, unit)

    monkeypatch.setattr(_Job, "_item", late)
    monkeypatch.setattr(_Job, "_begin", late_begin)
    done = work(command, tmp_path / "src", target, **options)
    assert written and done.done == (1 if is_new else 0) and is_left_alone(done), done
    assert target.read(names[0]) == FOREIGN
    assert target.names() == sorted(names)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("is_long", [False, True])
def test_a_driver_that_ends_before_it_hears_of_objects(work, target, keys, tmp_path, monkeypatch, command, is_long):
    """The next one knows what is the job's, and what has been edited since."""
    size, options = target.long if is_long else (5, {})
    # A group of short ones is heard of at once.
    names = fill_for(tmp_path / "src", {name: os.urandom(size) for name in ("a" if is_long else "abc")}, command, keys)

    def end(*_):
        raise Ends

    with monkeypatch.context() as patch, pytest.raises(Ends):
        patch.setattr(_Job, "_done", end)
        work(command, tmp_path / "src", target, **options)
    assert target.names() == names
    if is_long:
        assert work(command, tmp_path / "src", target, **options).done == 1
        target.write(names[0], FOREIGN)
        assert is_left_alone(work(command, tmp_path / "src", target, **options))
        return
    target.write(names[1], FOREIGN)
    for _ in range(2):
        # The second driver ends as early.
        with monkeypatch.context() as patch, pytest.raises(Ends):
            patch.setattr(_Job, "_hand_out", lambda self: (_ for _ in ()).throw(Ends) if self._units else None)
            work(command, tmp_path / "src", target, **options)
    done = work(command, tmp_path / "src", target, **options)
    assert done.done == 2 and is_left_alone(done), done
    assert target.read(names[1]) == FOREIGN
    done = work(command, tmp_path / "src", target, **options)
    assert done.unchanged == 2 and is_left_alone(done), done
    if not isinstance(target, Bucket):
        assert is_clean(tmp_path / "dst") and not list((tmp_path / "dst" / FOLDER).glob("written-*"))


@pytest.mark.parametrize("command", COMMANDS)
def test_an_answer_that_is_lost(work, target, keys, tmp_path, monkeypatch, command):
    """The job meets what its own worker has written."""
    names = fill_for(tmp_path / "src", {"a": b"a", "b": b"b"}, command, keys)
    done_before, lost = _Job._done, []

    def lose(self, done):
        if len(lost) < 2:
            lost.append(done)
            return self._missed(Fault(done.entry, "the worker that had it ended", "again"))
        return done_before(self, done)

    monkeypatch.setattr(_Job, "_done", lose)
    done = work(command, tmp_path / "src", target)
    assert (done.done, done.retries, done.failed) == (2, 2, 0), done
    assert target.names() == names
    monkeypatch.undo()
    assert work(command, tmp_path / "src", target).unchanged == 2


@pytest.mark.parametrize("ends", [False, True])
def test_what_was_rotated_in_place_stays_its_source_s(work, target, keys, tmp_path, monkeypatch, ends):
    names = fill_for(tmp_path / "src", {"a": b"a", "b": b"b"}, "encrypt", keys)
    assert work("encrypt", tmp_path / "src", target).done == 2
    if ends:
        with monkeypatch.context() as patch, pytest.raises(Ends):
            patch.setattr(_Job, "_done", lambda *_: (_ for _ in ()).throw(Ends))
            work("rotate", target.url, target)
    assert work("rotate", target.url, target).failed == 0
    fill_for(tmp_path / "src", {"a": b"newer"}, "encrypt", keys)
    target.write(names[1], FOREIGN)
    done = work("encrypt", tmp_path / "src", target, recipients=(keys[1][2],))
    assert done.done == 1 and is_left_alone(done), done
    # Nor do its rotations make it the source's of another job.
    fill_for(tmp_path / "other", {"a": b"other"}, "encrypt", keys)
    assert is_left_alone(work("encrypt", tmp_path / "other", target))


@pytest.mark.parametrize("without", ["renames that replace nothing", "hard links too"])
def test_file_systems_that_have_less(tmp_path, monkeypatch, without):
    place = LocalStore(tmp_path)
    place.create()
    asked = []

    def refused(*_, **__):
        asked.append(1)
        local.ctypes.set_errno(errno.EINVAL)
        return -1

    monkeypatch.setattr(local, "_renameat2", refused)
    if without == "hard links too":

        def link(*_, **__):
            raise OSError(errno.EPERM, "no links here")

        monkeypatch.setattr(os, "link", link)
    for count, data in ((1, b"first"), (2, b"other")):
        upload = place.begin("x", 5, 1)
        sink = place.part(upload, 1, 0)
        sink.write([memoryview(data)])
        sink.finish()
        if count == 1:
            place.commit(upload, None)
        else:
            with pytest.raises(Changed, match="of this name"):
                place.commit(upload, None)
            place.abort(upload)
        assert len(asked) == count and (tmp_path / "x").read_bytes() == b"first"
    assert is_clean(tmp_path)
