"""`oarlock fleet` with a store of fsspec: files of an SSH server, OpenSSH's."""

import contextlib
import os
import shutil
import signal
import socket
import threading

import fsspec
import paramiko
import pytest
from fsspec import AbstractFileSystem
from fsspec.implementations.local import LocalFileSystem
from ray_support import CHUNK, children, is_clean, job, make, tree, worker_of

import oarlock
from oarlock._oarlock import AgeHeader
from oarlock.ray import JobError, Options, plan, run
from oarlock.ray.objects import ANYTHING, FOLDER, Changed, Entry, Failed, Replaced, Skipped
from oarlock.ray.stores import parallel, store
from oarlock.ray.worker import Done, Fault, Item, Settings

pytestmark = pytest.mark.usefixtures("cluster")


@pytest.mark.usefixtures("threads_as_workers")
def test_a_server_and_a_folder(server, keys, tmp_path, rng):
    (old, _, first), (new, _, second) = keys
    plain = make(tmp_path / "plain", rng, (0, 1, CHUNK, 3 * CHUNK + 1, 9 << 20, 20 << 20))
    bad = os.path.join(os.fsencode(tmp_path / "plain"), b"\xff")
    with open(bad, "wb") as file:
        file.write(b"not UTF-8")
    sealed, url = tmp_path / "sealed", f"{server}{tmp_path}/sealed"
    done = job("encrypt", tmp_path / "plain", url, recipients=(first,), range_chunks=80)
    assert (done.done, done.failed) == (len(plain), 1), done
    assert "UTF-8" in done.failures[0][1]
    os.unlink(bad)
    assert tree(sealed).keys() == {name + b".age" for name in plain}
    assert is_clean(sealed) and sorted(os.listdir(sealed / FOLDER))[0].startswith("manifest-")
    done = job("encrypt", tmp_path / "plain", url, recipients=(first,))
    assert (done.done, done.unchanged, done.workers) == (0, len(plain), 0)
    # From the server to itself, in place and not, and back.
    before = tree(sealed)
    done = job("rotate", url, f"{server}{tmp_path}/rotated", identities=(old,), recipients=(second,))
    assert (done.done, done.failed) == (len(plain), 0), done
    done = job("rotate", url, url, identities=(old,), recipients=(first, second))
    assert (done.done, done.failed) == (len(plain), 0), done
    assert any("cannot compare versions" in note for note in done.notes)
    for name, data in tree(sealed).items():
        assert data[AgeHeader.parse(data).size :] == before[name][AgeHeader.parse(before[name]).size :] and data != before[name]
    done = job("verify", tmp_path / "plain", url, identities=(new,))
    assert (done.done, done.failed) == (len(plain), 0), done
    for place in (url, f"{server}{tmp_path}/rotated"):
        opened = tmp_path / "opened"
        done = job("decrypt", place, opened, identities=(new,), range_chunks=80)
        assert (done.done, done.failed) == (len(plain), 0), done
        assert tree(opened) == plain
        shutil.rmtree(opened)
    done = job("decrypt", sealed, f"{server}{opened}", identities=(new,))
    assert (done.done, done.failed) == (len(plain), 0) and tree(opened) == plain


def test_what_lies_on_the_server(server, keys, tmp_path, rng):
    """Links, objects of others, a lock, and what a job that was killed has left."""
    recipient = keys[0][2]
    make(tmp_path / "plain", rng, (5, 6))
    os.symlink("/etc/passwd", tmp_path / "plain" / "link")
    url = f"{server}{tmp_path}/sealed"
    own = tmp_path / "sealed" / FOLDER
    (own / "lock.d").mkdir(parents=True)
    (own / "lock").write_text("another machine")
    (own / "tmp-1234").write_text("half")
    (tmp_path / "sealed" / "0.bin.age").write_text("theirs")
    source = f"{server}{tmp_path}/plain"
    with pytest.raises(JobError, match="contain"):
        job("encrypt", source, f"{source}/x", recipients=(recipient,))
    with pytest.raises(JobError, match=r"another machine.*--break-lock"):
        job("encrypt", source, url, recipients=(recipient,))
    done = job("encrypt", source, url, recipients=(recipient,), break_lock=True)
    assert (done.done, done.failed, done.skipped) == (1, 1, 1), done
    assert "--overwrite" in done.failures[0][1] and done.skips[0][0] == "link"
    assert is_clean(tmp_path / "sealed") and not (own / "lock").exists() and not (own / "lock.d").exists()
    done = job("encrypt", source, url, recipients=(recipient,), overwrite=True)
    assert (done.done, done.unchanged) == (1, 1)
    with pytest.raises(JobError, match="not a folder"):
        job("encrypt", f"{server}{tmp_path}/nothing", url, recipients=(recipient,))


