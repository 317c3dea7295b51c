"""age files as file objects, exchanged with the `oarlock` command."""

import copy
import io
import os
import pickle
import signal
import subprocess
import tarfile
import threading
import time
import zipfile

import pytest

import oarlock
from oarlock.command import find_command

CHUNK = 64 << 10
LENGTHS = (0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 20 * CHUNK + 17)


@pytest.fixture(scope="module")
def identity(tmp_path_factory):
    """The path of an identity file, and its recipient."""
    path = tmp_path_factory.mktemp("identity") / "key.txt"
    done = subprocess.run((find_command(), "keygen", "-o", path), check=True, capture_output=True, text=True)
    recipient = next(word for word in (done.stderr + done.stdout).split() if word.startswith("age1"))
    return path, recipient


@pytest.mark.parametrize("length", LENGTHS)
def test_the_command_reads_and_writes_the_same(length, identity, tmp_path, rng):
    path, recipient = identity
    plain = rng.randbytes(length)
    ours, theirs = tmp_path / "ours.age", tmp_path / "theirs.age"
    with oarlock.open(ours, "wb", recipients=recipient) as file:
        rest = memoryview(plain)
        while rest:
            count = rng.choice((1, 1000, CHUNK, 5 * CHUNK))
            assert file.write(rest[:count]) == min(count, len(rest))
            rest = rest[count:]
    printed = subprocess.run((find_command(), "decrypt", "-i", path, "-o", "-", ours), check=True, capture_output=True)
    assert printed.stdout == plain
    command = (find_command(), "encrypt", "-r", recipient, "-o", theirs)
    subprocess.run(command, check=True, input=plain)
    for file in (ours, theirs):
        with oarlock.open(file, identity=path) as data:
            assert data.read() == plain
            assert data.seek(0, io.SEEK_END) == length
            assert data.read() == b""


def test_seek(identity, tmp_path, rng):
    path, recipient = identity
    plain = rng.randbytes(20 * CHUNK + 17)
    with oarlock.open(tmp_path / "x.age", "wb", recipients=[recipient]) as file:
        file.write(plain)
    expected = io.BytesIO(plain)
    with oarlock.open(tmp_path / "x.age", "rb", identity=path.read_text()) as file:
        assert file.seekable() and file.readable() and not file.writable()
        for _ in range(300):
            position = rng.randrange(len(plain) + CHUNK)
            assert file.seek(position) == expected.seek(position)
            count = rng.choice((1, 100, CHUNK, 3 * CHUNK, -1))
            assert file.read(count) == expected.read(count)
            assert file.tell() == expected.tell()
        for raw in (file.raw, file):
            with pytest.raises((ValueError, OSError)):
                raw.seek(-1)
        assert file.raw.seek(5) == 5
        for room in (bytes(10), memoryview(bytearray(20))[::2], "text", memoryview(bytearray(200 << 20))[::2]):
            with pytest.raises((BufferError, TypeError)):
                file.raw.readinto(room)
        assert file.raw.tell() == 5
        assert file.raw.read(3) == plain[5:8]
        assert file.raw.readall() == plain[8:]
    with pytest.raises(ValueError):
        file.read()


def test_lines_and_text(identity, tmp_path):
    path, recipient = identity
    with io.TextIOWrapper(oarlock.open(tmp_path / "x.age", "wb", recipients=recipient), encoding="utf-8") as file:
        file.writelines(f"line {number} ä\n" for number in range(1000))
    with io.TextIOWrapper(oarlock.open(tmp_path / "x.age", identity=[path]), encoding="utf-8") as file:
        assert [line for line in file][999] == "line 999 ä\n"


def test_altered_files(identity, tmp_path, rng):
    path, recipient = identity
    plain = rng.randbytes(5 * CHUNK)
    good = tmp_path / "good.age"
    with oarlock.open(good, "wb", recipients=recipient) as file:
        file.write(plain)
    sealed = good.read_bytes()
    bad = tmp_path / "bad.age"
    for cut in (0, 10, 150, len(sealed) - 1, len(sealed) - CHUNK - 16, len(sealed) - 2 * CHUNK):
        bad.write_bytes(sealed[:cut])
        with pytest.raises(oarlock.FileError):
            oarlock.open(bad, identity=path)
    bad.write_bytes(sealed + b"?")
    with pytest.raises(oarlock.FileError):
        oarlock.open(bad, identity=path)
    changed = bytearray(sealed)
    changed[-3 * CHUNK] ^= 1
    bad.write_bytes(changed)
    with oarlock.open(bad, identity=path) as file:
        # Other chunks are authentic.
        assert file.raw.read(CHUNK) == plain[:CHUNK]
        with pytest.raises(oarlock.FileError, match="chunk"):
            file.read()
        buffer = bytearray(b"?" * len(plain))
        file.raw.seek(0)
        with pytest.raises(oarlock.FileError):
            file.raw.readinto(buffer)
        assert buffer == bytes(len(plain))


