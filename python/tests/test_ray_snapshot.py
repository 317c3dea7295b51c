"""`oarlock fleet`: manifests that have become many are replaced by one, which tells the same."""

import json
import os

import pytest
from ray_support import fill_for, is_clean

from oarlock.ray import manifest as manifests
from oarlock.ray import snapshot as snapshots
from oarlock.ray.lines import ADDED_MAX, LINE_BYTES_MAX, checked, list_lines, recipients_name, source_name, version_of
from oarlock.ray.local import LocalStore
from oarlock.ray.manifest import Manifest
from oarlock.ray.objects import FOLDER, Entry, output_of
from oarlock.ray.s3 import S3Store

COMMANDS = ("encrypt", "decrypt", "rotate")


class Killed(BaseException):
    """The end of a job at this moment."""


def written_by(rng, target, sources):
    """Return manifests of many jobs, with all kinds of lines, and lines that nobody wrote. No version comes again."""
    names = [source_name(one) for one in (*sources, target)]
    added = [recipients_name([one], True) for one in "abc"]
    pieces, versions = [], 0
    for job in range(rng.randrange(2, 12)):
        lines = [list_lines("source", name, ["where it is"])[0] for name in names]
        lines += list_lines("recipients", added[job % 3], ["abc"[job % 3]])
        for _ in range(rng.randrange(20)):
            command = rng.choice((*COMMANDS, "rotate", "another"))
            path = rng.choice(("a", "b", "deep/\udcff c")) + ("" if command == "encrypt" else rng.choice((".age", ".age", "")))
            state = rng.choice(("begun", "written", "done", "done", "failed"))
            version = rng.randrange(max(0, versions - 9), versions + 1)
            line = {"command": command, "path": path, "size": version, "etag": str(version), "state": state}
            line["source"] = rng.choice((*names, names[-1], None, ""))
            line["recipients"] = rng.choice((*added, *added, "0" * 16, None))
            if state == "begun":
                line["job"] = rng.choice((f"{job}", f"{job}", "0", None))
            elif state != "failed":
                versions += 1
                line["output"] = {"size": versions, "etag": str(versions)}
                if state == "done" and rng.random() < 0.5:
                    lines.append(json.dumps({**line, "state": "written"}).encode() + b"\n")
            lines.append(json.dumps(line).encode() + b"\n")
            if rng.random() < 0.1:
                wrong = ({"path": "\ud800"}, {"output": {"size": True, "etag": "1"}}, {"output": 5}, {"command": "\ud800"})
                lines.append(json.dumps({**line, **rng.choice(wrong)}).encode() + b"\n")
        lines += [b'{"list": [], "snapshot": -5}\n', b"x" * (LINE_BYTES_MAX + 1) + b"\n", b"[]\n", b'{"cut']
        pieces.append(b"".join(lines))
    return pieces


def forgotten(pieces):
    """Return paths and versions of outputs that two others have replaced since a line named them for the last time."""
    named, changes, current = {}, {}, {}
    for line in b"".join(piece[: piece.rindex(b"\n") + 1] for piece in pieces).splitlines():
        try:
            command, path, fields = checked(line)
            place = command and output_of(command, path)
            if not place or fields["state"] not in ("written", "done"):
                continue
            place, version = os.fsencode(place), version_of(fields["output"]["size"], fields["output"]["etag"])
        except ValueError:
            continue
        if version is not None:
            if fields["state"] == "done" and current.get(place) != version:
                current[place] = version
                changes[place] = changes.get(place, 0) + 1
            named[place, version] = changes.get(place, 0)
    return {one for one, change in named.items() if changes.get(one[0], 0) >= change + 2}


def told(target, sources, path=None, commands=COMMANDS, without=()):
    """Return what readers of commands and sources take from the manifests, but for the owners of some versions."""
    found = {}
    for command in commands:
        for source in sources:
            read = Manifest(command, source, target, path, is_written=False)
            known = {path: {**fields, "job": None} for path, fields in read._known.all()}
            read.owns("", Entry("", 0, ""))  # Has all rows in the table.
            queries = ("path, version, source FROM outputs", "* FROM recipients")
            outputs, lists = (read._database.execute(f"SELECT {query}").fetchall() for query in queries)
            found[command, source.url] = known, [row for row in outputs if row[:2] not in without], lists
            read.close()
    return found


