"""What the module does to its process: import, fork, exit, signals, threads, leaks."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import oarlock


def run(code, timeout=60):
    command = (sys.executable, "-c", textwrap.dedent(code))
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout)


def printed(code, timeout=60):
    done = run(code, timeout)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_import_is_light():
    modules = printed(
        """
        import sys
        before = set(sys.modules)
        import oarlock
        print(*sorted(name for name in set(sys.modules) - before if not name.startswith("oarlock")))
        """
    )
    assert len(modules) <= 5, modules
    threads = printed("import os, oarlock; print(len(os.listdir('/proc/self/task')))")
    assert threads == ["1"]


def test_small_requests_start_no_thread():
    threads = printed(
        """
        import os, oarlock
        aead = oarlock.AESGCM(bytes(32))
        for _ in range(10_000):
            aead.encrypt(bytes(12), bytes(64))
        print(len(os.listdir("/proc/self/task")))
        """
    )
    assert threads == ["1"]


WORK = """
import asyncio, os, sys, threading
import oarlock
from oarlock import aio
aead, key = oarlock.AESGCM(bytes(32)), oarlock.PrivateKey.generate("P-256")
def work():
    data = bytes(3_000_000)
    assert aead.decrypt(bytes(12), aead.encrypt(bytes(12), data)) == data
    sealed = oarlock.seal_many(aead, [bytes(64)] * 20_000)
    assert oarlock.open_many(aead, sealed.values, nonces=sealed.nonces).values[-1] == bytes(64)
    async def main():
        return await asyncio.gather(*(aio.sign(key, b"message") for _ in range(50)))
    for signature in asyncio.run(main()):
        key.public_key().verify(signature, b"message")
"""


def test_fork():
    done = run(
        WORK
        + """
work()
for _ in range(5):
    child = os.fork()
    if child == 0:
        work()
        os._exit(7)
    work()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    )
    assert done.returncode == 0, done.stderr


def test_fork_within_a_loop_with_jobs():
    done = run(
        WORK
        + """
async def main():
    jobs = [asyncio.ensure_future(aio.sign(key, b"message")) for _ in range(200)]
    await asyncio.sleep(0)
    child = os.fork()
    if child == 0:
        # The loop is the parent's; the child has one of its own.
        asyncio.events._set_running_loop(None)
        work()
        os._exit(7)
    for job in jobs:
        key.public_key().verify(await job, b"message")
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert asyncio.run(main()) == 7
"""
    )
    assert done.returncode == 0, done.stderr


FILE = """
import os, subprocess, sys, tempfile
import oarlock
from oarlock.command import find_command
folder = tempfile.TemporaryDirectory()
path, key, plain = os.path.join(folder.name, "x.age"), os.path.join(folder.name, "key"), os.urandom(1 << 20) * 24
made = subprocess.run((find_command(), "keygen", "-o", key), check=True, capture_output=True, text=True)
with oarlock.open(path, "wb", recipients=[word for word in made.stderr.split() if word.startswith("age1")]) as file:
    file.write(plain)
file = oarlock.open(path, identity=key)
def read_on(count):
    place = file.tell()
    for _ in range(count):
        assert file.read(1 << 20) == plain[place:][: 1 << 20]
        place += 1 << 20
"""