def test_reading_on(identity, tmp_path, rng):
    """Pieces that follow each other, which threads read ahead."""
    path, recipient = identity
    plain = rng.randbytes(150 * CHUNK + 5)
    with oarlock.open(tmp_path / "x.age", "wb", recipients=recipient) as file:
        file.write(plain)
    for count in (CHUNK, 100_000, 1 << 20, 3 << 20):
        with oarlock.open(tmp_path / "x.age", identity=path) as file:
            read, buffer = bytearray(), bytearray(count)
            while got := file.readinto(buffer):
                read += buffer[:got]
            assert read == plain
            # Another place in the middle of it.
            file.seek(30 * CHUNK + 1)
            assert b"".join(file.read(count) for _ in range(5)) == plain[30 * CHUNK + 1 :][: 5 * count]
    sealed = bytearray((tmp_path / "x.age").read_bytes())
    sealed[-60 * CHUNK] ^= 1
    (tmp_path / "x.age").write_bytes(sealed)
    with oarlock.open(tmp_path / "x.age", identity=path) as file:
        for place in range(80):
            assert file.raw.read(CHUNK) == plain[place * CHUNK :][:CHUNK]
        with pytest.raises(oarlock.FileError, match="not authentic"):
            for _ in range(20):
                file.raw.read(CHUNK)


def test_armor(identity, tmp_path, rng):
    path, recipient = identity
    plain = rng.randbytes(20 * CHUNK + 17)
    with oarlock.open(tmp_path / "ours.age", "wb", recipients=recipient, armor=True) as file:
        file.write(plain)
    text = (tmp_path / "ours.age").read_text()
    assert text.startswith("-----BEGIN AGE ENCRYPTED FILE-----\n")
    printed = subprocess.run(
        (find_command(), "decrypt", "-i", path, "-o", "-", tmp_path / "ours.age"), check=True, capture_output=True
    )
    assert printed.stdout == plain
    command = (find_command(), "encrypt", "--armor", "-r", recipient, "-o", tmp_path / "theirs.age")
    subprocess.run(command, check=True, input=plain)
    for name in ("ours.age", "theirs.age"):
        with oarlock.open(tmp_path / name, identity=path) as file:
            assert file.read() == plain
            assert file.seek(CHUNK + 3) == CHUNK + 3
            assert file.read(100) == plain[CHUNK + 3 :][:100]
    (tmp_path / "ours.age").write_text(text.replace("\n", "\n\n", 1))
    with pytest.raises(oarlock.FileError, match="line 2"):
        oarlock.open(tmp_path / "ours.age", identity=path)
    with pytest.raises(ValueError, match="armor"):
        oarlock.open(tmp_path / "theirs.age", identity=path, armor=True)
    with pytest.raises(RuntimeError):
        with oarlock.open(tmp_path / "new.age", "wb", recipients=recipient, armor=True) as file:
            raise RuntimeError
    assert sorted(os.listdir(tmp_path)) == ["ours.age", "theirs.age"]


def test_a_file_that_shrinks_while_it_is_read(identity, tmp_path, rng):
    path, recipient = identity
    with oarlock.open(tmp_path / "x.age", "wb", recipients=recipient) as file:
        file.write(rng.randbytes(5 * CHUNK))
    with oarlock.open(tmp_path / "x.age", identity=path) as file:
        os.truncate(tmp_path / "x.age", CHUNK)
        with pytest.raises(oarlock.FileError, match="cut short"):
            file.read()


