"""Keys that a cryptoserver makes, rotates, disables and enables."""

import asyncio
import mmap
import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy
import pyarrow
import pytest
from test_remote import PROGRAM, files, serve

import oarlock
from oarlock import aio
from oarlock.command import find_command

TYPES = {
    "P-256": 256,
    "P-384": 384,
    "P-521": 521,
    "Ed25519": 253,
    "ML-DSA-44": None,
    "ML-DSA-65": None,
    "ML-DSA-87": None,
    "A256GCM": None,
    "HS256": None,
    "HS384": None,
    "HS512": None,
    "age": None,
    "age-pq": None,
}
CONFIGURATION = """
[[key]]
directory = "keys.d"
managed = true

[[client]]
identity = "client"
keys = ["*"]
operations = [
    "create", "rotate", "disable", "enable", "list", "sign", "decrypt", "unwrap", "mac", "verify_mac", "seal", "open",
]

[[client]]
identity = "maker"
keys = ["blind-*"]
operations = ["create", "sign"]

[[client]]
identity = "reader"
keys = ["*"]
operations = ["list", "sign"]

[limits]
key_changes_per_minute = 10000
timeout_ms_max = 120000
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("managed") / "demo"
    subprocess.run((find_command(), "pki", "init", folder, "--key", "web"), check=True, capture_output=True)
    for name in ("maker", "reader"):
        subprocess.run((find_command(), "pki", "client", folder, name), check=True, capture_output=True)
    (folder / "keys.d").mkdir()
    config = folder / "cryptoserver.toml"
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:0", config.read_text())
    # The entry for every client makes way for those above.
    text, replaced = re.subn(r"\[\[client\]\].*?\n\n", "", text, flags=re.DOTALL)
    assert replaced == 1
    config.write_text(text + CONFIGURATION)
    return folder


@pytest.fixture(scope="module")
def server(place, address):
    return oarlock.Cryptoserver(address, **files(place))


def entry(server, name):
    return next(key for key in server.list_keys() if key.id == name)


def refused(code, call, *arguments, match=None, **named):
    """Checks that a call raises ServerError with a code."""
    with pytest.raises(oarlock.ServerError, match=match) as caught:
        call(*arguments, **named)
    assert caught.value.code == code, caught.value


@pytest.mark.parametrize("key_type", TYPES)
def test_types(server, key_type):
    name = f"type-{key_type}"
    made = server.create_key(name, key_type)
    assert (made.id, made.key_type, made.bits, made.version) == (name, key_type, TYPES[key_type], 1)
    assert not made.disabled
    assert {"rotate", "disable", "enable"} < set(made.operations)
    assert repr(made) == f"<oarlock.KeyEntry '{name}' of {key_type}, version 1>"
    listed = entry(server, name)
    assert (listed.key_type, listed.version, listed.recipient) == (made.key_type, 1, made.recipient)
    is_age, is_secret = key_type.startswith("age"), key_type[:2] in ("A2", "HS")
    assert (made.recipient is not None) == is_age
    assert (made.public_key() is None) == (is_age or is_secret)
    assert ("sign" in made.operations) == (not is_age and not is_secret)
    rotated = server.rotate_key(name)
    assert (rotated.version, rotated.key_type) == (2, key_type)
    assert rotated.recipient != made.recipient or not is_age


def test_rsa(server):
    assert server.create_key("rsa", "rsa").bits == 2048
    made = server.create_key("rsa-3072", "RSA", 3072)
    assert (made.key_type, made.bits) == ("RSA", 3072)
    key = server.key("rsa-3072")
    assert key.decrypt(made.public_key().encrypt(b"secret")) == b"secret"
    made.public_key().verify(key.sign(b"message"), b"message")


def test_a_key_is_made_rotated_disabled_and_enabled(server):
    made = server.create_key("shop", "P-256", timeout=60)
    first = server.key("shop")
    made.public_key().verify(first.sign(b"message"), b"message")
    rotated = server.rotate_key("shop", made.version)
    assert rotated.version == 2
    # The old object has the old public half, and the server signs by the new one.
    with pytest.raises(oarlock.ServerError, match="the public half of key"):
        first.sign(b"message")
    second = server.key("shop")
    rotated.public_key().verify(second.sign(b"message"), b"message")
    with pytest.raises(oarlock.InvalidSignature):
        made.public_key().verify(second.sign(b"message"), b"message")

    for _ in range(2):
        off = server.disable_key("shop")
        assert off.disabled and off.version == 2 and entry(server, "shop").disabled
        assert repr(off) == "<oarlock.KeyEntry 'shop' of P-256, version 2, disabled>"
        refused("FAILED_PRECONDITION", second.sign, b"message", match="disabled")
    for _ in range(2):
        assert not server.enable_key("shop").disabled
        rotated.public_key().verify(second.sign(b"message"), b"message")


def test_older_versions_of_an_rsa_key_decrypt(server):
    made = server.create_key("mail", "RSA")
    before = server.key("mail")
    first = made.public_key().encrypt(b"first")
    rotated = server.rotate_key("mail")
    second = rotated.public_key().encrypt(b"second")
    old, new = server.key("mail", version=1), server.key("mail")
    assert (before.version, old.version, new.version) == (1, 1, 2)
    assert before.decrypt(first) == old.decrypt(first) == b"first"
    assert new.decrypt(second) == server.key("mail", version=2).decrypt(second) == b"second"
    assert server.key("mail", rotated.public_key(), version=1).operations is None
    assert server.key("mail", made.public_key(), version=1).decrypt(first) == b"first"
    for key, ciphertext in ((old, second), (new, first)):
        with pytest.raises(oarlock.DecryptionFailed):
            key.decrypt(ciphertext)
    assert asyncio.run(awaited(aio.decrypt, old, first)) == b"first"
    # Its public half verifies what it signed. It signs no more.
    assert old.public_key() == made.public_key() and old.operations == ["decrypt"]
    with pytest.raises(oarlock.ServerError, match="the public half of key"):
        old.sign(b"message")
    listed = entry(server, "mail")
    assert listed.older == {1: made.public_key()} and listed.public_key() == rotated.public_key()
    assert made.older == {}
    for version in (0, 3, -1, 2**40):
        with pytest.raises(ValueError):
            server.key("mail", version=version)
    with pytest.raises(ValueError, match="no versions"):
        server.key("web", version=1)


async def awaited(call, *arguments):
    return await call(*arguments)


def test_an_identity_that_the_server_makes(server, tmp_path):
    """A version that is not the newest still opens what was made for it."""
    plain = os.urandom(1000)
    recipients = [server.create_key("archive", "age").recipient, server.rotate_key("archive").recipient]
    for number, recipient in enumerate(recipients):
        with oarlock.open(tmp_path / f"{number}.age", "wb", recipients=recipient) as file:
            file.write(plain)
    for number in range(2):
        with oarlock.open(tmp_path / f"{number}.age", identity=server.identity("archive")) as file:
            assert file.read() == plain


def test_seal_and_open(server):
    server.create_key("cards", "A256GCM")
    cards = server.secret_key("cards")
    assert cards.id == "cards" and repr(cards) == "<oarlock.RemoteSecretKey 'cards'>"
    sealed = []
    for version in (1, 2):
        for data in (b"", b"4111 1111 1111 1111", bytearray(200_000)):
            for associated_data in (None, b"", memoryview(b"customer 7")):
                made = cards.seal(data, associated_data)
                assert len(made) == len(data) + 44 and int.from_bytes(made[:4], "big") == version
                assert made != cards.seal(data, associated_data)
                sealed.append((data, associated_data, made))
        server.rotate_key("cards")
    # Also what the older versions sealed.
    for data, associated_data, made in sealed:
        assert cards.open(made, associated_data) == data
        for forged in (made[:-1], made[:20], b"", made[:-1] + bytes([made[-1] ^ 1]), b"\0\0\0\x09" + made[4:]):
            with pytest.raises(oarlock.AuthenticationFailed):
                cards.open(forged, associated_data)
        with pytest.raises(oarlock.AuthenticationFailed):
            cards.open(made, b"customer 8")
    with pytest.raises(oarlock.AuthenticationFailed):
        server.create_key("other-cards", "A256GCM")
        server.secret_key("other-cards").open(made, b"customer 7")
    server.disable_key("cards")
    refused("FAILED_PRECONDITION", cards.seal, b"data", match="disabled")
    refused("FAILED_PRECONDITION", cards.open, made, b"customer 7", match="disabled")
    server.enable_key("cards")
    assert cards.open(made, b"customer 7", timeout=30) == bytes(200_000)


@pytest.mark.parametrize("key_type", ("HS256", "HS384", "HS512"))
def test_macs(server, key_type):
    name = f"mac-{key_type}"
    server.create_key(name, key_type)
    key, bytes_of = server.secret_key(name), int(key_type[2:]) // 8
    first, version = key.mac(b"message")
    assert (len(first), version) == (bytes_of, 1)
    key.verify(first, b"message")
    server.rotate_key(name)
    second, version = key.mac(bytearray(b"message"))
    assert version == 2 and second != first
    # 0 is the newest version only, so the number has to be kept.
    for tag, number in ((second, 0), (second, 2), (first, 1)):
        key.verify(tag, b"message", number)
        key.verify(memoryview(tag), b"message", version=number)
    for tag, data, number in (
        (first, b"message", 0),
        (second, b"message", 1),
        (second, b"", 0),
        (b"", b"", 0),
        (first, b"", 9),
    ):
        with pytest.raises(oarlock.InvalidSignature):
            key.verify(tag, data, number)
    assert key.mac(bytes(262_144))[1] == 2


def test_secret_keys_with_wrong_arguments(server, place, address):
    server.create_key("secret", "A256GCM")
    server.create_key("tags", "HS256")
    secret, tags = server.secret_key("secret"), server.secret_key("tags")
    huge = mmap.mmap(-1, 1 << 46, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
    for call in (
        # Keys of another kind.
        lambda: tags.seal(b"data"),
        lambda: tags.open(bytes(50)),
        lambda: secret.mac(b"data"),
        lambda: secret.verify(bytes(32), b"data"),
        lambda: server.secret_key("web").seal(b"data"),
        # Too long, alone or together.
        lambda: secret.seal(huge),
        lambda: secret.seal(b"", huge),
        lambda: secret.seal(bytes(262_145)),
        lambda: secret.seal(bytes(200_000), bytes(62_145)),
        lambda: secret.open(huge),
        lambda: tags.mac(huge),
        lambda: tags.verify(huge, b""),
        lambda: tags.verify(b"", huge),
        lambda: tags.verify(bytes(32), b"data", -1),
        lambda: tags.verify(bytes(32), b"data", 2**32),
        lambda: secret.seal(b"data", timeout=0),
        lambda: secret.seal(b"data", timeout=float("nan")),
    ):
        with pytest.raises(ValueError):
            call()
    assert secret.open(secret.seal(bytes(262_144))) == bytes(262_144)
    for call in (lambda: secret.seal("text"), lambda: secret.seal(b"", "text"), lambda: tags.mac(None), lambda: secret.seal()):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(ValueError, match=r'no key "secret" .*secret_key'):
        server.key("secret")
    refused("NOT_FOUND", server.secret_key("missing").seal, b"data")
    reader = oarlock.Cryptoserver(address, **files(place, "reader"))
    for call in (reader.secret_key("secret").seal, reader.secret_key("tags").mac):
        refused("PERMISSION_DENIED", call, b"data")


def test_columns_of_a_secret_key(server, rng):
    server.create_key("column", "A256GCM")
    key = server.secret_key("column")
    values = [rng.choice((None, b"", rng.randbytes(rng.choice((1, 64, 1000))))) for _ in range(3000)]
    values[7] = bytes(262_145)
    headers = [b"%d" % row for row in range(len(values))]
    for column, associated_data in (
        (values, b"people.name"),
        (pyarrow.array(values, pyarrow.binary()), headers),
        (pyarrow.chunked_array([values[:1000], values[1000:]], pyarrow.large_binary()), None),
    ):
        sealed = oarlock.seal_many(key, column, associated_data=associated_data)
        assert sealed.nonces is None and list(sealed.errors) == [7] and isinstance(sealed.errors[7], ValueError)
        expected = [None if row == 7 else value for row, value in enumerate(values)]
        opened = oarlock.open_many(key, sealed.values, associated_data=associated_data)
        assert opened.values.to_pylist() == expected and opened.errors == {}
        header = headers[8] if associated_data is headers else associated_data
        row = next(row for row, value in enumerate(values) if value and row > 7)
        header = headers[row] if associated_data is headers else associated_data
        assert key.open(sealed.values[row], header) == values[row]
    forged = sealed.values.to_pylist()
    forged[row] = forged[row][:-1] + bytes([forged[row][-1] ^ 1])
    forged[0] = b"short"
    opened = oarlock.open_many(key, forged)
    assert sorted(opened.errors) == [0, row]
    assert all(isinstance(error, oarlock.AuthenticationFailed) for error in opened.errors.values())
    assert opened.values[0] is None and opened.values[row] is None and opened.values.null_count == expected[1:].count(None) + 2
    # Of a fixed width, also without rows.
    for rows in (10, 0):
        sealed = oarlock.seal_many(key, numpy.zeros((rows, 64), numpy.uint8))
        assert pyarrow.array(sealed.values).type == pyarrow.binary(108)
        opened = oarlock.open_many(key, sealed.values)
        assert opened.values.to_pylist() == [bytes(64)] * rows and pyarrow.array(opened.values).type == pyarrow.binary(64)
    # Several blocks.
    sealed = oarlock.seal_many(key, [b"x"] * 40_000)
    assert oarlock.open_many(key, sealed.values).values.to_pylist() == [b"x"] * 40_000
    for arguments in (dict(nonces=[bytes(12)]), dict(algorithm="AESGCM"), dict(out=bytearray(45))):
        for call in (oarlock.seal_many, oarlock.open_many):
            with pytest.raises(ValueError, match=next(iter(arguments))):
                call(key, [b"x"], **arguments)
    with pytest.raises(ValueError, match="associated_data has 2 rows"):
        oarlock.seal_many(key, [b"x"], associated_data=[b"a", b"b"])
    server.create_key("column-tags", "HS256")
    with pytest.raises(ValueError):
        oarlock.seal_many(server.secret_key("column-tags"), [b"x"])
    server.disable_key("column")
    refused("FAILED_PRECONDITION", oarlock.seal_many, key, [b"x"])
    with pytest.raises(TypeError, match="nonces"):
        oarlock.open_many(oarlock.AESGCM(bytes(16)), [bytes(17)])


def test_a_column_of_a_secret_key_is_interrupted(server):
    server.create_key("interrupted", "A256GCM")
    key, values = server.secret_key("interrupted"), [bytes(100_000)] * 2000

    def handler(*_):
        raise InterruptedError

    previous = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(InterruptedError):
            oarlock.seal_many(key, values)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert key.open(key.seal(b"data")) == b"data"


def test_awaitables_of_secret_keys(server):
    server.create_key("later-cards", "A256GCM")
    server.create_key("later-tags", "HS256")
    cards, tags = server.secret_key("later-cards"), server.secret_key("later-tags")

    async def main():
        sealed = await asyncio.gather(*(aio.seal(cards, b"%d" % number, b"aad") for number in range(50)))
        cancelled = aio.seal(cards, b"data")
        cancelled.cancel()
        opened = await asyncio.gather(*(aio.open(cards, one, b"aad", timeout=30) for one in sealed))
        assert opened == [b"%d" % number for number in range(50)]
        tag, version = await aio.mac(tags, b"message")
        assert version == 1 and await aio.verify(tags, tag, b"message") is None
        await aio.verify(tags, tag, b"message", version)
        for call, expected in (
            (aio.open(cards, sealed[0]), oarlock.AuthenticationFailed),
            (aio.verify(tags, tag, b"other"), oarlock.InvalidSignature),
            (aio.seal(tags, b"data"), ValueError),
            (aio.seal(cards, bytes(262_145)), ValueError),
            (aio.seal(cards, b"data", timeout=0), ValueError),
            (aio.seal(cards, "text"), TypeError),
            (aio.seal(server.secret_key("missing"), b"data"), oarlock.ServerError),
        ):
            with pytest.raises(expected):
                await call

    asyncio.run(main())


def test_secret_keys_after_a_fork(server, place, address):
    server.create_key("forked", "A256GCM")
    code = """
    key = server.secret_key("forked")
    sealed = key.seal(b"data")
    child = os.fork()
    assert key.open(sealed) == b"data"
    if child == 0:
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    """
    # The program's own key is one of the other module's.
    program = PROGRAM.replace('server.key("curve")', 'server.key("web")') + textwrap.dedent(code)
    command = (sys.executable, "-c", program, address, str(place))
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "panicked" not in done.stderr, done.stderr


def test_a_name_that_exists(server):
    made = server.create_key("taken", "Ed25519")
    for key_type in ("Ed25519", "P-256", "A256GCM"):
        refused("ALREADY_EXISTS", server.create_key, "taken", key_type, match="taken")
    refused("ALREADY_EXISTS", server.create_key, "web", "P-256", match="web")
    kept = entry(server, "taken")
    assert (kept.key_type, kept.version) == ("Ed25519", 1)
    assert kept.public_key().to_der() == made.public_key().to_der()
    server.disable_key("taken")
    refused("ALREADY_EXISTS", server.create_key, "taken", "Ed25519")


def test_a_version_that_does_not_exist(server):
    server.create_key("versions", "A256GCM")
    for version in (2, 64, 2**32 - 1):
        refused("FAILED_PRECONDITION", server.rotate_key, "versions", version, match="version 1")
    assert server.rotate_key("versions", 1).version == 2
    # Repeated, it does nothing.
    refused("FAILED_PRECONDITION", server.rotate_key, "versions", version=1, match="version 2")
    assert entry(server, "versions").version == 2
    for version in (0, -1, 2**32, 2**100):
        with pytest.raises(ValueError):
            server.rotate_key("versions", version)
    with pytest.raises(TypeError):
        server.rotate_key("versions", "1")
    assert entry(server, "versions").version == 2


def test_keys_that_a_call_cannot_change(server):
    for call in (server.rotate_key, server.disable_key, server.enable_key):
        refused("NOT_FOUND", call, "missing", match="missing")
    # A file that the operator wrote, in another directory.
    assert entry(server, "web").version is None
    for call in (server.rotate_key, server.disable_key, server.enable_key):
        refused("FAILED_PRECONDITION", call, "web", match="web")
    refused("FAILED_PRECONDITION", server.rotate_key, "web", 1)
    assert not entry(server, "web").disabled


def test_wrong_arguments(server):
    with pytest.raises(ValueError, match=r"key_type must be one of RSA, P-256, .*age-pq, not 'X25519'|\"X25519\""):
        server.create_key("wrong", "X25519")
    for key_type, bits in (("RSA", 1024), ("RSA", 0), ("RSA", -1), ("RSA", 2**70), ("P-256", 256), ("age", 0)):
        with pytest.raises(ValueError):
            server.create_key("wrong", key_type, bits)
    for name in ("", ".", "../wrong", "a/b", "-wrong", "w..rong", "wrong\0", "w\n", "ü", "w" * 129, "w" * 100_000):
        with pytest.raises(ValueError):
            server.create_key(name, "P-256")
    for timeout in (0, -1, float("nan"), float("inf"), 1e9):
        for call in (server.disable_key, server.enable_key, server.rotate_key):
            with pytest.raises(ValueError, match="timeout"):
                call("wrong", timeout=timeout)
    for arguments in ((1, "P-256"), ("wrong", None), ("wrong", b"P-256"), ("wrong", "RSA", "2048"), ("wrong",)):
        with pytest.raises(TypeError):
            server.create_key(*arguments)
    with pytest.raises(TypeError):
        pickle.dumps(server.list_keys()[0])
    assert not any(key.id.startswith("w") and key.id != "web" for key in server.list_keys())


def test_clients_without_the_right(server, place, address):
    reader = oarlock.Cryptoserver(address, **files(place, "reader"))
    server.create_key("read", "P-256")
    for name in ("read", "missing"):
        for call in (reader.rotate_key, reader.disable_key, reader.enable_key):
            refused("NOT_FOUND" if call == reader.rotate_key and name == "missing" else "PERMISSION_DENIED", call, name)
        refused("PERMISSION_DENIED", reader.rotate_key, name, 1)
        refused("PERMISSION_DENIED", reader.create_key, name, "P-256")
    assert entry(reader, "read").operations == ["sign"]

    # It may make keys and sign by them, and lists nothing.
    maker = oarlock.Cryptoserver(address, **files(place, "maker"))
    made = maker.create_key("blind-1", "Ed25519")
    key = maker.key("blind-1", made.public_key())
    made.public_key().verify(key.sign(b"message"), b"message")
    refused("PERMISSION_DENIED", maker.list_keys)
    refused("PERMISSION_DENIED", maker.rotate_key, "blind-1")
    refused("PERMISSION_DENIED", maker.create_key, "other", "Ed25519")
    refused("PERMISSION_DENIED", maker.disable_key, "read")
    assert not any(key.id == "other" for key in server.list_keys())


def test_other_errors_have_codes(server, place, address):
    assert oarlock.ServerError.code is None and oarlock.ServerError("message").code is None
    with pytest.raises(oarlock.ServerError) as caught:
        oarlock.Cryptoserver("localhost:1", timeout=0.5, **files(place))
    assert caught.value.code == "UNAVAILABLE"
    public = oarlock.PrivateKey.generate("P-256").public_key()
    refused("NOT_FOUND", server.key("missing", public).sign, b"message")


def test_awaitables(server):
    async def main():
        made = await aio.create_key(server, "later", "RSA", 2048)
        assert (made.bits, made.version) == (2048, 1)
        assert (await aio.rotate_key(server, "later", 1)).version == 2
        assert (await aio.rotate_key(server, "later")).version == 3
        assert (await aio.disable_key(server, "later")).disabled
        keys = {key.id: key for key in await aio.list_keys(server)}
        assert keys["later"].disabled and keys["later"].version == 3
        assert not (await aio.enable_key(server, "later", timeout=30)).disabled
        for wrong in (
            aio.create_key(server, "later", "P-999"),
            aio.create_key(server, "../later", "P-256"),
            aio.rotate_key(server, "later", -1),
            aio.enable_key(server, "later", timeout=0),
        ):
            with pytest.raises(ValueError):
                await wrong
        with pytest.raises(oarlock.ServerError) as caught:
            await aio.create_key(server, "later", "P-256")
        assert caught.value.code == "ALREADY_EXISTS"
        # A client has one change under way. The others are refused, and change nothing.
        many = [aio.create_key(server, f"many-{number}", "P-256") for number in range(20)]
        cancelled = aio.list_keys(server)
        cancelled.cancel()
        made = await asyncio.gather(*many, return_exceptions=True)
        assert {one.code for one in made if not isinstance(one, oarlock.KeyEntry)} <= {"RESOURCE_EXHAUSTED"}
        ids = {one.id for one in made if isinstance(one, oarlock.KeyEntry)}
        assert ids and ids == {key.id for key in await aio.list_keys(server) if key.id.startswith("many-")}

    asyncio.run(main())


def test_other_threads_go_on(server):
    """A call that waits for the server holds no lock of the interpreter's."""
    steps, done = 0, threading.Event()

    def work():
        server.create_key("slow", "RSA", 4096)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.wait(0):
        steps += 1
        time.sleep(0.001)
    thread.join()
    assert steps > 10
    assert entry(server, "slow").bits == 4096


def test_a_server_that_is_gone(place):
    """Nobody knows whether a change was made whose answer was lost, and the error says so."""
    second, address = serve(place, "second log")
    with second:
        server = oarlock.Cryptoserver(address, **files(place))
        server.create_key("lost", "P-256")
        second.kill()
    start = time.monotonic()
    with pytest.raises(oarlock.ServerError) as caught:
        server.disable_key("lost", timeout=0.5)
    assert caught.value.code in ("UNAVAILABLE", "UNKNOWN", "DEADLINE_EXCEEDED")
    assert time.monotonic() - start < 30
