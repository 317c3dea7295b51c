"""`oarlock fleet` with buckets, of a server with the interface of S3."""

import json
import os
from types import SimpleNamespace

import pytest
from botocore.model import ServiceModel
from ray_support import CHUNK, Unreliable, job, make, tree, worker_of

from oarlock._oarlock import AgeHeader, AgeIdentities, AgeKey
from oarlock.ray import JobError
from oarlock.ray.objects import FOLDER, Changed, Failed
from oarlock.ray.s3 import S3Store
from oarlock.ray.worker import Done, Item, Settings

pytestmark = pytest.mark.usefixtures("cluster")


def fill(client, name, prefix, contents):
    for key, data in contents.items():
        client.put_object(Bucket=name, Key=prefix + key, Body=data)


def objects(client, name, prefix):
    found = {}
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=name, Prefix=prefix):
        for entry in page.get("Contents", ()):
            if f"{FOLDER}/" not in entry["Key"]:
                found[entry["Key"][len(prefix) :]] = client.get_object(Bucket=name, Key=entry["Key"])["Body"].read()
    return found


@pytest.mark.usefixtures("threads_as_workers")
def test_buckets_that_fail_now_and_then(moto, bucket, keys, rng):
    """A store that fails one request in ten."""
    (old, _, first), (new, _, second) = keys
    client, name = bucket
    plain = {f"{number}/ä {number}": rng.randbytes(rng.randrange(2 * CHUNK)) for number in range(20)}
    plain |= {"long": rng.randbytes(200 * CHUNK + 9), "empty": b""}
    fill(client, name, "plain/", plain)
    client.put_object(Bucket=name, Key="plain/folder/", Body=b"")
    proxy = Unreliable(moto, 0.1, rng.randrange(1 << 32))
    try:

        def work(command, source, target, **options):
            return job(
                command, f"s3://{name}/{source}", f"s3://{name}/{target}", endpoint=proxy.url, range_chunks=80, **options
            )

        done = work("encrypt", "plain", "sealed", recipients=(first,))
        assert (done.done, done.failed, done.skipped) == (len(plain), 0, 1), done
        assert sorted(objects(client, name, "sealed/")) == sorted(f"{key}.age" for key in plain)
        done = work("rotate", "sealed", "rotated", identities=(old,), recipients=(second,))
        assert (done.done, done.failed) == (len(plain), 0), done
        done = work("decrypt", "rotated", "opened", identities=(new,))
        assert (done.done, done.failed) == (len(plain), 0), done
        assert objects(client, name, "opened/") == plain
        done = work("rotate", "rotated", "rotated", identities=(new,), recipients=(first, second))
        assert (done.done, done.failed) == (len(plain), 0), done
        done = work("verify", "plain", "rotated", identities=(old,))
        assert (done.done, done.failed) == (len(plain), 0), done
        done = work("verify", "plain", "sealed", identities=(old,))
        assert (done.done, done.failed) == (len(plain), 0), done
        assert proxy.failed > 10
    finally:
        proxy.close()
    sealed, rotated = objects(client, name, "sealed/"), objects(client, name, "rotated/")
    for key, data in sealed.items():
        assert rotated[key][AgeHeader.parse(rotated[key]).size :] == data[AgeHeader.parse(data).size :]
    # An upload whose beginning got no answer is known to nobody. The next job finds it.
    done = job("encrypt", f"s3://{name}/plain", f"s3://{name}/sealed", recipients=(first,), endpoint=f"http://127.0.0.1:{moto}")
    assert (done.done, done.unchanged, done.workers) == (0, len(plain), 0)
    assert "Uploads" not in client.list_multipart_uploads(Bucket=name, Prefix="sealed/")
    assert client.list_objects_v2(Bucket=name, Prefix=f"sealed/{FOLDER}/lock")["KeyCount"] == 0


