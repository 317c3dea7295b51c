"""Where the keys of `oarlock fleet` are, and where they are not."""

import base64
import contextlib
import json
import os
import pathlib
import subprocess
import time

import pytest
import ray
from ray_support import CHUNK, job, make, tree, unwrap

import oarlock
from oarlock._oarlock import AgeHeader, AgeIdentities, AgeKey
from oarlock.command import find_command
from oarlock.ray import Options, run
from oarlock.ray.objects import FOLDER, Failed, plain_bytes, sealed_bytes


def test_no_key_is_where_others_could_read_it(cluster, keys, tmp_path, rng):
    """Ray's logs and object store, command lines and environments hold neither the identity nor a file key."""
    path, identity, recipient = keys[0]
    make(tmp_path / "plain", rng, sizes=[CHUNK] * 6 + [30 * CHUNK])
    job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(recipient,))
    secrets = {identity.encode(), identity.lower().encode(), identity[16:50].encode()}
    for data in tree(tmp_path / "sealed").values():
        file_key = unwrap(identity, AgeHeader.parse(data).stanzas)
        assert len(file_key) == 16
        secrets |= {file_key, base64.b64encode(file_key)[:21], file_key.hex().encode()}
    seen = []

    def look(summary):
        seen.extend(search(secrets, of_processes))

    done = run(
        Options("decrypt", str(tmp_path / "sealed"), str(tmp_path / "a"), identities=(path,), workers=2, range_chunks=2), look
    )
    assert done.failed == 0
    command = [find_command(), "fleet", "decrypt", "--address", cluster.address_info["address"], "-i", path, "--json"]
    command += ["--workers", "1"]
    command += [str(tmp_path / "sealed"), str(tmp_path / "b")]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while child.poll() is None:
        look(None)
        time.sleep(0.1)
    printed, complaints = child.communicate()
    assert json.loads(printed)["done"] == 7, complaints
    options = {"identities": (path,), "recipients": (keys[1][2],), "workers": 1}
    done = run(Options("rotate", str(tmp_path / "sealed"), str(tmp_path / "c"), **options), look)
    assert done.done == 7 and "can still open" in done.notes[0]
    assert seen == []
    session = cluster.address_info["session_dir"]
    assert search(secrets, lambda: of_files(session)) == []
    assert search(secrets, lambda: of_files(tmp_path / "sealed" / FOLDER)) == []
    assert search(secrets, lambda: of_files(tmp_path / "a" / FOLDER)) == []
    # The search finds what is there.
    needle = b"oarlock-needle-in-the-object-store-" + os.urandom(8).hex().encode()
    kept = ray.put(needle * 10_000)
    assert search({needle}, of_processes) != []
    del kept
    assert search({identity.encode()}, lambda: of_files(os.path.dirname(path))) != []


def search(secrets, places):
    return [place for place, data in places() if any(secret in data for secret in secrets)]


def of_files(folder):
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                file = os.path.join(path, name)
                if os.path.isfile(file):
                    yield file, pathlib.Path(file).read_bytes()


def of_processes():
    """What other processes can see of processes, and the memory of the object store."""
    for process in filter(str.isdigit, os.listdir("/proc")):
        for name in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                yield f"{process} {name}", pathlib.Path("/proc", process, name).read_bytes()
        with contextlib.suppress(OSError):
            if "raylet" in pathlib.Path("/proc", process, "comm").read_text():
                for file in pathlib.Path("/proc", process, "fd").iterdir():
                    if "plasma" in os.readlink(file):
                        yield f"{process} object store", written_of(file)


