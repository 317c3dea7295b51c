"""`oarlock fleet`: a job that goes on where another one, with other options, has stopped."""

import json
import os

import pytest
from ray_support import CHUNK, fill_for, is_clean

from oarlock._oarlock import AgeIdentities
from oarlock.ray.job import _Job
from oarlock.ray.lines import LINE_BYTES_MAX
from oarlock.ray.local import LocalStore
from oarlock.ray.objects import FOLDER

pytestmark = pytest.mark.usefixtures("cluster", "threads_as_workers")


@pytest.fixture
def folder(place_of):
    return place_of("folder", "dst")


def test_recipients_that_were_added_stay(work, target, keys, tmp_path):
    (_, _, first), (_, _, second) = keys
    third = AgeIdentities.generate().recipient
    fill_for(tmp_path / "src", {"a": b"a", "b": b"b"}, "encrypt", keys)

    def encrypt(*recipients):
        done = work("encrypt", tmp_path / "src", target, recipients=recipients)
        return done.done, done.unchanged, done.failed

    assert encrypt(first) == (2, 0, 0)
    for added in (second, third):
        done = work("rotate", target.url, target, recipients=(added,), keep=True)
        assert (done.done, done.failed) == (2, 0), done
        assert encrypt(first) == (0, 2, 0)
    before = [target.read(name) for name in target.names()]
    assert encrypt(third, first, second) == (0, 2, 0)
    assert before == [target.read(name) for name in target.names()]
    # What changes has the recipients of the command, and what is for others is done again.
    fill_for(tmp_path / "src", {"a": b"newer"}, "encrypt", keys)
    assert encrypt(first) == (1, 1, 0)
    assert encrypt(second) == (2, 0, 0)
    # A rotation without --keep replaces them all.
    assert work("rotate", target.url, target, identities=(keys[1][0],), recipients=(first,)).failed == 0
    assert encrypt(first) == (0, 2, 0)
    assert encrypt(first, second) == (2, 0, 0)


def test_more_recipients_than_a_line_holds(work, folder, keys, tmp_path):
    """A list of them has several lines, or what was added to it would be lost with the next job."""
    first, second = (recipient for _, _, recipient in keys)
    many = (*(AgeIdentities.generate().recipient for _ in range(1100)), first)
    fill_for(tmp_path / "src", {"a": b"a"}, "encrypt", keys)
    assert work("encrypt", tmp_path / "src", folder, recipients=many).done == 1
    assert work("rotate", folder.url, folder, recipients=(second,), keep=True).done == 1
    (manifest, *_) = sorted((tmp_path / "dst" / FOLDER).glob("manifest-*.jsonl"))
    lists = [line for line in manifest.read_text().splitlines() if '"recipients"' in line and '"list"' in line]
    assert len(lists) == 2 and max(map(len, lists)) <= LINE_BYTES_MAX
    for recipients in (many, (*many, second)):
        done = work("encrypt", tmp_path / "src", folder, recipients=recipients)
        assert (done.unchanged, done.notes) == (1, []), done
    # Parts that are another list's, out of order, or of too many.
    with open(manifest, "a") as file:
        for change in ({"part": 0}, {"part": 3}, {"parts": 1 << 70}, {"part": "1"}, {"list": [first]}, {"list": [5]}):
            file.write(json.dumps({**json.loads(lists[1]), **change}) + "\n")
    assert work("encrypt", tmp_path / "src", folder, recipients=(*many, second)).unchanged == 1


def test_hostile_names_of_recipients(work, folder, keys, tmp_path):
    """Lists under names that are not theirs, names that are no texts, and many of them."""
    fill_for(tmp_path / "src", {"a": b"a"}, "encrypt", keys)
    assert work("encrypt", tmp_path / "src", folder).done == 1
    (manifest,) = (tmp_path / "dst" / FOLDER).glob("manifest-*.jsonl")
    line = json.loads(manifest.read_text().splitlines()[-1])
    rotated = {**line, "command": "rotate", "path": "a.age", "source": None}
    with open(manifest, "a") as file:
        for listed in ("x", 5, [5], [keys[1][2]], {"a": 1}):
            file.write(json.dumps({"recipients": line["recipients"], "list": listed}) + "\n")
        for name in (5, [], "+\ud800"):
            file.write(json.dumps({**rotated, "recipients": name}) + "\n")
        for number in range(1000):
            file.write(json.dumps({**rotated, "recipients": f"+{number:016x}"}) + "\n")
    done = work("encrypt", tmp_path / "src", folder)
    assert (done.unchanged, done.failed) == (1, 0), done
    assert any("3 lines of manifests were ignored" in note for note in done.notes), done.notes
    assert work("encrypt", tmp_path / "src", folder, recipients=(keys[0][2], keys[1][2])).done == 1