def test_a_bucket_and_a_folder(moto, bucket, keys, tmp_path, rng):
    path, _, recipient = keys[0]
    client, name = bucket
    url, endpoint = f"s3://{name}/x", f"http://127.0.0.1:{moto}"
    plain = make(tmp_path / "plain", rng)
    bad = os.path.join(os.fsencode(tmp_path / "plain"), b"\xff")
    with open(bad, "wb") as file:
        file.write(b"not UTF-8")
    done = job("encrypt", tmp_path / "plain", url, recipients=(recipient,), endpoint=endpoint)
    assert (done.done, done.failed) == (len(plain), 1)
    assert "UTF-8" in done.failures[0][1]
    os.unlink(bad)
    both = (recipient, keys[1][2])
    done = job("rotate", url, url, identities=(path,), recipients=both, endpoint=endpoint)
    assert (done.done, done.failed) == (len(plain), 0)
    # Keys that a file cannot have.
    sealed = client.get_object(Bucket=name, Key="x/0.bin.age")["Body"].read()
    keys_refused = ["../../evil.age", "a/../b.age", "a//b.age", "/c.age", "n" * 1020, "d" * 300 + ".age"]
    for key in keys_refused:
        client.put_object(Bucket=name, Key=f"x/{key}", Body=sealed)
    done = job("decrypt", url, tmp_path / "a" / "b" / "opened", identities=(path,), endpoint=endpoint)
    assert (done.done, done.failed, done.skipped) == (len(plain), len(keys_refused) - 1, 1)
    assert tree(tmp_path / "a" / "b" / "opened") == plain
    assert tree(tmp_path / "a").keys() == {b"b/opened/" + key for key in plain}
    # Two jobs, one of which died, in the middle of an upload. Another program uploads too.
    line = {"command": "encrypt", "path": "0.bin", "size": 1, "etag": "x", "state": "begun"}
    client.put_object(Bucket=name, Key=f"x/{FOLDER}/manifest-000000000100.jsonl", Body=json.dumps(line) + "\n")
    for key in ("x/0.bin.age", f"x/{FOLDER}/lock", "x/theirs.age"):
        client.create_multipart_upload(Bucket=name, Key=key)
    client.put_object(Bucket=name, Key=f"x/{FOLDER}/lock", Body=b"another machine")
    with pytest.raises(JobError, match=r"another machine.*break-lock"):
        job("encrypt", tmp_path / "plain", url, recipients=both, endpoint=endpoint)
    done = job("encrypt", tmp_path / "plain", url, recipients=both, endpoint=endpoint, break_lock=True)
    assert (done.done, done.unchanged) == (1, len(plain) - 1)
    assert [upload["Key"] for upload in client.list_multipart_uploads(Bucket=name)["Uploads"]] == ["x/theirs.age"]


def test_an_object_that_is_replaced_while_it_is_read(moto, bucket):
    client, name = bucket
    store = S3Store(f"s3://{name}/x", f"http://127.0.0.1:{moto}")
    client.put_object(Bucket=name, Key="x/y", Body=b"12345")
    entry = store.stat("y")
    buffer = bytearray(2)
    with store.open(entry) as source:
        source.read([memoryview(buffer)], 1)
        assert buffer == b"23"
        client.put_object(Bucket=name, Key="x/y", Body=b"54321")
        with pytest.raises(Changed):
            source.read([memoryview(buffer)], 3)
        client.delete_object(Bucket=name, Key="x/y")
        with pytest.raises(Failed, match="no longer"):
            source.read([memoryview(buffer)], 3)


def rotating(client, name, moto, key, data):
    """A worker that rotates a bucket in place, and the item of an object there."""
    client.put_object(Bucket=name, Key=f"x/{key}", Body=data)
    url, endpoint = f"s3://{name}/x", f"http://127.0.0.1:{moto}"
    recipient = AgeIdentities.generate().recipient
    worker = worker_of(Settings("rotate", url, url, endpoint, (recipient,), False, None, 1024))
    item = Item(S3Store(url, endpoint).stat(key), key, header=AgeKey().wrap([recipient]), header_bytes=100)
    return worker, item


# moto completes an upload whatever its If-Match says, so that a change after the look is not noticed for long objects.
@pytest.mark.parametrize(("size", "when"), [(1000, "before the look"), (1000, "after it"), (9 << 20, "before the look")])
def test_an_object_that_is_replaced_while_it_is_rotated(moto, bucket, size, when):
    client, name = bucket
    worker, item = rotating(client, name, moto, "y.age", os.urandom(size))
    store = worker._target
    look = store.stat

    def replace():
        client.put_object(Bucket=name, Key="x/y.age", Body=b"newer")

    if when == "after it":

        def stat(path):
            found = look(path)
            replace()
            return found

        store.stat = stat
    else:
        put = store._put

        def late(*arguments, **options):
            replace()
            return put(*arguments, **options)

        store._put = late
    (fault,) = worker.objects([item])
    assert (fault.kind, fault.reason) == ("changed", "it was replaced by another program")
    assert client.get_object(Bucket=name, Key="x/y.age")["Body"].read() == b"newer"
    assert "Uploads" not in client.list_multipart_uploads(Bucket=name)


def test_an_object_that_is_removed_while_it_is_rotated_stays_away(moto, bucket):
    client, name = bucket
    worker, item = rotating(client, name, moto, "y.age", os.urandom(1000))
    put = worker._target._put

    def late(*arguments, **options):
        client.delete_object(Bucket=name, Key="x/y.age")
        return put(*arguments, **options)

    worker._target._put = late
    (fault,) = worker.objects([item])
    assert (fault.kind, fault.reason) == ("failed", "it is no longer there")
    assert client.list_objects_v2(Bucket=name)["KeyCount"] == 0