def alike(data):
    """Lines without a source may have either of these."""
    return data.replace(b'"source": ""', b'"source": null')


@pytest.fixture
def often(monkeypatch):
    monkeypatch.setattr(manifests, "_MANIFESTS_MAX", 1)


def store_of(target):
    store = target.store(target.url, *target.options.values()) if target.options else target.store(target.url)
    store.create()
    return store


def test_a_snapshot_tells_the_same(often, place_of, rng, tmp_path, monkeypatch):
    target = store_of(place_of("folder", "dst"))
    sources = [LocalStore(tmp_path / name) for name in ("one", "two")]
    own = tmp_path / "dst" / FOLDER
    # Of three that are added.
    for module in (manifests, snapshots):
        monkeypatch.setattr(module, "ADDED_MAX", 2)
    dropped = 0
    for round in range(6):
        for name in os.listdir(own):
            os.unlink(own / name)
        pieces = written_by(rng, target, sources)
        for number, piece in enumerate(pieces, 1):
            target.append_manifest(f"{number:012}", piece)
        without = forgotten(pieces)
        before = told(target, sources, without=without)
        lines = sum(piece.count(b"\n") for piece in pieces)
        Manifest("encrypt", sources[0], target).close()
        (snapshot,) = own.glob("manifest-*.jsonl")
        assert told(target, sources, without=without) == before, round
        assert snapshot.read_bytes().count(b"\n") < lines
        dropped += len(without)
        # Nor does reading it after what it is of tell anything else, from whatever piece on.
        for first in range(len(pieces), 0, -1):
            target.append_manifest(f"{first:012}", pieces[first - 1])
            if first == 1 or rng.random() < 0.2:
                assert told(target, sources, without=without) == before, (round, first)
        # A snapshot of a snapshot is the same one.
        for number in range(1, len(pieces) + 1):
            os.unlink(own / f"manifest-{number:012}.jsonl")
        data = snapshot.read_bytes()
        target.append_manifest(f"{len(pieces) + 2:012}", b"")
        Manifest("rotate", target, target).close()
        (again,) = own.glob("manifest-*.jsonl")
        assert told(target, sources, without=without) == before, round
        assert again.name > snapshot.name and alike(again.read_bytes()) == alike(data)
    assert dropped


def test_a_mark_that_a_job_leaves_again(often, place_of, tmp_path):
    """On an object that was finished in between, as one that was listed twice."""
    target, source = store_of(place_of("folder", "dst")), LocalStore(tmp_path / "one")
    common = {"size": 1, "etag": "1", "source": source_name(source)}
    begun = {"command": "encrypt", "path": "a", "state": "begun", "job": "0", **common}
    again = {**begun, "command": "rotate", "path": "a.age"}
    for number, line in enumerate((begun, {**again, "state": "done", "output": {"size": 2, "etag": "2"}}, again), 1):
        target.append_manifest(f"{number:012}", json.dumps(line).encode() + b"\n")
    before = told(target, [source])
    assert [row for row in before["encrypt", source.url][1] if row[1].startswith("mark:")]
    Manifest("encrypt", source, target).close()
    assert len(list(target.manifests())) == 1 and told(target, [source]) == before


def test_objects_that_are_encrypted_again_each_day(often, place_of, tmp_path):
    """The snapshots do not grow by the versions that were replaced."""
    target, source = store_of(place_of("folder", "dst")), LocalStore(tmp_path / "one")
    lengths, last = [], 9
    for day in range(1, last + 1):
        for _ in range(2):
            manifest = Manifest("encrypt", source, target)
            if day == last:
                known = [day for day in range(last) if manifest.owns("a.age", Entry("a.age", day, "x"))]
                assert known == [last - 2, last - 1]
            for path in "abc":
                manifest.add(Entry(path, 1, f"{day}"), "begun")
                manifest.add(Entry(path, 1, f"{day}"), "done", output={"size": day, "etag": "x"})
            manifest.close()
        (*_, piece) = sorted((tmp_path / "dst" / FOLDER).glob("manifest-*"))
        lengths.append(piece.read_text().count("\n"))
    assert len(set(lengths[3:])) == 1, lengths


