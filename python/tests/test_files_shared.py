"""age files as file objects: after a fork, with work factors of others, and in place of files that others may use."""

import base64
import gc
import hashlib
import hmac
import os
import struct
import sys
import threading
import traceback

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

import oarlock
from oarlock._oarlock import AgeHeader, AgeIdentities

CHUNK = 64 << 10


@pytest.fixture
def identity():
    """An identity, and its recipient."""
    made = AgeIdentities.generate()
    return made, made.recipient


def forked(work):
    """Return what `work` returns in a child process: None or a text."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = work() or ""
        except BaseException:
            said = traceback.format_exc()
        os.write(theirs, said.encode())
        os._exit(0)
    os.close(theirs)
    with open(ours) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.parametrize("armor", [False, True])
def test_a_fork_leaves_a_file_to_the_process_that_began_it(tmp_path, armor):
    """Both would seal different chunks under the same nonce, and write over each other."""
    path = tmp_path / "x.age"
    file = oarlock.open(path, "wb", passphrase="correct horse", armor=armor)
    file.write(b"before")

    def write():
        for call in (lambda: file.write(b"x" * (3 << 20)), file.flush, file.raw._age.finish, file.raw.close):
            with pytest.raises(oarlock.Error, match="begun before a fork"):
                call()

    def close():
        with pytest.raises(oarlock.Error, match="begun before a fork"):
            file.close()

    def leave():
        with pytest.raises(SystemExit):
            with file:
                sys.exit()

    def drop():
        nonlocal file
        file = None
        gc.collect()

    (temporary,) = os.listdir(tmp_path)
    contents = (tmp_path / temporary).read_bytes()
    for work in (write, close, leave, drop):
        assert forked(work) == ""
        assert os.listdir(tmp_path) == [temporary]
        assert (tmp_path / temporary).read_bytes() == contents
    file.write(b", and after")
    file.close()
    assert os.listdir(tmp_path) == ["x.age"]
    with oarlock.open(path, passphrase="correct horse") as opened:
        assert opened.read() == b"before, and after"


def test_a_fork_while_another_thread_writes(tmp_path, identity):
    """Nobody releases the object in the child, whose end must not take the file along."""
    file = oarlock.open(tmp_path / "x.age", "wb", recipients=identity[1])
    age = file.raw._age
    forks: list[str] = []
    data, is_over = bytes(8 << 20), threading.Event()

    def write():
        while not is_over.is_set():
            age.write(data)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(10):
            forks.append(forked(lambda: file.raw.discard()))
    finally:
        is_over.set()
        thread.join()
    assert forks == [""] * 10
    file.close()
    assert os.listdir(tmp_path) == ["x.age"]


def test_processes_that_share_a_reader(tmp_path, identity, rng):
    """They have one description of the file, and no position in common."""
    plain = rng.randbytes(40 * CHUNK)
    with oarlock.open(tmp_path / "x.age", "wb", passphrase="correct horse") as file:
        file.write(plain)
    file = oarlock.open(tmp_path / "x.age", passphrase="correct horse")
    assert file.read(100) == plain[:100]

    def read():
        assert file.read() == plain[100:]
        file.close()

    assert forked(read) == ""
    assert file.read() == plain[100:]
    file.close()


def scrypt_file(passphrase, log_n, is_sound=True):
    """Return a file with a work factor: age v1, "scrypt recipient stanza". One that is not sound costs nothing to make."""
    file_key, salt = os.urandom(16), os.urandom(16)
    wrapped = os.urandom(32)
    if is_sound:
        memory = 128 * 8 * (1 << log_n) + (1 << 20)
        label = b"age-encryption.org/v1/scrypt" + salt
        key = hashlib.scrypt(passphrase.encode(), salt=label, n=1 << log_n, r=8, p=1, maxmem=memory, dklen=32)
        wrapped = ChaCha20Poly1305(key).encrypt(bytes(12), file_key, None)

    def text(data):
        return base64.b64encode(data).rstrip(b"=")

    header = b"age-encryption.org/v1\n-> scrypt " + text(salt) + b" %d\n" % log_n + text(wrapped) + b"\n---"
    mac = hmac.digest(HKDF(hashes.SHA256(), 32, None, b"header").derive(file_key), header, "sha256")
    nonce = os.urandom(16)
    chunk = ChaCha20Poly1305(HKDF(hashes.SHA256(), 32, nonce, b"payload").derive(file_key))
    return header + b" " + text(mac) + b"\n" + nonce + chunk.encrypt(bytes(11) + b"\1", b"data", None)


def test_work_factors(tmp_path):
    """They are those of the command, on every machine."""
    path = tmp_path / "x.age"
    with oarlock.open(path, "wb", passphrase="correct horse") as file:
        file.write(b"data")
    ((_, arguments, _),) = AgeHeader.parse(path.read_bytes()).stanzas
    assert arguments[1] == "18"
    path.write_bytes(scrypt_file("correct horse", 10))
    with oarlock.open(path, passphrase="correct horse") as file:
        assert file.read() == b"data"
    path.write_bytes(scrypt_file("correct horse", 23, is_sound=False))
    with pytest.raises(oarlock.FileError, match=r"more than 2\^22 rounds"):
        oarlock.open(path, passphrase="correct horse")


ACL = "system.posix_acl_access"


def acl(*entries):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def replace(path, identity):
    with oarlock.open(path, "wb", recipients=identity[1]) as file:
        (temporary,) = path.parent.glob(".oarlock-*")
        # Nobody else reads it before it has the rights of the other.
        assert temporary.stat().st_mode & 0o7777 == 0o600
        file.write(b"data")
    return path.stat()


def test_a_file_keeps_its_rights(tmp_path, identity):
    path = tmp_path / "x.age"
    path.write_text("earlier")
    os.chmod(path, 0o6755)
    # New content does not get the owner's rights to run.
    assert replace(path, identity).st_mode & 0o7777 == 0o755
    with oarlock.open(path, "wb", recipients=identity[1]) as file:
        file.write(b"data")
        os.chmod(path, 0o400)
    assert path.stat().st_mode & 0o7777 == 0o400
    path.unlink()
    path.write_text("earlier")
    # The owner; the user 1234; the group; the mask; others.
    value = acl((1, 6, 2**32 - 1), (2, 4, 1234), (4, 0, 2**32 - 1), (0x10, 4, 2**32 - 1), (0x20, 0, 2**32 - 1))
    try:
        os.setxattr(path, ACL, value)
    except OSError:
        pytest.skip("this file system has no ACLs")
    assert replace(path, identity).st_mode & 0o7777 == 0o640
    assert os.getxattr(path, ACL) == value


@pytest.mark.skipif(os.geteuid() != 0, reason="giving files away needs root")
def test_a_file_keeps_its_owner(tmp_path, identity):
    path = tmp_path / "x.age"
    path.write_text("earlier")
    os.chown(path, 1234, 1235)
    os.chmod(path, 0o640)
    status = replace(path, identity)
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (1234, 1235, 0o640)

    def other():
        # A user who may write to the folder, and not give files away.
        os.setgroups([])
        os.setresgid(1236, 1236, 1236)
        os.setresuid(1237, 1237, 1237)
        with oarlock.open(path, "wb", recipients=identity[1]) as file:
            file.write(b"data")

    for folder in (tmp_path, *tmp_path.parents[:2]):
        os.chmod(folder, 0o777)
    for mode, left in ((0o640, 0o600), (0o664, 0o644), (0o666, 0o666)):
        path.unlink()
        path.write_text("earlier")
        os.chown(path, 1234, 1235)
        os.chmod(path, mode)
        assert forked(other) == ""
        status = path.stat()
        # Members of either group may do what all others could.
        assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (1237, 1236, left)