def written_of(path):
    """Return what a file has where something was written. A hole is a zero byte."""
    pieces, position = [], 0
    with open(path, "rb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                position = os.lseek(file.fileno(), position, os.SEEK_DATA)
                end = os.lseek(file.fileno(), position, os.SEEK_HOLE)
                pieces.append(os.pread(file.fileno(), end - position, position))
                position = end
    return b"\0".join(pieces)


def test_another_party_may_unwrap(keys, tmp_path, rng):
    """What a cryptoserver would do: the driver gets file keys, and has no identity."""
    _, identity, recipient = keys[0]
    plain = make(tmp_path / "plain", rng, sizes=(5, 3 * CHUNK))
    job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(recipient,))
    asked = []

    def remote(stanzas):
        asked.append([kind for kind, _, _ in stanzas])
        return unwrap(identity, stanzas)

    done = job("decrypt", tmp_path / "sealed", tmp_path / "opened", unwrap=remote)
    assert done.failed == 0 and tree(tmp_path / "opened") == plain
    assert len(asked) == 2 and all("X25519" in kinds for kinds in asked)
    done = job("decrypt", tmp_path / "sealed", tmp_path / "wrong", unwrap=lambda stanzas: bytes(16))
    assert (done.done, done.failed) == (0, 2)
    assert "header" in done.failures[0][1]


def test_parts_of_age_files(rng):
    """The native parts refuse what would break the format."""
    identities = AgeIdentities.generate()
    key = AgeKey()
    header = key.wrap([identities.recipient])
    assert AgeHeader.parse(header[:-1]) is None and AgeHeader.parse(header + b"more").size == len(header)
    with pytest.raises(oarlock.FileError):
        AgeHeader.parse(b"another format, of a hundred bytes".ljust(100))
    again = identities.unwrap(AgeHeader.parse(header))
    with pytest.raises(oarlock.FileError):
        AgeIdentities.generate().unwrap(AgeHeader.parse(header))
    with pytest.raises(oarlock.FileError):
        AgeHeader.parse(header).accept(bytes(16))
    for wrong in (b"", bytes(15), bytes(17)):
        with pytest.raises(ValueError):
            AgeHeader.parse(header).accept(wrong)
        with pytest.raises(ValueError):
            key.payload(wrong)
    with pytest.raises(ValueError):
        key.wrap([])
    with pytest.raises(oarlock.FileError):
        AgeKey().wrap([identities.recipient], AgeHeader.parse(header))
    seal, opened = key.payload(bytes(16)), again.payload(bytes(16))
    sizes = [0, 1, CHUNK, CHUNK + 1, 5 * CHUNK + 3]
    for size in sizes:
        plain = rng.randbytes(size)
        buffer = bytearray(sealed_bytes(size))
        assert plain_bytes(len(buffer)) == size
        for chunk, at in enumerate(range(0, size, CHUNK)):
            place = chunk * (CHUNK + 16)
            buffer[place : place + len(plain[at : at + CHUNK])] = plain[at : at + CHUNK]
        seal.seal(0, True, buffer)
        damaged = bytearray(buffer)
        damaged[-1] ^= 1
        with pytest.raises(oarlock.FileError):
            opened.open(0, True, damaged)
        assert damaged == bytes(len(damaged))
        # A shorter end than the real one, and chunks in another place.
        with pytest.raises((oarlock.FileError, ValueError)):
            opened.open(0, False, bytearray(buffer))
        with pytest.raises((oarlock.FileError, ValueError)):
            opened.open(1, True, bytearray(buffer))
        opened.open(0, True, buffer)
    for length in (0, 15, CHUNK + 16 + 16, CHUNK + 17):
        with pytest.raises(ValueError):
            seal.seal(0, True, bytearray(length))
    for length in (0, 16, CHUNK + 15):
        with pytest.raises(ValueError):
            seal.seal(0, False, bytearray(length))
    with pytest.raises(ValueError):
        seal.seal(1, True, bytearray(16))
    with pytest.raises(oarlock.FileError):
        seal.seal(2**64 - 1, True, bytearray(CHUNK + 16 + 17))
    for wrong in (0, 15, 65552 + 16, 65552 + 15):
        with pytest.raises(Failed):
            plain_bytes(wrong)