def test_the_latest_of_many_recipients_that_were_added(place_of, tmp_path, monkeypatch):
    target, source = store_of(place_of("folder", "dst")), LocalStore(tmp_path / "one")
    names = [f"{number}" for number in range(ADDED_MAX + 2)]
    manifest = Manifest("encrypt", source, target)
    manifest.add(Entry("a", 1, "1"), "done", ["first"], output={"size": 1, "etag": "1"})
    manifest.close()
    for number, name in enumerate(names, 1):
        manifest = Manifest("rotate", target, target)
        version = Entry("a.age", number, f"{number}")
        manifest.add(version, "done", [name], True, output={"size": number + 1, "etag": f"{number + 1}"})
        manifest.close()
    for is_snapshot in (False, True):
        if is_snapshot:
            monkeypatch.setattr(manifests, "_MANIFESTS_MAX", 1)
            Manifest("encrypt", source, target).close()
            assert len(list(target.manifests())) == 1
        read = Manifest("encrypt", source, target, is_written=False)
        known = read.known("a")
        assert read.is_for(known, recipients_name(["first", *names[2:]]))
        assert not read.is_for(known, recipients_name(["first", *names[:-2]]))
        assert read.is_for(known, recipients_name(["first"]))
        read.close()


def test_a_job_that_is_killed_while_it_makes_a_snapshot(often, target, rng, tmp_path, monkeypatch):
    """At each step: the manifests read the same as before, and the next job completes it."""
    store = store_of(target)
    sources = [LocalStore(tmp_path / name) for name in ("one", "two")]
    pieces = written_by(rng, store, sources)[:3]
    for number, piece in enumerate(pieces, 1):
        store.append_manifest(f"{number:012}", piece)
    which = {"commands": ("encrypt",), "without": forgotten(pieces)}
    before, steps = told(store, sources[:1], **which), 0

    def step(work):
        def stepped(*arguments, **options):
            nonlocal steps
            steps -= 1
            if steps == 0:
                raise Killed
            return work(*arguments, **options)

        return stepped

    for last in range(1, 50):
        steps = last
        with monkeypatch.context() as patch:
            if target.store is LocalStore:
                for name in ("write", "fsync", "rename", "unlink"):
                    patch.setattr(os, name, step(getattr(os, name)))
            elif target.store is S3Store:
                patch.setattr(store._fs, "call_s3", step(store._fs.call_s3))
            else:
                for name in ("mv", "rm_file"):
                    patch.setattr(store._fs, name, step(getattr(store._fs, name)))
                patch.setattr(store, "_can_sync", step(store._can_sync))
            try:
                Manifest("encrypt", sources[0], store).close()
            except Killed:
                pass
            else:
                break
        assert told(store, sources[:1], **which) == before, last
    assert 4 < last < 49
    assert told(store, sources[:1], **which) == before and len(list(store.manifests())) == 1


def test_a_long_snapshot_in_a_bucket(often, place_of, tmp_path, monkeypatch):
    """It is uploaded in parts, and what a killed job has left of it goes."""
    target = place_of("bucket", "dst")
    store, source = store_of(target), LocalStore(tmp_path / "one")
    monkeypatch.setattr("oarlock.ray.s3._MANIFEST_PART_BYTES", 5 << 20)
    for number in (1, 2):
        lines = bytearray()
        for path in range(1000):
            line = {"command": "encrypt", "path": f"{number} {path}", "size": 1, "etag": "e" * 3000, "state": "failed"}
            lines += json.dumps(line).encode() + b"\n"
        store.append_manifest(f"{number:012}", lines)
    call = store._fs.call_s3

    def killed(method, **arguments):
        if method in ("complete_multipart_upload", "abort_multipart_upload"):
            raise Killed
        return call(method, **arguments)

    uploads = {"Bucket": store._bucket, "Prefix": store._prefix}
    with monkeypatch.context() as patch:
        patch.setattr(store._fs, "call_s3", killed)
        with pytest.raises(Killed):
            Manifest("encrypt", source, store)
    assert len(call("list_multipart_uploads", **uploads)["Uploads"]) == 1
    store.remove_incomplete(lambda path: False)
    assert "Uploads" not in call("list_multipart_uploads", **uploads)
    read = Manifest("encrypt", source, store)
    (_,) = store.manifests()
    assert read.known("1 999")["state"] == read.known("2 0")["state"] == "failed"
    read.close()