def test_fork_while_threads_read_ahead():
    done = run(
        FILE
        + """
read_on(4)
for _ in range(5):
    read_on(2)
    child = os.fork()
    if child == 0:
        read_on(6)
        file.seek(1000)
        read_on(4)
        file.close()
        os._exit(7)
    read_on(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("end", ("", "sys.exit(0)", "file.close()", "del file"))
def test_exit_while_threads_read_ahead(end):
    done = run(FILE + f"read_on(3)\n{end}\n")
    assert done.returncode == 0, done.stderr
    assert "panicked" not in done.stderr


@pytest.mark.parametrize(
    "make, call, data, reason",
    (
        ("oarlock.CTR(bytes(32), bytes(16))", "update", "bytes(64 << 20)", "during the fork"),
        ("oarlock.HMAC(b'key')", "update", "bytes(64 << 20)", "during the fork"),
        # In a child, a writer is refused in use or not.
        (
            "oarlock._oarlock.AgeWriter(os.open('/dev/null', os.O_WRONLY), [], 'x')",
            "write",
            "bytes(64 << 20)",
            "begun before a fork",
        ),
        ("packet.SrtpInbound('AEAD_AES_128_GCM', bytes(28))", "unprotect", "[bytes(1000)] * 20_000", "during the fork"),
    ),
)
def test_fork_while_another_thread_uses_an_object(make, call, data, reason):
    """Nobody in the child lets go of it: an error, not a deadlock."""
    code = f"""
    import os, signal, threading
    import oarlock
    from oarlock import packet
    used, data, stop = {make}, {data}, threading.Event()
    def use():
        while not stop.is_set():
            used.{call}(data)
    thread = threading.Thread(target=use)
    thread.start()
    codes = set()
    for _ in range(300):
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                used.{call}(data[:1])
                os._exit(3)
            except oarlock.Error as error:
                os._exit(4 if "{reason}" in str(error) else 5)
            finally:
                os._exit(6)
        codes.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        if 4 in codes:
            break
    stop.set()
    thread.join()
    print(codes)
    used.{call}(data[:1])
    assert codes <= {{3, 4}} and 4 in codes
    """
    done = run(code)
    assert done.returncode == 0, (done.stdout, done.stderr)


def test_a_child_with_the_process_id_of_its_parent(tmp_path):
    """Both are the first process of a namespace, as in a container that makes one for a child."""
    code = f"""
    import ctypes, os
    import oarlock
    from oarlock import packet
    sender = packet.EspOutbound(1, "aes-128-gcm", bytes(20))
    file = oarlock.open({str(tmp_path / "x.age")!r}, "wb", passphrase="x")
    file.write(b"plaintext")
    parent = os.getpid()
    can = os.environ.get("NAMESPACES") == "1"
    assert not can or (parent == 1 and ctypes.CDLL(None).unshare(0x20000000) == 0)
    child = os.fork()
    if child == 0:
        assert not can or os.getpid() == parent
        try:
            sender.seal([b"of the child"])
            os._exit(3)
        except packet.PacketError:
            file.raw.discard()
            os._exit(4)
        finally:
            os._exit(5)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4
    sender.seal([b"of the parent"])
    file.close()
    """
    unshare = ("unshare", *(() if os.geteuid() == 0 else ("--user", "--map-root-user")), "--pid", "--fork")
    can = subprocess.run((*unshare, "true"), capture_output=True).returncode == 0
    command = (*(unshare if can else ()), sys.executable, "-c", textwrap.dedent(code))
    environment = os.environ | {"NAMESPACES": str(int(can))}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    with oarlock.open(tmp_path / "x.age", passphrase="x") as file:
        assert file.read() == b"plaintext"


@pytest.mark.parametrize(
    "call",
    (
        "packet.EspOutbound(1, 'aes-128-gcm', bytes(20)).seal(forking())",
        "packet.SrtpOutbound('AEAD_AES_128_GCM', bytes(28)).protect(forking(rtp))",
        "packet.TlsOutbound('TLS_AES_128_GCM_SHA256', bytes(32)).seal(forking())",
        "oarlock.seal_many(oarlock.AESGCM(bytes(16)), [b'value'], associated_data=forking())",
        "oarlock.seal_many(oarlock.AESGCM(bytes(16)), forking())",
    ),
)
def test_an_argument_that_forks(call):
    """The child seals nothing: the parent uses the same numbers or nonces."""
    code = f"""
    import os
    import oarlock
    from oarlock import packet
    rtp = bytes((128, 0, 0, 1)) + bytes(20)
    def forking(data=b"value"):
        children.append(os.fork())
        yield data
    children = []
    try:
        {call}
        sealed = True
    except oarlock.Error:
        sealed = False
    if children == [0]:
        os._exit(3 if sealed else 4)
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 4
    assert sealed
    """
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_a_file_that_is_left_while_a_thread_writes(tmp_path):
    """The write waits for a reader, which is a thread of Python's."""
    os.mkfifo(tmp_path / "pipe")
    code = f"""
    import threading, time
    import oarlock
    go = threading.Event()
    def read():
        with open({str(tmp_path / "pipe")!r}, "rb", buffering=0) as file:
            file.read(100)
            go.wait()
            while file.read(1 << 16):
                pass
    reader = threading.Thread(target=read)
    reader.start()
    file = oarlock.open({str(tmp_path / "pipe")!r}, "wb", passphrase="x")
    def write():
        try:
            file.write(bytes(8 << 20))
        except ValueError:
            pass
    writer = threading.Thread(target=write)
    writer.start()
    time.sleep(0.5)
    threading.Timer(0.5, go.set).start()
    try:
        with file:
            raise KeyError
    except KeyError:
        pass
    writer.join()
    reader.join()
    """
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_threads_take_turns_with_an_object():
    """Calls wait for each other: nothing is lost, and none waits forever."""
    mac, data = oarlock.HMAC(b"key"), bytes(100_000)
    threads = [threading.Thread(target=lambda: [mac.update(data) for _ in range(200)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert mac.digest() == oarlock.HMAC(b"key", data * 1600).digest()


def test_exit_with_work_under_way():
    for end in ("", "sys.exit(3)", "os._exit(3)", "raise SystemExit(3)"):
        done = run(
            WORK
            + f"""
for _ in range(3):
    threading.Thread(target=lambda: [work() for _ in range(1000)], daemon=True).start()
async def main():
    for _ in range(200):
        asyncio.ensure_future(aio.sign(key, b"message"))
    await asyncio.sleep(0.2)
asyncio.run(main())
{end}
"""
        )
        assert done.returncode == (3 if end else 0), done.stderr
        assert "panicked" not in done.stderr


def square(number):
    """For `multiprocessing`: seals here what the parent can open."""
    return oarlock.AESGCM(bytes(32)).encrypt(bytes(12), b"%d" % (number * number))


@pytest.mark.parametrize("method", ("fork", "spawn", "forkserver"))
def test_multiprocessing(method):
    oarlock.seal_many(oarlock.AESGCM(bytes(32)), [bytes(64)] * 50_000)
    with multiprocessing.get_context(method).Pool(2) as pool:
        sealed = pool.map(square, range(100))
    opened = [oarlock.AESGCM(bytes(32)).decrypt(bytes(12), one) for one in sealed]
    assert opened == [b"%d" % (number * number) for number in range(100)]


def test_interrupt_of_a_long_call():
    """Ctrl-C ends a column of many gigabytes long before it is done."""
    code = """
    import os, signal, threading
    import oarlock

    class Rows:
        def __len__(self):
            return 1 << 12
        def __iter__(self):
            value = bytes(1 << 20)
            return iter([value] * (1 << 12))

    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    aead = oarlock.AESGCM(bytes(32))
    try:
        while True:
            oarlock.seal_many(aead, Rows())
    except KeyboardInterrupt:
        print("interrupted")
    """
    done = run(code)
    assert done.stdout.split() == ["interrupted"], done.stderr


def test_interrupt_of_a_passphrase(tmp_path):
    """Ctrl-C ends the wait for scrypt with 2^22 rounds, half a minute and 4 GiB."""
    stanza = f"-> scrypt {'A' * 22} 22\n{'A' * 43}"
    header = f"age-encryption.org/v1\n{stanza}\n--- {'A' * 43}\n"
    (tmp_path / "x.age").write_bytes(header.encode() + bytes(16 + 16 + 1))
    code = f"""
    import os, signal, threading
    import oarlock

    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        oarlock.open({str(tmp_path / "x.age")!r}, passphrase="correct horse")
    except KeyboardInterrupt:
        print("interrupted")
    """
    done = run(code)
    assert done.stdout.split() == ["interrupted"], done.stderr


def test_signals_during_calls():
    hits = []
    previous = signal.signal(signal.SIGALRM, lambda *_: hits.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        aead, data = oarlock.AESGCM(bytes(32)), bytes(2_000_000)
        for _ in range(50):
            assert aead.decrypt(bytes(12), aead.encrypt(bytes(12), data)) == data
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert hits


def test_threads_run_during_a_long_call():
    """The GIL is released: another thread goes on while a column is sealed."""
    aead, column = oarlock.AESGCM(bytes(32)), [bytes(1 << 20)] * 200
    counts, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counts[0] += 1
            time.sleep(0.0001)

    thread = threading.Thread(target=count)
    thread.start()
    # Otherwise the interpreter itself changes threads right after the call.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        before = counts[0]
        oarlock.seal_many(aead, column)
        after = counts[0]
    finally:
        sys.setswitchinterval(interval)
        stop.set()
    thread.join()
    assert after > before


def test_no_leak():
    """The heap does not grow with the number of calls, of each kind."""
    code = """
    import asyncio, gc, resource, tempfile
    import jwt, numpy, oarlock, oarlock.pyjwt, pyarrow
    from oarlock import aio, packet
    aead, cipher, key = oarlock.AESGCM(bytes(32)), oarlock.CTR(bytes(32), bytes(16)), oarlock.PrivateKey.generate("Ed25519")
    public, fernet = key.public_key(), oarlock.Fernet(oarlock.Fernet.generate_key())
    sender = packet.EspOutbound(1, "aes-128-gcm", bytes(20))
    receiver = packet.EspInbound(1, "aes-128-gcm", bytes(20))
    buffer = bytearray(116)
    chacha, curve = oarlock.ChaCha20Poly1305(bytes(32)), oarlock.PrivateKey.generate("P-256")
    kem, exchange = oarlock.PrivateKey.generate("ML-KEM-512"), oarlock.PrivateKey.generate("X25519")
    column, table = pyarrow.array([b"x" * 64, None, b"y"]), numpy.zeros((20, 64), numpy.uint8)
    out, folder = bytearray(20 * 80), tempfile.TemporaryDirectory()
    identity = oarlock._oarlock.AgeIdentities.generate()
    oarlock.pyjwt.install()
    async def jobs(count):
        for _ in range(count // 50):
            await asyncio.gather(aio.sign(curve, b"message"), aio.sign(key, b"message"))
            cancelled = aio.sign(curve, b"message")
            cancelled.cancel()
    def calls(count):
        asyncio.run(jobs(count))
        for _ in range(count // 500):
            with oarlock.open(folder.name + "/x.age", "wb", recipients=identity.recipient) as file:
                file.write(bytes(1000))
            try:
                oarlock.open(folder.name + "/x.age", passphrase="wrong")
            except oarlock.FileError:
                pass
        for _ in range(count):
            sealed = aead.encrypt(bytes(12), bytes(100), b"header")
            aead.decrypt(bytes(12), memoryview(sealed), bytearray(b"header"))
            aead.encrypt_into(bytes(12), bytes(100), None, buffer)
            for wrong in (b"", "text"):
                try:
                    aead.decrypt(bytes(12), wrong)
                except (oarlock.AuthenticationFailed, TypeError):
                    pass
            cipher.update(bytes(100))
            oarlock.HMAC(b"key", b"message").digest()
            oarlock.CBC(bytes(16)).encrypt(bytes(16), bytes(30))
            oarlock.AESGCM(bytes(16))
            receiver.open(sender.seal([bytes(100), b""]) + [b"short"])
        for _ in range(count // 50):
            public.verify(key.sign(b"message"), b"message")
            result = oarlock.seal_many(aead, [bytes(64), None, b"x"] * 20)
            oarlock.open_many(aead, result.values, nonces=result.nonces).values.to_pylist()
            result.values.__arrow_c_array__(); result.values.__arrow_c_stream__()
            oarlock.PrivateKey.from_bytes(key.to_pem())
            oarlock.seal_many(chacha, column, associated_data=column)
            oarlock.seal_many(aead, table, out=out)
            try:
                oarlock.seal_many(aead, column, nonces=[bytes(12)] * 3)
            except ValueError:
                pass
            chacha.decrypt(bytes(12), chacha.encrypt(bytes(12), b"message"))
            curve.public_key().verify(curve.sign(b"message"), b"message")
            secret, ciphertext = kem.public_key().encapsulate()
            kem.decapsulate(ciphertext)
            exchange.exchange(exchange.public_key())
            hash(public), public == curve.public_key()
            jwt.decode(jwt.encode({}, curve, "ES256"), curve.public_key(), algorithms=["ES256"])
            fernet.decrypt(fernet.encrypt(b"data"))
    def resident():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    calls(20_000)
    before = resident()
    calls(CALLS)
    print(resident() - before)
    """
    # The long form of the test has a million.
    calls = os.environ.get("OARLOCK_TEST_PYTHON_CALLS", "60000")
    (grown,) = printed(code.replace("CALLS", calls), timeout=3600)
    assert int(grown) < 2 << 20


def test_subinterpreters_are_refused_or_work():
    """A second interpreter in the process gets the module or a clean ImportError."""
    code = """
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        import _interpreters as interpreters
    import oarlock
    one = interpreters.create()
    source = (
        "try:\\n"
        "    import oarlock\\n"
        "    assert len(oarlock.AESGCM(bytes(16)).encrypt(bytes(12), bytes())) == 16\\n"
        "except ImportError:\\n"
        "    pass\\n"
    )
    result = interpreters.run_string(one, source)
    assert result is None, result
    interpreters.destroy(one)
    print("done")
    """
    assert printed(code) == ["done"]


def test_environment_and_command():
    environment = oarlock.environment()
    done = subprocess.run(
        ("/usr/bin/openssl", "list", "-providers"), env=environment, capture_output=True, text=True, check=True
    )
    assert "oarlock" in done.stdout
    report = oarlock.doctor()
    assert report.report["verdict"]["summary"] in str(report)
    assert "<table>" in report._repr_html_()
    report = oarlock.doctor("/usr/bin/openssl", "version")
    assert "openssl" in str(report)


def test_environments_that_cannot_be_made(tmp_path, monkeypatch):
    """A caller learns that programs would not use the provider."""
    with pytest.raises(oarlock.Error, match="no such program"):
        oarlock.doctor("/no/such/program")
    with pytest.raises(ValueError, match="--no-such"):
        oarlock.environment("--no-such")
    assert oarlock.environment("--post-quantum")["OPENSSL_CONF"] != oarlock.environment()["OPENSSL_CONF"]
    with monkeypatch.context() as patch:
        patch.setattr(os.path, "exists", lambda path: False)
        with pytest.raises(oarlock.Error, match="OARLOCK_CONFIGURATIONS"):
            oarlock.environment()
    (tmp_path / "broken.cnf").write_text("openssl_conf = a\n[a\n")
    monkeypatch.setenv("OPENSSL_CONF", str(tmp_path / "broken.cnf"))
    with pytest.raises(oarlock.Error, match="nothing is accelerated: the OpenSSL configuration is broken"):
        oarlock.environment()


def test_pkcs11_module(tmp_path):
    """A program that knows tokens signs by the module that comes with the package."""
    module = oarlock.pkcs11_module()
    assert module == os.path.join(sys.prefix, "lib", "oarlock", "liboarlock_pkcs11.so")
    keys, letter, signature = (tmp_path / name for name in ("keys", "letter", "signature"))
    keys.mkdir()
    (keys / "rsa.pem").write_bytes(oarlock.PrivateKey.generate("RSA").to_pem())
    letter.write_bytes(os.urandom(3000))
    configuration = tmp_path / "pkcs11.toml"
    configuration.write_text(f'[[token]]\nlabel = "files"\nkeys = "{keys}"\n')
    environment = {**os.environ, "OARLOCK_PKCS11_CONFIG": str(configuration)}

    def tool(*arguments):
        command = ("pkcs11-tool", "--module", module, *arguments)
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    assert "label:      rsa" in tool("--list-objects")
    tool("--sign", "--mechanism", "SHA256-RSA-PKCS", "--label", "rsa", "--input-file", letter, "--output-file", signature)
    key = oarlock.PrivateKey.from_bytes((keys / "rsa.pem").read_bytes())
    key.public_key().verify(signature.read_bytes(), letter.read_bytes(), scheme="rsa-pkcs1-sha256")


def test_the_module_is_not_found(monkeypatch, tmp_path):
    from oarlock import command

    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(command, "find_command", lambda: str(tmp_path / "bin" / "oarlock"))
    with pytest.raises(FileNotFoundError, match=r"lib/oarlock/liboarlock_pkcs11\.so"):
        oarlock.pkcs11_module()


def test_the_command_is_not_found(monkeypatch):
    from oarlock import command

    monkeypatch.setattr(command.os.path, "isfile", lambda path: False)
    with pytest.raises(FileNotFoundError, match="command oarlock"):
        command.find_command()


def test_descriptors_do_not_leak(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        with pytest.raises(ValueError):
            oarlock.open(tmp_path / "x.age", "wb", recipients="nobody")
        (tmp_path / "y.age").write_bytes(b"no age file")
        with pytest.raises(oarlock.FileError):
            oarlock.open(tmp_path / "y.age", passphrase="x")
    assert len(os.listdir("/proc/self/fd")) == before
