"""Keys of a cryptoserver, which is a process of its own."""

import asyncio
import hashlib
import mmap
import os
import pathlib
import pickle
import random
import re
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time

import jwt
import pytest

import oarlock
import oarlock.pyjwt
from oarlock import aio
from oarlock.command import find_command

# `mmap` has it from Python 3.13 on.
MAP_NORESERVE = 0x4000
SCHEMES = {"web": "rsa-pss-sha256", "curve": "ecdsa-sha256", "ed": "ed25519", "lattice": "ml-dsa"}
TYPES = {"curve": "p256", "ed": "ed25519", "lattice": "ml-dsa-44"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The folder of the authority, in which the server's configuration and keys are."""
    folder = tmp_path_factory.mktemp("cryptoserver") / "demo"
    subprocess.run((find_command(), "pki", "init", folder, "--key", "web"), check=True, capture_output=True)
    for name, kind in TYPES.items():
        path = folder / "keys" / f"{name}.pem"
        subprocess.run((find_command(), "keygen", "--type", kind, "-o", path), check=True, capture_output=True)
    for name, more in (("archive", ()), ("vault", ("--pq",))):
        path = folder / "keys" / f"{name}.key"
        subprocess.run((find_command(), "keygen", "-o", path, *more), check=True, capture_output=True)
    config = folder / "cryptoserver.toml"
    config.write_text(re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:0", config.read_text()))
    return folder


def serve(place, name):
    """Starts a server, and returns it and its address."""
    log = place / name
    with log.open("w") as output:
        command = (find_command(), "serve", "--config", place / "cryptoserver.toml")
        server = subprocess.Popen(command, stderr=output, stdout=output)
    deadline = time.monotonic() + 60
    while not (found := re.search(r"listening on 127\.0\.0\.1:(\d+)\n", log.read_text())):
        assert server.poll() is None and time.monotonic() < deadline, log.read_text()
        time.sleep(0.02)
    return server, f"localhost:{found[1]}"


def files(place, name="client"):
    return dict(ca=place / "ca.pem", certificate=place / f"{name}.pem", key=place / f"{name}.key")


@pytest.fixture(scope="module")
def server(place, address):
    return oarlock.Cryptoserver(address, **files(place))


def test_keys(server):
    keys = {key.id: key for key in server.keys()}
    assert sorted(keys) == sorted(SCHEMES)
    assert {key.id: key.key_type for key in keys.values()} == {
        "web": "RSA",
        "curve": "P-256",
        "ed": "Ed25519",
        "lattice": "ML-DSA-44",
    }
    assert "sign" in keys["web"].operations
    assert repr(keys["web"]) == "<oarlock.RemoteKey 'web' of RSA>"
    with pytest.raises(ValueError, match=r'no key "none" .*web'):
        server.key("none")
    for one in (server, keys["web"]):
        with pytest.raises(TypeError):
            pickle.dumps(one)


@pytest.mark.parametrize("name", SCHEMES)
def test_signatures(server, name):
    key, scheme = server.key(name), SCHEMES[name]
    public = key.public_key()
    for data in (b"", b"message", bytearray(60_000)):
        public.verify(key.sign(data), data)
        public.verify(key.sign(data, scheme), data, scheme)
    # By its public half alone, for clients that may not list keys.
    given = server.key(name, public)
    assert given.operations is None
    public.verify(given.sign(b"message"), b"message")
    digest = hashlib.sha256(b"message").digest()
    if name in ("web", "curve"):
        public.verify(key.sign_digest(digest), b"message")
        with pytest.raises(ValueError):
            key.sign_digest(b"short")
    else:
        with pytest.raises(ValueError, match="not digests"):
            key.sign_digest(digest)
    with pytest.raises(ValueError):
        key.sign(b"message", "no-scheme")
    with pytest.raises(TypeError):
        key.sign("text")


def test_a_signature_that_the_public_half_refuses(server):
    other = oarlock.PrivateKey.generate("P-256").public_key()
    with pytest.raises(oarlock.ServerError, match="the public half of key"):
        server.key("curve", other).sign(b"message")


def test_decryption(server):
    key = server.key("web")
    for scheme in ("rsa-oaep-sha256", "rsa-oaep-sha1", "rsa-pkcs1"):
        ciphertext = key.public_key().encrypt(b"secret", scheme)
        assert key.decrypt(ciphertext, scheme) == b"secret"
    with pytest.raises(oarlock.DecryptionFailed):
        key.decrypt(bytes(255) + b"\1")
    with pytest.raises(oarlock.DecryptionFailed):
        key.decrypt(b"short")
    with pytest.raises(ValueError):
        server.key("curve").decrypt(bytes(256))


def test_arguments_that_no_server_takes(server):
    """They are refused before they are copied."""
    huge = mmap.mmap(-1, 1 << 46, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
    for name in ("ed", "lattice"):
        key = server.key(name)
        for data in (huge, bytes(65_537)):
            with pytest.raises(ValueError, match=f"{len(data)} bytes.* 65536"):
                key.sign(data)
        key.public_key().verify(key.sign(bytes(65_536)), bytes(65_536))
    for data in (huge, bytes(33), b""):
        with pytest.raises(ValueError, match=f"{len(data)} bytes"):
            server.key("curve").sign_digest(data)
    with pytest.raises(oarlock.DecryptionFailed):
        server.key("web").decrypt(huge)
    for data in (huge, bytes(256)):
        with pytest.raises(ValueError, match="RSA"):
            server.key("curve").decrypt(data)

    async def main():
        for call in (aio.sign(server.key("ed"), huge), aio.sign_digest(server.key("web"), huge)):
            with pytest.raises(ValueError):
                await call
        with pytest.raises(oarlock.DecryptionFailed):
            await aio.decrypt(server.key("web"), huge)

    asyncio.run(main())


def test_other_threads_run_while_a_message_is_hashed(server):
    key, data, done = server.key("curve"), bytes(1 << 29), threading.Event()
    thread = threading.Thread(target=lambda: (key.sign(data), done.set()))
    began = last = time.monotonic()
    thread.start()
    longest = 0.0
    while not done.is_set():
        time.sleep(0.001)
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    thread.join()
    assert longest < (last - began) / 2


def test_a_loop_goes_on_while_a_message_is_hashed(server):
    """The loop's thread does not hash a long message, and copies one that may change."""
    key, data = server.key("curve"), bytes(1 << 28)

    async def main():
        began = time.thread_time()
        signature = await aio.sign(key, data)
        spent = time.thread_time() - began
        changing = bytearray(1 << 20)
        other = aio.sign(key, changing)
        changing[:] = b"x" * len(changing)
        key.public_key().verify(await other, bytes(len(changing)))
        return signature, spent

    signature, of_the_loop = asyncio.run(main())
    key.public_key().verify(signature, data)
    began = time.thread_time()
    digest = hashlib.sha256(data).digest()
    assert of_the_loop < (time.thread_time() - began) / 4
    key.public_key().verify_digest(signature, digest)


def test_json_web_tokens(server):
    """PyJWT takes keys of a server as it takes others."""
    oarlock.pyjwt.install()
    for name, algorithm in (("web", "RS256"), ("curve", "ES256"), ("ed", "EdDSA")):
        key = server.key(name)
        token = jwt.encode({"sub": "alice"}, key, algorithm)
        for public in (key, key.public_key(), key.public_key().to_pem()):
            assert jwt.decode(token, public, algorithms=[algorithm]) == {"sub": "alice"}
        assert "d" not in oarlock.pyjwt.algorithms()[algorithm].to_jwk(key, as_dict=True)
    with pytest.raises(jwt.InvalidKeyError):
        jwt.encode({}, server.key("curve"), "ES384")


@pytest.mark.parametrize("name", ("archive", "vault"))
def test_identities(server, place, tmp_path, name):
    """A file key is unwrapped by the server, and the file is opened here."""
    identity, other = server.identity(name), place / "keys" / f"{name}.key"
    command = (find_command(), "keygen", "-y", other)
    recipient = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    plain = os.urandom(200_000)
    with oarlock.open(tmp_path / "x.age", "wb", recipients=recipient) as file:
        file.write(plain)
    for given in (identity, [identity], [other_identity(tmp_path), identity]):
        with oarlock.open(tmp_path / "x.age", identity=given) as file:
            assert file.read() == plain
    wrong = {"archive": "vault", "vault": "archive"}[name]
    with pytest.raises(oarlock.FileError, match="identit"):
        oarlock.open(tmp_path / "x.age", identity=server.identity(wrong))
    with pytest.raises(oarlock.FileError, match="no key"):
        oarlock.open(tmp_path / "x.age", identity=server.identity("missing"))
    assert repr(identity) == f"<oarlock.RemoteIdentity '{name}'>"
    with pytest.raises(TypeError):
        pickle.dumps(identity)


def test_fleet(server, place, address, cluster, tmp_path):
    """`oarlock fleet` opens and rotates files by an identity that stays on the server."""
    from ray_support import job, make, tree

    def recipient(name):
        command = (find_command(), "keygen", "-y", place / "keys" / f"{name}.key")
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    plain = make(tmp_path / "plain", random.Random(7))
    job("encrypt", tmp_path / "plain", tmp_path / "sealed", recipients=(recipient("archive"),))
    keys = {"server": server.identity("archive"), "recipients": (recipient("vault"),)}
    done = job("rotate", tmp_path / "sealed", tmp_path / "rotated", **keys)
    assert (done.done, done.failed) == (len(plain), 0)
    command = [find_command(), "fleet", "decrypt", "--address", cluster.address_info["address"], "--json"]
    command += ["--remote", address, "--pki", place, "--key", "vault", tmp_path / "rotated", tmp_path / "out"]
    printed = subprocess.run(command, capture_output=True, text=True)
    assert printed.returncode == 0, printed.stderr
    assert tree(tmp_path / "out") == plain
    command[-1] = tmp_path / "none"
    command[command.index("vault")] = "archive"
    printed = subprocess.run(command, capture_output=True, text=True)
    assert printed.returncode == 1 and "none of the identities" in printed.stdout
    refused = subprocess.run([*command[:5], "--remote", address, *command[-2:]], capture_output=True, text=True)
    assert refused.returncode == 2 and "there is no --key" in refused.stderr


def other_identity(folder):
    """Makes an identity that opens nothing."""
    path = folder / "other.key"
    path.unlink(missing_ok=True)
    subprocess.run((find_command(), "keygen", "-o", path), check=True, capture_output=True)
    return path


def test_awaitables(server):
    keys = [server.key(name) for name in SCHEMES]
    public = keys[0].public_key()

    async def main():
        jobs = [aio.sign(key, b"%d" % number) for number in range(50) for key in keys]
        digests = [aio.sign_digest(keys[0], hashlib.sha256(b"%d" % number).digest()) for number in range(10)]
        secret = aio.decrypt(keys[0], public.encrypt(b"secret"))
        failed = aio.sign(server.key("web", keys[1].public_key()), b"message")
        cancelled = aio.sign(keys[0], b"message")
        await asyncio.sleep(0)
        cancelled.cancel()
        assert await secret == b"secret"
        with pytest.raises((oarlock.ServerError, ValueError)):
            await failed
        return await asyncio.gather(*jobs), await asyncio.gather(*digests)

    signatures, of_digests = asyncio.run(main())
    for place, signature in enumerate(signatures):
        keys[place % len(keys)].public_key().verify(signature, b"%d" % (place // len(keys)))
    for number, signature in enumerate(of_digests):
        public.verify(signature, b"%d" % number)


def test_several_servers_and_their_name(place, address):
    """One that is gone leaves the work to the others."""
    second, other = serve(place, "another log")
    with second:
        servers = oarlock.Cryptoserver([address, other, "localhost:1"], **files(place))
        key = servers.key("curve")
        assert repr(servers) == f"<oarlock.Cryptoserver {address}, {other}, localhost:1>"
        key.public_key().verify(key.sign(b"message"), b"message")
        second.kill()
        second.wait()
        for number in range(20):
            key.public_key().verify(key.sign(b"%d" % number), b"%d" % number)
    named = oarlock.Cryptoserver(address, server_name="localhost", **files(place))
    assert named.key("curve").public_key() == key.public_key()
    with pytest.raises(oarlock.ServerError):
        oarlock.Cryptoserver(address, server_name="elsewhere.example", timeout=5, **files(place))


def test_a_server_without_tls(tmp_path):
    folder = tmp_path / "demo"
    subprocess.run((find_command(), "pki", "init", folder, "--key", "web"), check=True, capture_output=True)
    config = folder / "cryptoserver.toml"
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:0", config.read_text())
    text, replaced = re.subn(r"\[tls\]\n.*?\n\n", "plaintext = true\n\n", text, flags=re.DOTALL)
    assert replaced == 1
    config.write_text(text)
    process, address = serve(folder, "log")
    with process:
        key = oarlock.Cryptoserver(address, plaintext=True).key("web")
        key.public_key().verify(key.sign(b"message"), b"message")
        with pytest.raises(oarlock.ServerError):
            oarlock.Cryptoserver(address, timeout=1, **files(folder))
        process.kill()


def test_too_many_requests(server):
    key = server.key("curve")

    async def main():
        jobs = [aio.sign(key, b"message") for _ in range(1500)]
        results = await asyncio.gather(*jobs, return_exceptions=True)
        return [type(result) for result in results]

    kinds = asyncio.run(main())
    assert kinds.count(bytes) >= 1024
    assert set(kinds) <= {bytes, oarlock.QueueFull}


def test_threads(server):
    key, wrong = server.key("curve"), []

    def work():
        for number in range(20):
            try:
                key.public_key().verify(key.sign(b"%d" % number), b"%d" % number)
            except Exception as error:
                wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_wrong_arguments(place, address):
    for arguments in (
        dict(),
        dict(ca=place / "ca.pem"),
        dict(plaintext=True, **files(place)),
        dict(files(place), key=place / "ca.pem"),
        dict(files(place), timeout=0),
        dict(files(place), timeout=float("nan")),
    ):
        with pytest.raises(ValueError):
            oarlock.Cryptoserver(address, **arguments)
    for name in ("ca", "certificate", "key"):
        with pytest.raises(FileNotFoundError, match="No such file") as raised:
            oarlock.Cryptoserver(address, **dict(files(place), **{name: place / "missing.pem"}))
        assert raised.value.filename == str(place / "missing.pem")
    for servers in ([], "nowhere", ["localhost:x"]):
        with pytest.raises((ValueError, oarlock.ServerError), match="host:port"):
            oarlock.Cryptoserver(servers, **files(place))
    with pytest.raises(oarlock.ServerError):
        oarlock.Cryptoserver("localhost:1", timeout=0.5, **files(place))
    # A server of another authority.
    other = place.parent / "other"
    subprocess.run((find_command(), "pki", "init", other, "--key", "web"), check=True, capture_output=True)
    with pytest.raises(oarlock.ServerError):
        oarlock.Cryptoserver(address, timeout=5, **files(other))


PROGRAM = """
import asyncio, os, signal, sys, threading, time
import oarlock
from oarlock import aio
address, folder = sys.argv[1:]
files = dict(ca=f"{folder}/ca.pem", certificate=f"{folder}/client.pem", key=f"{folder}/client.key")
assert len(os.listdir("/proc/self/task")) == 1
server = oarlock.Cryptoserver(address, **files)
key = server.key("curve")
def work():
    key.public_key().verify(key.sign(b"message"), b"message")
work()
"""


def run(place, address, code):
    program = PROGRAM + textwrap.dedent(code)
    command = (sys.executable, "-c", program, address, str(place))
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "panicked" not in done.stderr
    return done


def test_fork(place, address):
    done = run(
        place,
        address,
        """
        def more():
            while not stop.is_set():
                work()
        stop = threading.Event()
        thread = threading.Thread(target=more)
        thread.start()
        for _ in range(5):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                # A key of the parent's, over a connection of the child's.
                work()
                grandchild = os.fork()
                if grandchild == 0:
                    work()
                    os._exit(7)
                assert os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]) == 7
                del globals()["key"], globals()["server"]
                os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        stop.set()
        thread.join()
        """,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("end", ("", "del key, server", "sys.exit(0)", "os.kill(os.getpid(), signal.SIGTERM)"))
def test_exit(place, address, end):
    code = f"""
    async def main():
        for _ in range(200):
            asyncio.ensure_future(aio.sign(key, b"message"))
        await asyncio.sleep(0.01)
    asyncio.run(main())
    {end}
    """
    done = run(place, address, code)
    assert done.returncode == (-signal.SIGTERM if "SIGTERM" in end else 0), done.stderr


def interrupted_later():
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_a_handler_that_connects_while_nobody_answers(place, address):
    made = []

    def handler(*_):
        made.append(oarlock.Cryptoserver(address, **files(place)).key("curve").sign(b"message"))
        raise InterruptedError

    previous = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(InterruptedError):
            oarlock.Cryptoserver(f"localhost:{silent.getsockname()[1]}", timeout=600, **files(place))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert len(made) == 1


def test_an_interrupt_while_nobody_answers(place):
    """Ctrl-C ends a call that connects, and leaves no thread of it."""
    threads = pathlib.Path("/proc/self/task")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        before = len(os.listdir(threads))
        timer = interrupted_later()
        with pytest.raises(KeyboardInterrupt):
            oarlock.Cryptoserver(f"localhost:{silent.getsockname()[1]}", timeout=600, **files(place))
        timer.join()
        deadline = time.monotonic() + 60
        while len(os.listdir(threads)) > before:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_an_interrupt_while_a_file_key_is_unwrapped(place, tmp_path):
    second, address = serve(place, "third log")
    with second:
        server = oarlock.Cryptoserver(address, timeout=600, **files(place))
        command = (find_command(), "keygen", "-y", place / "keys" / "archive.key")
        recipient = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        oarlock.open(tmp_path / "x.age", "wb", recipients=recipient).close()
        second.send_signal(signal.SIGSTOP)
        try:
            timer = interrupted_later()
            with pytest.raises(KeyboardInterrupt):
                oarlock.open(tmp_path / "x.age", identity=server.identity("archive"))
            timer.join()
        finally:
            second.send_signal(signal.SIGCONT)
        # The object is as before.
        oarlock.open(tmp_path / "x.age", identity=server.identity("archive")).close()
        second.kill()


def test_a_server_that_is_gone_and_an_interrupt(place):
    """A call that waits for a server ends with Ctrl-C."""
    second, address = serve(place, "second log")
    with second:
        server = oarlock.Cryptoserver(address, timeout=60, **files(place))
        key = server.key("curve")
        second.kill()
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        while True:
            key.sign(b"message")
    assert time.monotonic() - start < 30