def test_wrong_keys(identity, tmp_path):
    path, recipient = identity
    with oarlock.open(tmp_path / "x.age", "wb", recipients=recipient) as file:
        file.write(b"data")
    other = tmp_path / "other.txt"
    subprocess.run((find_command(), "keygen", "-o", other), check=True, capture_output=True)
    with pytest.raises(oarlock.FileError, match="identit"):
        oarlock.open(tmp_path / "x.age", identity=other)
    with pytest.raises(oarlock.FileError):
        oarlock.open(tmp_path / "x.age", passphrase="guess")
    with pytest.raises(ValueError, match="needs an identity"):
        oarlock.open(tmp_path / "x.age")
    for text in ("AGE-SECRET-KEY-1QQQ", "age-secret-key-1qqq", b"AGE-SECRET-KEY-1QQQ", "-----BEGIN OPENSSH PRIVATE KEY-----\n"):
        with pytest.raises(ValueError) as raised:
            oarlock.open(tmp_path / "x.age", identity=text)
        assert "QQQ" not in str(raised.value).upper()
    with pytest.raises(FileNotFoundError):
        oarlock.open(tmp_path / "x.age", identity=tmp_path / "missing.txt")
    secret = path.read_text()
    for recipients in ("age1qqq", ["nobody"], secret, secret.split()[-1].lower(), "-----BEGIN OPENSSH PRIVATE KEY-----\nQQQ"):
        with pytest.raises(ValueError, match="recipient 1 is") as raised:
            oarlock.open(tmp_path / "y.age", "wb", recipients=recipients)
        assert not any(part in str(raised.value).upper() for part in ("SECRET-KEY-1", "QQQ"))
    with pytest.raises(ValueError, match="needed"):
        oarlock.open(tmp_path / "y.age", "wb")
    for arguments in (dict(mode="r+b"), dict(mode="wb", identity=path), dict(mode="rb", recipients=recipient)):
        with pytest.raises(ValueError):
            oarlock.open(tmp_path / "x.age", **arguments)
    assert sorted(os.listdir(tmp_path)) == ["other.txt", "x.age"]


def test_no_error_holds_a_secret(identity, tmp_path):
    """Python's errors for texts that are no Unicode hold the whole text."""
    path, recipient = identity
    with oarlock.open(tmp_path / "x.age", "wb", recipients=recipient) as file:
        file.write(b"data")
    secret = path.read_text().split()[-1]
    latin = tmp_path / "latin.txt"
    latin.write_bytes(f"# Schlüssel\n{secret}\n".encode("latin-1"))
    x = tmp_path / "x.age"
    for call in (
        lambda: oarlock.open(x, identity=latin),
        lambda: oarlock.open(x, identity=secret.encode() + b"\xff"),
        lambda: oarlock.open(x, identity=secret + "\udcff"),
        lambda: oarlock.open(x, passphrase=secret + "\udcff"),
        lambda: oarlock.open(tmp_path / "y.age", "wb", passphrase=secret + "\udcff"),
        lambda: oarlock.open(tmp_path / "y.age", "wb", recipients=secret + "\udcff"),
        lambda: oarlock.open(tmp_path / "y.age", "wb", recipients=[recipient, secret + "\udcff"]),
        lambda: oarlock._oarlock.AgeIdentities([secret + "\udcff"]),
        lambda: oarlock._oarlock.AgeKey().wrap([secret + "\udcff"]),
    ):
        with pytest.raises(ValueError) as raised:
            call()
        error = raised.value
        while error is not None:
            assert secret not in f"{error!r} {error} {error.args} {vars(error)}"
            assert not isinstance(error, UnicodeError)
            error = error.__cause__ or error.__context__
    assert sorted(os.listdir(tmp_path)) == ["latin.txt", "x.age"]
    # A path is no secret, and need not be Unicode.
    other = tmp_path / "key\udcff"
    other.write_text(path.read_text())
    for name in (other, os.fspath(other), os.fsencode(other)):
        with oarlock.open(x, identity=name) as file:
            assert file.read() == b"data"


def test_recipients_that_exclude_each_other(identity, tmp_path):
    _, recipient = identity
    command = (find_command(), "keygen", "--pq", "-o", tmp_path / "pq.txt")
    subprocess.run(command, check=True, capture_output=True)
    hybrid = next(word for word in (tmp_path / "pq.txt").read_text().split() if word.startswith("age1pq1"))
    for arguments in (dict(recipients=recipient, passphrase="horse"), dict(recipients=[recipient, hybrid])):
        with pytest.raises(ValueError):
            oarlock.open(tmp_path / "x.age", "wb", **arguments)
    assert os.listdir(tmp_path) == ["pq.txt"]