@pytest.mark.parametrize("command", ["encrypt", "decrypt"])
def test_a_digest_that_is_asked_for_later(work, folder, keys, tmp_path, command):
    fill_for(tmp_path / "src", {"a": b"a", "b": bytes(3 * CHUNK)}, command, keys)
    assert work(command, tmp_path / "src", folder).done == 2
    assert work(command, tmp_path / "src", folder, digest=True, dry_run=True).done == 2
    assert work(command, tmp_path / "src", folder, digest=True).done == 2
    text = "".join(path.read_text() for path in (tmp_path / "dst" / FOLDER).glob("manifest-*.jsonl"))
    digests = [line["sha256"] for line in map(json.loads, text.splitlines()) if "sha256" in line]
    assert len(digests) == 2 and all(len(digest) == 64 for digest in digests)
    # It stays, also for jobs that do not ask.
    for options in ({"digest": True}, {}, {"digest": True}):
        assert work(command, tmp_path / "src", folder, **options).unchanged == 2


def test_a_manifest_on_another_disk(work, folder, keys, tmp_path, monkeypatch):
    """Its flush does not cover the names of outputs, so they are flushed before the job ends."""
    fill_for(tmp_path / "src", {"a": b"a"}, "encrypt", keys)
    settled, settle = [], LocalStore.settle

    def noted(self):
        settle(self)
        settled.append(((tmp_path / "dst" / "a.age").exists(), "done" in (tmp_path / "manifest").read_text()))

    monkeypatch.setattr(LocalStore, "settle", noted)
    for count in (1, 0):
        assert work("encrypt", tmp_path / "src", folder, manifest=str(tmp_path / "manifest")).done == count
    assert settled == [(True, True)] * 2


@pytest.mark.parametrize("change", ["removed", "cut short"])
@pytest.mark.parametrize("is_long", [False, True])
def test_an_object_that_changes_after_the_listing(work, folder, keys, tmp_path, monkeypatch, change, is_long):
    options = {"range_chunks": 2} if is_long else {}
    fill_for(tmp_path / "src", {"a": bytes(5 * CHUNK if is_long else 5), "b": b"b"}, "encrypt", keys)
    hand_out, files = _Job._hand_out, [tmp_path / "src" / "a"]

    def late(self):
        if self._units and files:
            file = files.pop()
            if change == "removed":
                file.unlink()
            else:
                os.truncate(file, 1)
        hand_out(self)

    monkeypatch.setattr(_Job, "_hand_out", late)
    done = work("encrypt", tmp_path / "src", folder, **options)
    assert not files
    if change == "removed":
        assert (done.done, done.failed) == (1, 1) and done.failures == [("a", "it is no longer there")], done
    else:
        # As what it is now.
        assert (done.done, done.failed, done.retries) == (2, 0, 1), done
    assert folder.names() == (["b.age"] if change == "removed" else ["a.age", "b.age"])
    assert is_clean(tmp_path / "dst")


def test_an_object_that_is_listed_twice(work, target, keys, tmp_path, monkeypatch):
    """A store whose listing moves on while another program writes may do so."""
    fill_for(tmp_path / "src", {"a": b"a", "b": b"b"}, "encrypt", keys)
    listed = LocalStore.list

    def twice(self):
        found = list(listed(self))
        return iter([*found, *found])

    monkeypatch.setattr(LocalStore, "list", twice)
    done = work("encrypt", tmp_path / "src", target)
    assert (done.done, done.unchanged, done.failed) == (2, 2, 0) and target.names() == ["a.age", "b.age"], done
    done = work("encrypt", tmp_path / "src", target)
    assert (done.done, done.failed) == (0, 0), done


def test_times_in_the_future(work, folder, keys, tmp_path):
    fill_for(tmp_path / "src", {"a": b"a"}, "encrypt", keys)
    os.utime(tmp_path / "src" / "a", (4e9, 4e9))
    assert work("encrypt", tmp_path / "src", folder).done == 1
    os.utime(tmp_path / "src" / "a", (4e9, 4e9))
    assert work("encrypt", tmp_path / "src", folder).unchanged == 1
