"""`oarlock fleet` and what somebody else wrote into its own folder of the destination."""

import json
import os

import pytest
from ray_support import fill_for, is_clean

from oarlock._oarlock import AgeHeader, AgeIdentities, AgeKey
from oarlock.ray import JobError, headers
from oarlock.ray.local import LocalStore
from oarlock.ray.manifest import Manifest
from oarlock.ray.objects import FOLDER
from oarlock.ray.s3 import S3Store

pytestmark = pytest.mark.usefixtures("cluster")


@pytest.fixture
def journal(tmp_path):
    """A folder with an age file and another file, and a function that plants a journal of their headers."""
    key = AgeKey()
    old, new = (AgeIdentities.generate() for _ in range(2))
    header = key.wrap([old.recipient])
    again = key.wrap([new.recipient], AgeHeader.parse(header))
    assert len(again) == len(header)
    place = LocalStore(tmp_path / "dst")
    place.create()
    rest = os.urandom(100)

    def plant(name, contents, header, **more):
        (tmp_path / "dst" / name).write_bytes(contents)
        line = {"path": name, "size": len(contents), "following": contents[len(header) :][:32]}
        encoded = {key: headers._text(data) for key, data in (("header", header), ("following", line["following"]))}
        path = tmp_path / "dst" / FOLDER / "headers-0"
        path.write_text(json.dumps({**line, **encoded, **more}) + "\n")
        os.chmod(path, 0o600)
        return path

    return place, plant, header, again, rest


def test_a_planted_journal_of_headers(journal, tmp_path):
    place, plant, header, again, rest = journal
    other = os.urandom(len(header)) + rest
    for name, contents, new in (
        ("not-age", other, again),
        ("no-header", header + rest, os.urandom(len(header))),
        ("short", header + rest, header[:-1]),
        ("long", header + rest, again + b"x"),
    ):
        plant(name, contents, new)
        assert place.lock("test") is None
        place.unlock()
        assert (tmp_path / "dst" / name).read_bytes() == contents, name
        assert is_clean(tmp_path / "dst")
    plant("age", header + rest, again)
    assert place.lock("test") is None
    place.unlock()
    assert (tmp_path / "dst" / "age").read_bytes() == again + rest


@pytest.mark.parametrize("whose", ["another user's", "writable"])
def test_a_journal_of_headers_that_another_user_may_have_written(journal, tmp_path, whose):
    if whose != "writable" and os.geteuid() != 0:
        pytest.skip("giving files away needs root")
    place, plant, header, again, rest = journal
    path = plant("age", header + rest, again)
    if whose == "writable":
        os.chmod(path, 0o620)
    else:
        os.chown(path, 1234, -1)
    with pytest.raises(JobError, match="another user may have written it"):
        place.lock("test")
    assert (tmp_path / "dst" / "age").read_bytes() == header + rest
    # The lock is free again, and the journal is left to its user.
    os.chown(path, os.geteuid(), -1)
    os.chmod(path, 0o600)
    assert place.lock("test") is None
    place.unlock()
    assert (tmp_path / "dst" / "age").read_bytes() == again + rest


@pytest.mark.usefixtures("threads_as_workers")
def test_manifests_with_numbers_that_none_can_follow(work, target, keys, tmp_path):
    fill_for(tmp_path / "src", {"a": b"a"}, "encrypt", keys)
    assert work("encrypt", tmp_path / "src", target).done == 1
    for name in ("999999999999", "9999999999999", "999999999999-000001", "x", "", "-5"):
        target.write(f"{FOLDER}/manifest-{name}.jsonl", b"")
    for number in range(3):
        fill_for(tmp_path / "src", {"a": b"a" * number}, "encrypt", keys)
        done = work("encrypt", tmp_path / "src", target)
        assert (done.done, done.failed) == (1, 0), done
        assert any("6 lines" in note and "not the name of a manifest" in note for note in done.notes), done.notes
        done = work("encrypt", tmp_path / "src", target)
        assert (done.done, done.unchanged) == (0, 1), done
    target.write(f"{FOLDER}/manifest-999999999997.jsonl", b"")
    with pytest.raises(JobError, match=r"no number is left after manifest-999999999998"):
        for number in range(5, 8):
            fill_for(tmp_path / "src", {"a": b"a" * number}, "encrypt", keys)
            assert work("encrypt", tmp_path / "src", target).failed == 0


def test_manifests_are_read_in_the_order_of_numbers(keys, tmp_path):
    """A store lists pieces of a manifest by name."""
    lines = []
    for number in ("1-999999", "1-1000000", "2-000001", "1"):
        line = {"command": "encrypt", "path": "x", "size": len(lines), "etag": "e", "state": "failed"}
        whole, _, piece = number.partition("-")
        name = f"manifest-{whole:>012}{piece and '-'}{piece}.jsonl"
        lines.append((name, [json.dumps(line).encode() + b"\n"]))
    place = LocalStore(tmp_path)
    place.create()
    for count, last in ((4, 2), (2, 1)):
        place.manifests = lambda count=count: sorted(lines)[: count + 1] if count == 4 else lines[:2][::-1]
        assert Manifest("encrypt", place, place, is_written=False).known("x")["size"] == last


@pytest.fixture
def without_if_none_match(bucket, moto, monkeypatch):
    """A function that returns stores of a bucket whose server does not look at If-None-Match."""
    _, name = bucket

    def made():
        store = S3Store(f"s3://{name}/dst", f"http://127.0.0.1:{moto}")
        call = store._fs.call_s3

        def dropped(method, **arguments):
            arguments.pop("IfNoneMatch", None)
            return call(method, **arguments)

        store._fs.call_s3 = dropped
        return store

    # s3fs gives one file system to all stores of an endpoint.
    monkeypatch.setattr("s3fs.S3FileSystem.cachable", False)
    return made


def test_the_lock_of_a_bucket_without_conditions(without_if_none_match):
    first, second = without_if_none_match(), without_if_none_match()
    assert first.lock("the first job") is None
    for _ in range(2):
        assert "the first job" in second.lock("the second job")
        assert first.lock_text() == "the first job"
    first.unlock()
    assert second.lock("the second job") is None
    assert "the second job" in first.lock("the first job")
    # Of a job that was killed.
    first.break_lock()
    assert first.lock("the first job") is None
    second.unlock()
    assert first.lock_text() == "the first job"
    first.unlock()
    assert not list(first._listed(f"dst/{FOLDER}/"))


def test_two_jobs_at_once_in_a_bucket_without_conditions(without_if_none_match):
    """The second one begins between any two requests of the first one."""
    first, second = without_if_none_match(), without_if_none_match()
    call = first._fs.call_s3
    for step in range(1, 10):
        count, held = [0], []

        def interrupted(method, count=count, held=held, step=step, **arguments):
            count[0] += 1
            if count[0] == step:
                held.append(second.lock("the second job"))
            return call(method, **arguments)

        first._fs.call_s3 = interrupted
        held.append(first.lock("the first job"))
        assert len(held) == 2 or count[0] < step
        assert held.count(None) <= 1, (step, held)
        if None in held:
            assert first.lock_text() == ("the first job" if held[-1] is None else "the second job"), step
        first._fs.call_s3 = call
        first.unlock()
        second.unlock()
        assert not list(first._listed(f"dst/{FOLDER}/")), step