def test_archives(identity, tmp_path, rng):
    """Programs that ask a file that they write for its position."""
    path, recipient = identity
    plain = rng.randbytes(3 * CHUNK)
    with oarlock.open(tmp_path / "x.age", "wb", recipients=recipient) as file:
        assert file.tell() == 0
        for piece in (plain[:10], plain[10:CHUNK], plain[CHUNK:]):
            before = file.tell()
            file.write(piece)
            assert file.tell() == before + len(piece)
        assert not file.seekable()
    with pytest.raises(ValueError):
        file.tell()
    member = tarfile.TarInfo("plain")
    member.size = len(plain)
    with oarlock.open(tmp_path / "x.tar.age", "wb", recipients=recipient) as file:
        with tarfile.open(fileobj=file, mode="w") as archive:
            archive.addfile(member, io.BytesIO(plain))
    with oarlock.open(tmp_path / "x.tar.age", identity=path) as file, tarfile.open(fileobj=file) as archive:
        assert archive.extractfile("plain").read() == plain
    with oarlock.open(tmp_path / "x.zip.age", "wb", recipients=recipient) as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("plain", plain)
    with oarlock.open(tmp_path / "x.zip.age", identity=path) as file, zipfile.ZipFile(file) as archive:
        assert archive.read("plain") == plain


def test_passphrase_and_ssh_key(tmp_path):
    with oarlock.open(tmp_path / "x.age", "wb", passphrase="correct horse") as file:
        file.write(b"battery staple")
    with oarlock.open(tmp_path / "x.age", passphrase="correct horse") as file:
        assert file.read() == b"battery staple"
    with pytest.raises(oarlock.FileError, match="passphrase"):
        oarlock.open(tmp_path / "x.age", passphrase="wrong")
    key = tmp_path / "id_ed25519"
    subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key), check=True)
    with oarlock.open(tmp_path / "y.age", "wb", recipients=(tmp_path / "id_ed25519.pub").read_text()) as file:
        file.write(b"data")
    with oarlock.open(tmp_path / "y.age", identity=key) as file:
        assert file.read() == b"data"


def test_nothing_remains_of_a_failed_write(identity, tmp_path):
    _, recipient = identity
    path = tmp_path / "x.age"
    path.write_text("earlier")
    os.chmod(path, 0o640)
    with pytest.raises(RuntimeError):
        with oarlock.open(path, "wb", recipients=recipient) as file:
            file.write(bytes(3 << 20))
            raise RuntimeError
    assert path.read_text() == "earlier"
    file = oarlock.open(path, "wb", recipients=recipient)
    file.write(bytes(3 << 20))
    del file
    assert path.read_text() == "earlier"
    with pytest.raises(FileExistsError):
        oarlock.open(path, "xb", recipients=recipient)
    with oarlock.open(path, "wb", recipients=recipient) as file:
        file.write(b"data")
    assert path.stat().st_mode & 0o777 == 0o640
    with oarlock.open(tmp_path / "new.age", "xb", recipients=recipient) as file:
        file.write(b"data")
    umask = os.umask(0)
    os.umask(umask)
    assert (tmp_path / "new.age").stat().st_mode & 0o777 == 0o666 & ~umask
    with pytest.raises(FileNotFoundError):
        oarlock.open(tmp_path / "no/such/folder", "wb", recipients=recipient)
    assert sorted(os.listdir(tmp_path)) == ["new.age", "x.age"]


def test_full_disk(identity):
    _, recipient = identity
    with pytest.raises(OSError):
        with oarlock.open("/dev/full", "wb", recipients=recipient) as file:
            file.write(bytes(3 << 20))