def test_a_conditional_write_that_is_repeated_finds_its_own(moto, bucket, monkeypatch):
    client, name = bucket
    data = os.urandom(1000)
    worker, item = rotating(client, name, moto, "y.age", data)
    store = worker._target
    call = store._fs.call_s3

    def twice(method, **arguments):
        answer = call(method, **arguments)
        return call(method, **arguments) if method == "put_object" else answer

    monkeypatch.setattr(store._fs, "call_s3", twice)
    (done,) = worker.objects([item])
    assert isinstance(done, Done), done
    assert client.get_object(Bucket=name, Key="x/y.age")["Body"].read() == item.header + data[100:]


def test_a_store_without_conditional_writes(moto, bucket, keys, rng, monkeypatch):
    """The job says so, and an object that is replaced before the look stays."""
    client, name = bucket
    worker, item = rotating(client, name, moto, "y.age", rng.randbytes(1000))
    store = worker._target
    call = store._fs.call_s3

    def refused(method, **arguments):
        if "IfMatch" in arguments and method == "put_object":
            raise OSError(95, "no conditions here") from Refusal(501, "NotImplemented")
        return call(method, **arguments)

    assert store.lock("a test") is None
    note = store.without_conditions()
    # moto compares the ETags of an object that is put, and not of an upload.
    assert "when long objects are written" in note
    monkeypatch.setattr(store._fs, "call_s3", refused)
    assert "when short and long objects are written" in store.without_conditions()
    assert isinstance(worker.objects([item])[0], Done)
    assert "Uploads" not in client.list_multipart_uploads(Bucket=name)
    assert store.lock_text() == "a test"
    store.unlock()
    (old, _, first), (_, _, second) = keys
    client.put_object(Bucket=name, Key="plain/1", Body=b"1")
    place = {"endpoint": f"http://127.0.0.1:{moto}"}
    job("encrypt", f"s3://{name}/plain", f"s3://{name}/sealed", recipients=(first,), **place)
    done = job("rotate", f"s3://{name}/sealed", f"s3://{name}/sealed", identities=(old,), recipients=(second,), **place)
    assert done.done == 1 and any("does not compare ETags" in one for one in done.notes)


class Refusal(Exception):
    """What a store says."""

    def __init__(self, status, code):
        super().__init__()
        self.response = {"ResponseMetadata": {"HTTPStatusCode": status}, "Error": {"Code": code}}


@pytest.mark.parametrize("code", ["RequestTimeout", "BadDigest", "ExpiredToken"])
def test_a_refusal_for_another_reason_than_the_condition(moto, bucket, monkeypatch, code):
    """It has the status of stores that do not know conditions. The object is not written without one."""
    client, name = bucket
    worker, item = rotating(client, name, moto, "y.age", os.urandom(1000))
    store = worker._target
    call = store._fs.call_s3

    def refused(method, **arguments):
        if "IfMatch" in arguments and method == "put_object":
            client.put_object(Bucket=name, Key="x/y.age", Body=b"newer")
            raise OSError(5, "not this time") from Refusal(400, code)
        return call(method, **arguments)

    monkeypatch.setattr(store._fs, "call_s3", refused)
    (fault,) = worker.objects([item])
    assert fault.kind == "changed", fault
    assert client.get_object(Bucket=name, Key="x/y.age")["Body"].read() == b"newer"


@pytest.mark.parametrize("argument", ["IfMatch", "IfNoneMatch"])
def test_packages_that_do_not_know_the_conditions(moto, bucket, monkeypatch, argument):
    """s3fs drops the arguments that its botocore does not know, and the requests are unconditional."""
    client, name = bucket
    worker, _ = rotating(client, name, moto, "y.age", os.urandom(1000))
    assert worker.begin()[2] is None
    model = ServiceModel.operation_model

    def older(self, operation):
        found = model(self, operation)
        if operation != "PutObject":
            return found
        members = {one: shape for one, shape in found.input_shape.members.items() if one != argument}
        return SimpleNamespace(input_shape=SimpleNamespace(members=members))

    monkeypatch.setattr(ServiceModel, "operation_model", older)
    said = f"does not know {argument} of PutObject: update s3fs and botocore"
    assert said in worker.begin()[2]
    with pytest.raises(JobError, match=said):
        worker._target.lock("a test")
    monkeypatch.undo()
    assert worker._target.lock_text() is None


def test_a_version_with_the_same_etag_is_another_one(moto, bucket):
    """ETags of equal bytes are equal, and so may be those of others whose author wants it."""
    client, name = bucket
    client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    store = S3Store(f"s3://{name}/x", f"http://127.0.0.1:{moto}")
    client.put_object(Bucket=name, Key="x/y", Body=b"12345")
    (listed,) = store.list()
    entry = store.pinned(listed)
    buffer = bytearray(2)
    with store.open(entry) as source:
        source.read([memoryview(buffer)], 1)
        client.put_object(Bucket=name, Key="x/y", Body=b"12345")
        assert store.stat("y").etag == entry.etag
        with pytest.raises(Changed):
            source.read([memoryview(buffer)], 1)
    client.put_object(Bucket=name, Key="x/y", Body=b"54321")
    with pytest.raises(Changed):
        store.pinned(listed)
