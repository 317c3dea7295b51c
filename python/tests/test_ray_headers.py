"""`oarlock fleet` and the headers of age files: long ones, and ends that do not belong there."""

import os

import pytest
from ray_support import CHUNK, job

import oarlock
from oarlock._oarlock import AgeIdentities, AgeKey
from oarlock.ray import JobError, Options, headers, plan
from oarlock.ray.keys import Identities
from oarlock.ray.local import LocalStore
from oarlock.ray.manifest import Manifest
from oarlock.ray.plan import Planner

pytestmark = pytest.mark.usefixtures("cluster", "threads_as_workers")


@pytest.mark.parametrize("is_threaded", [False, True])
def test_long_headers_do_not_fill_the_memory(keys, tmp_path, monkeypatch, is_threaded):
    """The driver prepares batches of them ahead. Anybody who can write to SRC can give a file a header of 1 MiB."""
    (path, _, first), (_, _, second) = keys
    monkeypatch.setattr(plan, "_HEADERS_BYTES", 40 << 10)
    header = AgeKey().wrap([AgeIdentities.generate().recipient] * 220 + [first])
    assert len(header) > 20 << 10
    for folder in ("src", "dst"):
        (tmp_path / folder).mkdir()
    for number in range(20):
        (tmp_path / "src" / f"{number}.age").write_bytes(header + bytes(32))
    source, target = LocalStore(tmp_path / "src"), LocalStore(tmp_path / "dst")
    target.create()
    source.parallel = 3 if is_threaded else 1
    options = Options("rotate", source.url, target.url, recipients=(second,), keep=True)
    manifest = Manifest("rotate", source, target, is_written=False)
    planner, seen = Planner(options, source, target, manifest, Identities([path])), []
    while (prepared := planner.next()) is not None:
        assert not prepared.faults
        members = [member for unit in prepared.units for member in unit.members]
        assert sum(len(member.item.header) for member in members) <= (40 << 10) + (3 if is_threaded else 1) * (25 << 10)
        assert all(member.opened is None for member in members)
        seen += [member.item.path for member in members]
    planner.close()
    assert sorted(seen) == sorted(f"{number}.age" for number in range(20))
    # What is opened and not rotated needs no header.
    opened = Planner(Options("decrypt", source.url, target.url), source, target, manifest, Identities([path])).next()
    assert not any(hasattr(member.opened, "header") for unit in opened.units for member in unit.members)


@pytest.mark.parametrize("kind", ["folder", "bucket", "server"])
def test_files_with_bytes_too_many_or_too_few(place_of, keys, tmp_path, kind):
    """Lengths that no age file has, and those that a shorter last chunk would have. In one piece and in ranges."""
    path, _, recipient = keys[0]
    plain, sealed = place_of("folder", "plain"), place_of(kind, "sealed")
    counts = [*range(-15, 0), *range(1, 16)]
    names = []
    for size in (0, CHUNK, 5 * CHUNK, 5 * CHUNK + 100) if kind == "folder" else (5 * CHUNK,):
        data = bytes(size)
        with oarlock.open(tmp_path / "whole", "wb", recipients=recipient) as file:
            file.write(data)
        whole = (tmp_path / "whole").read_bytes()
        for count in (*counts, 0):
            name = f"{size} {count:+}" if count else f"{size} whole"
            plain.write(name, data)
            sealed.write(f"{name}.age", whole[:count] if count < 0 else whole + bytes(count))
            names += [name] if count else []
    options = {"identities": (path,), **sealed.options}
    for range_chunks in (2, 1024):
        opened = tmp_path / f"opened{range_chunks}"
        done = job("decrypt", sealed.url, opened, range_chunks=range_chunks, **options)
        assert (done.done, done.failed, done.retries) == (len(names) // 30, len(names), 0), done
        assert all(name.endswith("whole") for name in (one.name for one in opened.iterdir()) if name[0].isdigit())
    done = job("verify", plain.url, sealed.url, **options)
    assert (done.done, done.failed, done.retries) == (len(names) // 30, len(names), 0), done
    assert {path for path, _ in done.failures} <= set(names)


def test_a_header_that_is_written_in_part(keys, tmp_path, monkeypatch):
    """The message names the file, and the next job finishes it."""
    (path, _, first), (other, _, second) = keys
    with oarlock.open(tmp_path / "a.age", "wb", recipients=first) as file:
        file.write(b"a")
    write = os.pwrite
    arguments = ("rotate", tmp_path, tmp_path)
    with monkeypatch.context() as patch, pytest.raises(JobError, match=r"a\.age: not all of it was written"):
        patch.setattr(headers.os, "pwrite", lambda descriptor, data, at: write(descriptor, data[:50], at))
        job(*arguments, identities=(path,), recipients=(second,))
    assert job(*arguments, identities=(path, other), recipients=(second,)).failed == 0
    with oarlock.open(tmp_path / "a.age", identity=other) as file:
        assert file.read() == b"a"