def test_pipes(identity, tmp_path):
    path, recipient = identity
    os.mkfifo(tmp_path / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    with oarlock.open(tmp_path / "pipe", "wb", recipients=recipient) as file:
        file.write(b"data")
    reader.join()
    (tmp_path / "x.age").write_bytes(read[0])
    with oarlock.open(tmp_path / "x.age", identity=path) as file:
        assert file.read() == b"data"
    with pytest.raises(io.UnsupportedOperation):
        oarlock.open("/dev/null", identity=path)


def test_threads_that_share_a_reader(identity, tmp_path, rng):
    path, recipient = identity
    plain = rng.randbytes(50 * CHUNK)
    with oarlock.open(tmp_path / "x.age", "wb", recipients=recipient) as file:
        file.write(plain)
    with oarlock.open(tmp_path / "x.age", identity=path) as file:
        age, wrong = file.raw._age, []

        def read(seed):
            for step in range(100):
                start = (seed * 7919 + step * 104729) % len(plain)
                buffer = bytearray(100_000)
                count = age.read_into(start, buffer)
                if buffer[:count] != plain[start : start + count]:
                    wrong.append(start)

        threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []


def test_an_interrupted_close_completes_nothing(identity, tmp_path):
    """An exception on the way to the file is not the end of the data."""
    _, recipient = identity
    (tmp_path / "x.age").write_text("earlier")
    file = oarlock.open(tmp_path / "x.age", "wb", recipients=recipient)
    file.write(b"data")

    def interrupted(data):
        raise KeyboardInterrupt

    file.raw.write = interrupted
    with pytest.raises(KeyboardInterrupt):
        file.close()
    assert (tmp_path / "x.age").read_text() == "earlier"
    assert os.listdir(tmp_path) == ["x.age"]
    file.close()


def test_signals_during_writes(identity, tmp_path, rng):
    """Whatever a handler interrupts, the file has the data once, or does not come to be."""

    class Alarm(Exception):
        pass

    def handler(*_):
        raise Alarm

    path, recipient = identity
    plain = rng.randbytes(3_000_000)
    previous = signal.signal(signal.SIGALRM, handler)
    try:
        for attempt in range(30):
            target = tmp_path / f"{attempt}.age"
            try:
                with oarlock.open(target, "wb", recipients=recipient) as file:
                    signal.setitimer(signal.ITIMER_REAL, rng.random() * 0.02)
                    file.write(plain)
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except Alarm:
                assert not target.exists()
            else:
                with oarlock.open(target, identity=path) as file:
                    assert file.read() == plain
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def test_long_calls_are_interrupted(identity, tmp_path):
    """Python looks at signals in the middle of what takes long."""

    class Alarm(Exception):
        pass

    def handler(*_):
        raise Alarm

    path, recipient = identity
    plain = bytearray(384 << 20)

    def write(name):
        with oarlock.open(tmp_path / name, "wb", recipients=recipient) as file:
            assert file.write(plain) == len(plain)

    def read():
        with oarlock.open(tmp_path / "x.age", identity=path) as file:
            assert len(file.read()) == len(plain)

    def read_into():
        with oarlock.open(tmp_path / "x.age", identity=path) as file:
            assert file.readinto(plain) == len(plain)

    write("x.age")
    previous = signal.signal(signal.SIGALRM, handler)
    try:
        for call in (lambda: write("y.age"), read, read_into):
            began = time.monotonic()
            call()
            whole = time.monotonic() - began
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            began = time.monotonic()
            with pytest.raises(Alarm):
                call()
            assert time.monotonic() - began < whole / 2
            (tmp_path / "y.age").unlink(missing_ok=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert os.listdir(tmp_path) == ["x.age"]


def test_exclusive_creation(identity, tmp_path):
    """A file that another program makes before the end stays."""
    _, recipient = identity
    file = oarlock.open(tmp_path / "x.age", "xb", recipients=recipient)
    (tmp_path / "x.age").write_text("theirs")
    with pytest.raises(FileExistsError):
        file.close()
    assert (tmp_path / "x.age").read_text() == "theirs"
    assert os.listdir(tmp_path) == ["x.age"]


def test_names(identity, tmp_path):
    path, recipient = identity
    for name in ("n" * 255, "ä\n\udcff"):
        with oarlock.open(tmp_path / name, "wb", recipients=recipient) as file:
            file.write(b"data")
        with oarlock.open(os.fsencode(tmp_path / name), identity=path) as file:
            assert file.read() == b"data"
    for name, expected in (("", FileNotFoundError), (f"{tmp_path}/folder/", IsADirectoryError)):
        with pytest.raises(expected):
            oarlock.open(name, "wb", recipients=recipient)
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        oarlock.open(tmp_path / "folder", "wb", recipients=recipient)
    os.symlink("n" * 255, tmp_path / "link")
    with oarlock.open(tmp_path / "link", "wb", recipients=recipient) as file:
        file.write(b"other")
    assert os.path.islink(tmp_path / "link")
    with oarlock.open(tmp_path / ("n" * 255), identity=path) as file:
        assert file.read() == b"other"


def test_a_closed_file_has_no_key(identity, tmp_path):
    path, recipient = identity
    before = len(os.listdir("/proc/self/fd"))
    file = oarlock.open(tmp_path / "x.age", "wb", recipients=recipient)
    for attempt in (copy.copy, pickle.dumps):
        with pytest.raises(TypeError):
            attempt(file.raw)
    file.close()
    file.close()
    reader = oarlock.open(tmp_path / "x.age", identity=path)
    reader.close()
    reader.close()
    assert len(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ValueError):
        file.write(b"data")
    with pytest.raises(ValueError):
        reader.read()