def test_a_file_of_the_users(often, place_of, rng, tmp_path, monkeypatch):
    """--manifest PATH is replaced as a whole when it has become long."""
    target = store_of(place_of("folder", "dst"))
    sources = [LocalStore(tmp_path / name) for name in ("one", "two")]
    path = tmp_path / "kept" / "manifest"
    path.parent.mkdir()
    pieces = [piece + b"\n" for piece in written_by(rng, target, sources)]
    path.write_bytes(b"".join(pieces))
    path.chmod(0o640)
    (tmp_path / "link").symlink_to(path)
    without = forgotten(pieces)
    before, data = told(target, sources, path, without=without), path.read_bytes()
    monkeypatch.setattr(manifests, "_LINES_MAX", 10)
    rename = os.rename

    def killed(*arguments, **options):
        raise Killed

    for name in ("fsync", "rename"):
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(os, name, killed)
            Manifest("encrypt", sources[0], target, tmp_path / "link")
        assert path.read_bytes() == data
    assert os.rename is rename
    Manifest("encrypt", sources[0], target, tmp_path / "link").close()
    assert len(path.read_bytes()) < len(data) and (tmp_path / "link").is_symlink()
    assert told(target, sources, path, without=without) == before
    assert path.stat().st_mode & 0o777 == 0o640 and os.listdir(path.parent) == ["manifest"]


@pytest.mark.usefixtures("cluster", "threads_as_workers")
def test_jobs_that_only_look_write_no_snapshot(often, work, place_of, keys, tmp_path):
    target = place_of("folder", "dst")
    own = tmp_path / "dst" / FOLDER
    for name in "abc":
        fill_for(tmp_path / "src", {name: name.encode()}, "encrypt", keys)
        assert work("encrypt", tmp_path / "src", target).done == 1
    before = {path: path.read_bytes() for path in own.iterdir() if path.name != "lock"}
    assert len(before) == 2
    assert work("encrypt", tmp_path / "src", target, dry_run=True).unchanged == 3
    assert work("verify", tmp_path / "src", target).done == 3
    assert before == {path: path.read_bytes() for path in own.iterdir() if path.name != "lock"}
    assert work("encrypt", tmp_path / "src", target).unchanged == 3
    assert len(list(own.glob("manifest-*"))) == 1 and is_clean(tmp_path / "dst")


def test_manifests_that_go_while_they_are_read(often, place_of, rng, tmp_path, monkeypatch):
    """By a job that takes no lock, such as `verify`."""
    target = store_of(place_of("folder", "dst"))
    source = LocalStore(tmp_path / "one")
    for number, piece in enumerate(written_by(rng, target, [source]), 1):
        target.append_manifest(f"{number:012}", piece)
    before, listed = told(target, [source]), LocalStore.manifests

    def late(self):
        found = list(listed(self))
        monkeypatch.setattr(LocalStore, "manifests", listed)
        Manifest("encrypt", source, LocalStore(tmp_path / "dst")).close()
        return found

    monkeypatch.setattr(LocalStore, "manifests", late)
    read = Manifest("encrypt", source, target, is_written=False)
    assert {path: {**fields, "job": None} for path, fields in read._known.all()} == before["encrypt", source.url][0]
    read.close()


def test_when_a_snapshot_is_made(place_of, tmp_path, monkeypatch):
    target, source = store_of(place_of("folder", "dst")), LocalStore(tmp_path / "one")
    monkeypatch.setattr(manifests, "_LINES_MAX", 100)
    made = []
    write = LocalStore.write_manifest

    def noted(self, name, pieces):
        made.append(name)
        write(self, name, pieces)

    monkeypatch.setattr(LocalStore, "write_manifest", noted)

    def run(paths):
        begun = Manifest("encrypt", source, target)
        for path in paths:
            begun.add(Entry(f"{path}", 1, "1"), "failed")
        begun.close()
        return len(made)

    # Lines of objects that stay as they are do not make one, but once.
    assert [run(range(90)), run(range(30)), run(()), run(()), run(range(90, 95))] == [0, 0, 1, 1, 1]
    # Neither do a few manifests.
    assert [run((5,)) for _ in range(manifests._MANIFESTS_MAX - 2)][-1] == 1
    assert [run((5,)), run((5,)), run((5,))] == [1, 2, 2]