def test_versions(server, tmp_path):
    place = store(f"{server}{tmp_path}")
    place.create()
    file = tmp_path / "x"
    file.write_bytes(b"12345")
    entry = place.stat("x")
    buffer = bytearray(3)
    with place.open(entry) as source:
        source.read([memoryview(buffer)], 2)
    assert buffer == b"345"
    with pytest.raises(Changed):
        with place.open(entry) as source:
            os.utime(file, (1, 1))
            source.read([memoryview(buffer)], 2)
    with pytest.raises(Changed):
        with place.open(place.stat("x")) as source:
            source.read([memoryview(bytearray(6))], 0)
    with pytest.raises(Failed, match="no longer"):
        with place.open(Entry("y", 5, "")):
            pass
    # Replaced, but not what another program has written since.
    for etag, kept in ((entry.etag, b"12345"), (place.stat("x").etag, b"new")):
        upload = place.begin("x", 3, 1, Replaced(Entry("x", 5, etag)))
        sink = place.part(upload, 1, 0)
        sink.write([b"new"])
        if kept == b"new":
            place.commit(upload, None)
        else:
            with pytest.raises(Changed, match="another program"):
                place.commit(upload, None)
            place.abort(upload)
        assert file.read_bytes() == kept
    upload = place.begin("x", 4, 1)
    place.part(upload, 1, 0).write([b"cut"])
    with pytest.raises(OSError, match="3 bytes"):
        place.commit(upload, None)
    assert file.read_bytes() == b"new"
    for path in ("../x", "a//b", "/x", f"{FOLDER}/lock"):
        with pytest.raises(Failed):
            place.begin(path, 1, 1)
    assert not place.folds_case()


def test_what_is_no_regular_file(server, tmp_path):
    """A worker that opened the pipe would wait for a writer without end."""
    place = store(f"{server}{tmp_path}")
    os.mkfifo(tmp_path / "pipe")
    os.symlink("/etc/passwd", tmp_path / "link")
    assert sorted(place.list()) == [
        Skipped("link", "a symbolic link, which is not followed"),
        Skipped("pipe", "not a regular file"),
    ]
    assert place.stat("pipe").size == place.stat("link").size == -1
    # A link that takes the place of a file, to another of the same length and time.
    file, other = tmp_path / "file", tmp_path / "other"
    for path in (file, other):
        path.write_bytes(b"12345")
        os.utime(path, (1, 1))
    entry = place.stat("file")
    with pytest.raises(Changed):
        with place.open(entry):
            file.unlink()
            file.symlink_to(other)


def test_a_connection_that_is_lost(server, tmp_path):
    place = store(f"{server}{tmp_path}")
    place.create()
    (tmp_path / "x").write_bytes(b"12345")
    place.append_manifest("1", b"one")

    def broken(*_, **__):
        raise EOFError

    for lose in (
        lambda: place._fs.client.close(),
        lambda: place._fs.ftp.get_channel().close(),
        lambda: setattr(place._fs.ftp, "_read_packet", broken),
    ):
        for call in (
            lambda: place.stat("x").size == 5,
            lambda: [entry.path for entry in place.list()] == ["x"],
            lambda: [b"".join(pieces) for _, pieces in place.manifests()] == [b"one"],
            lambda: place.exists(),
            lambda: place.lock_text() is None,
        ):
            lose()
            assert call()
    # Between two pieces.
    ((_, pieces),) = place.manifests()
    place._fs.client.close()
    assert b"".join(pieces) == b"one"


def test_places_that_are_one():
    here = store("sftp://server/a/b")
    for url in ("ssh://server/a/b", "sftp://user@server/a/b/", "sftp://Server:22/a/b", "sftp://server/a/b/c"):
        assert here.contains(store(url)), url
    for url in ("sftp://server/a/bc", "sftp://server:23/a/b", "sftp://other/a/b", "sftp://server/a"):
        assert not here.contains(store(url)), url
    for url in ("sftp://server/a/../a/b", "sftp://server//a/b", "sftp://server/a/./b"):
        with pytest.raises(JobError, match="empty names"):
            store(url)


def test_connections_of_a_process():
    bucket, server, folder = store("s3://bucket/x"), store("sftp://server/a"), store("/")
    assert parallel(bucket, folder) == parallel(folder, folder, 16) == 16
    assert parallel(bucket, server) == parallel(server, bucket, 16) == 2
    assert parallel(server, folder) == 1


# Servers and stores that do not do what they are asked.


class Handle(paramiko.SFTPHandle):
    def write(self, offset, data):
        if self.files.fails_at is not None and offset <= self.files.fails_at < offset + len(data):
            return paramiko.SFTP_FAILURE
        return super().write(offset, data)


