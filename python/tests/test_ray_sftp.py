"""`oarlock fleet` with a store of fsspec: files of an SSH server, OpenSSH's."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import pytest
from ray_support import CHUNK, is_clean, job, make, tree

from oarlock._oarlock import AgeHeader
from oarlock.ray import JobError, Options, run
from oarlock.ray.objects import FOLDER, Changed, Entry, Failed, Replaced
from oarlock.ray.stores import store

pytestmark = pytest.mark.usefixtures("cluster")

CONFIGURATION = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
PermitRootLogin yes
Subsystem sftp internal-sftp
MaxStartups 100
"""


@pytest.fixture(scope="module")
def sshd(cluster, home, tmp_path_factory):
    """An SSH server of this user's, which the workers know: the beginning of its URLs, and its process."""
    folder = tmp_path_factory.mktemp("sshd")
    ours = home / ".ssh"
    ours.mkdir(mode=0o700)
    for key in (folder / "host_key", ours / "id_ed25519"):
        subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key), check=True)
    shutil.copy(ours / "id_ed25519.pub", folder / "authorized_keys")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "sshd_config").write_text(CONFIGURATION.format(port=port, folder=folder))
    kind, key, *_ = (folder / "host_key.pub").read_text().split()
    (ours / "known_hosts").write_text(f"[127.0.0.1]:{port} {kind} {key}\n")
    if os.geteuid() == 0:
        # For separation of privileges.
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)
    program = shutil.which("sshd") or "/usr/sbin/sshd"
    log = folder / "log"
    process = subprocess.Popen((program, "-D", "-E", log, "-f", folder / "sshd_config"))
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
        yield f"sftp://127.0.0.1:{port}", process
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def server(sshd):
    return sshd[0]


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
        upload = place.begin("x", 3, 1, Replaced(etag, b""))
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


def test_a_connection_that_is_lost(server, tmp_path):
    place = store(f"{server}{tmp_path}")
    (tmp_path / "x").write_bytes(b"12345")
    assert place.stat("x").size == 5
    place._fs.client.close()
    assert place.stat("x").size == 5


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
        ("memory://x", "each process"),
        ("nothing://x", "not supported"),
        ("sftp://user:secret@127.0.0.1/x", "password"),
    ):
        with pytest.raises(JobError, match=said) as error:
            store(url)
        assert "secret" not in str(error.value)


def test_connections_that_break(sshd, keys, tmp_path, rng):
    """The server's processes of all connections are killed while objects are written. The job goes on by others."""
    server, process = sshd
    make(tmp_path / "plain", rng, (3 << 20,) * 12)
    url = f"{server}{tmp_path}/sealed"
    killed = []

    def progress(summary):
        if summary.done and not killed:
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
            for child in map(int, children.split()):
                os.kill(child, signal.SIGKILL)
                killed.append(child)

    options = Options("encrypt", str(tmp_path / "plain"), url, recipients=(keys[0][2],), workers=1)
    done = run(options, progress)
    assert killed and (done.done, done.failed) == (12, 0), done
    done = job("decrypt", url, tmp_path / "opened", identities=(keys[0][0],))
    assert (done.done, done.failed) == (12, 0) and tree(tmp_path / "opened") == tree(tmp_path / "plain")