class Files(paramiko.SFTPServerInterface):
    """The machine's files. A write over one position fails, and those after it do not."""

    fails_at = None

    def _done(self, call, *arguments):
        try:
            return call(*arguments)
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno)

    def _made(self, call, *arguments):
        error = self._done(call, *arguments)
        return paramiko.SFTP_OK if error is None else error

    def stat(self, path):
        return self._done(lambda: paramiko.SFTPAttributes.from_stat(os.stat(path)))

    def lstat(self, path):
        return self._done(lambda: paramiko.SFTPAttributes.from_stat(os.lstat(path)))

    def open(self, path, flags, _):
        def opened():
            handle = Handle(flags)
            handle.files = type(self)
            file = os.fdopen(os.open(path, flags, 0o666), "wb" if flags & os.O_WRONLY else "rb", buffering=0)
            handle.readfile = handle.writefile = file
            return handle

        return self._done(opened)

    def remove(self, path):
        return self._made(os.remove, path)

    def rename(self, old, new):
        if os.path.lexists(new):
            return paramiko.SFTP_FAILURE
        return self._made(os.rename, old, new)

    def posix_rename(self, old, new):
        return self._made(os.rename, old, new)

    def mkdir(self, path, _):
        return self._made(os.mkdir, path)


class Door(paramiko.ServerInterface):
    def get_allowed_auths(self, _):
        return "publickey"

    def check_auth_publickey(self, *_):
        return paramiko.AUTH_SUCCESSFUL

    def check_channel_request(self, *_):
        return paramiko.OPEN_SUCCEEDED


@pytest.fixture
def failing(sshd, home):
    """A server that fails writes and cannot flush, and the class of its files."""
    files = type("FailingFiles", (Files,), {})
    key = paramiko.ECDSAKey.generate()
    known = home / ".ssh" / "known_hosts"
    text = known.read_text()
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    transports = []

    def serve():
        with contextlib.suppress(OSError):
            while True:
                transport = paramiko.Transport(listening.accept()[0])
                transports.append(transport)
                transport.add_server_key(key)
                transport.set_subsystem_handler("sftp", paramiko.SFTPServer, files)
                transport.start_server(server=Door())

    thread = threading.Thread(target=serve)
    thread.start()
    known.write_text(f"{text}[127.0.0.1]:{port} {key.get_name()} {key.get_base64()}\n")
    try:
        yield f"sftp://127.0.0.1:{port}", files
    finally:
        known.write_text(text)
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()
        for transport in transports:
            transport.close()


def test_a_write_that_fails_in_the_middle(failing, keys, tmp_path, rng):
    """paramiko sends writes before the server has answered earlier ones, and the later ones give the file its length."""
    server, files = failing
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "x").write_bytes(rng.randbytes(30 * CHUNK))
    settings = Settings(
        "encrypt", str(tmp_path / "plain"), f"{server}{tmp_path}/sealed", None, (keys[0][2],), False, None, 1024
    )
    worker = worker_of(settings)
    worker._target.create()
    item = Item(worker._source.stat("x"), "x.age")
    files.fails_at = 10 * CHUNK
    (fault,) = worker.objects([item])
    assert isinstance(fault, Fault) and fault.kind == "again", fault
    assert not (tmp_path / "sealed" / "x.age").exists() and is_clean(tmp_path / "sealed")
    files.fails_at = None
    (done,) = worker.objects([item])
    assert isinstance(done, Done), done
    with oarlock.open(tmp_path / "sealed" / "x.age", identity=keys[0][0]) as opened:
        assert opened.read() == (tmp_path / "plain" / "x").read_bytes()


def test_what_is_written_is_on_the_disk(server, failing, tmp_path):
    """OpenSSH's server flushes, and a failure to do so is one of the object."""
    for url, can_sync in ((server, True), (failing[0], False)):
        place = store(f"{url}{tmp_path}")
        place.create()
        upload = place.begin("x", 3, 1)
        sink = place.part(upload, 1, 0)
        asked, request = [], place._fs.ftp._request

        def counted(*arguments, to=asked, request=request):
            to.append(arguments[1])
            return request(*arguments)

        place._fs.ftp._request = counted
        sink.write([b"new"])
        assert sink.finish() is None
        assert asked == (["fsync@openssh.com"] if can_sync else [])
        place.commit(upload, None)
        assert (tmp_path / "x").read_bytes() == b"new"
        (tmp_path / "x").unlink()


def odd(path, **methods):
    """A store of files of this machine, some of whose methods are others."""
    scheme = f"odd{os.urandom(4).hex()}"

    class Odd(LocalFileSystem):
        protocol = scheme

        @classmethod
        def _strip_protocol(cls, path):
            return path.split("://", 1)[-1].rstrip("/") or "/"

    fsspec.register_implementation(scheme, type("Odder", (Odd,), methods))
    return store(f"{scheme}://{path}")


def put(place, path, data, replaced=ANYTHING):
    upload = place.begin(path, len(data), 1, replaced)
    sink = place.part(upload, 1, 0)
    sink.write([data])
    sink.finish()
    return place.commit(upload, None)


def test_a_store_that_does_not_rename(tmp_path):
    place = odd(tmp_path)
    place.create()
    assert put(place, "x", b"first").size == 5
    place = odd(tmp_path, mv=lambda *_, **__: None)
    with pytest.raises(FileNotFoundError):
        put(place, "y", b"12345")
    # The object of before has the same length.
    with pytest.raises(OSError, match="its name"):
        put(place, "x", b"other")
    assert (tmp_path / "x").read_bytes() == b"first"

    def copy(self, old, new, **_):
        shutil.copy(old, new)

    with pytest.raises(OSError, match="its name"):
        put(odd(tmp_path, mv=copy), "x", b"other")
    with pytest.raises(JobError, match="cannot rename"):
        odd(tmp_path, mv=AbstractFileSystem.mv).create()

    def refused(*_, **__):
        raise OSError("not this time")

    # A second attempt says why it fails, too.
    place = odd(tmp_path, mv=refused)
    upload = place.begin("z", 3, 1)
    place.part(upload, 1, 0).write([b"new"])
    for _ in range(2):
        with pytest.raises(OSError, match="not this time"):
            place.commit(upload, None)


def test_a_store_without_versions(tmp_path):
    (tmp_path / "x").write_bytes(b"12345")

    def info(self, path, **_):
        return {"name": str(path), "size": 5, "type": "file"}

    def ls(self, path, **_):
        return [info(self, f"{path}/x")]

    place = odd(tmp_path, info=info, ls=ls)
    for call in (lambda: place.stat("x"), lambda: list(place.list())):
        with pytest.raises(JobError, match="does not tell versions of files apart: 'x'"):
            call()
    place = odd(tmp_path)
    os.utime(tmp_path / "x", (0, 0))
    assert place.stat("x").etag
    # One of the same time and another length.
    place.create()
    replaced = Replaced(Entry("x", 4, place.stat("x").etag))
    with pytest.raises(Changed):
        put(place, "x", b"new", replaced)
    assert (tmp_path / "x").read_bytes() == b"12345"


def test_a_store_without_folders(tmp_path):
    place = odd(tmp_path)
    place.create()
    assert place.lock("one") is None and "one" in odd(tmp_path).lock("two")
    place.unlock()
    assert odd(tmp_path).lock("two") is None
    shutil.rmtree(tmp_path / FOLDER / "lock.d")
    with pytest.raises(JobError, match="cannot be locked"):
        odd(tmp_path, mkdir=lambda *_, **__: None).lock("three")


def test_hosts_and_stores_that_are_refused(server, home, tmp_path):
    known = home / ".ssh" / "known_hosts"
    text = known.read_text()
    name, kind, _ = text.split()
    other = (home / ".ssh" / "id_ed25519.pub").read_text().split()[1]
    try:
        for told, said in (("", "not in ~/.ssh/known_hosts"), (f"{name} {kind} {other}\n", "does not match")):
            known.write_text(told)
            with pytest.raises(JobError, match=said):
                store(f"{server}{tmp_path}").exists()
    finally:
        known.write_text(text)
    for url, said in (
        ("memory://x", "private to a process"),
        ("nothing://x", "not supported"),
        ("sftp://user:secret@127.0.0.1/x", "password"),
        ("sftp://user:secret@127.0.0.1//x", "password"),
    ):
        with pytest.raises(JobError, match=said) as error:
            store(url)
        assert "secret" not in str(error.value)


@pytest.mark.usefixtures("threads_as_workers")
def test_connections_that_break(sshd, keys, tmp_path, rng, monkeypatch):
    """The server's processes of all connections are killed while objects are written. The job goes on by others."""
    server, process = sshd
    # A group each: the second one is under way when the first one is heard of.
    monkeypatch.setattr(plan, "_GROUP_BYTES", 1)
    make(tmp_path / "plain", rng, (1 << 20,) * 5)
    url = f"{server}{tmp_path}/sealed"
    killed = []

    def progress(summary):
        if summary.done and not killed:
            for child in children(process.pid):
                os.kill(child, signal.SIGKILL)
                killed.append(child)

    options = Options("encrypt", str(tmp_path / "plain"), url, recipients=(keys[0][2],), workers=1)
    done = run(options, progress)
    assert killed and (done.done, done.failed) == (5, 0), done
    done = job("decrypt", url, tmp_path / "opened", identities=(keys[0][0],))
    assert (done.done, done.failed) == (5, 0) and tree(tmp_path / "opened") == tree(tmp_path / "plain")
