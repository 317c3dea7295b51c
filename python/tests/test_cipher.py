"""Ciphers without authentication and HMAC, compared with `cryptography` and the standard library."""

import functools
import hashlib
import hmac
import pickle
import threading
import time

import pytest
from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import oarlock


@pytest.mark.parametrize("key_bytes", (16, 24, 32))
def test_ctr(key_bytes, rng):
    key, iv, data = rng.randbytes(key_bytes), rng.randbytes(16), rng.randbytes(700_000)
    expected = Cipher(algorithms.AES(key), modes.CTR(iv)).encryptor().update(data)
    cipher = oarlock.CTR(key, iv)
    assert cipher.update(data) == expected
    assert cipher.tell() == len(data)
    for _ in range(50):
        start = rng.randrange(len(data))
        end = rng.randrange(start, min(len(data), start + rng.choice((40, 4000, 400_000))) + 1)
        cipher.seek(start)
        assert cipher.update(data[start:end]) == expected[start:end]
        assert cipher.tell() == end
    buffer = bytearray(data)
    cipher.seek(0)
    assert cipher.update_into(buffer, buffer) == len(data)
    assert buffer == expected


def test_ctr_by_name():
    cipher = oarlock.CTR(bytes(32), bytes(12), "chacha20")
    expected = Cipher(algorithms.ChaCha20(bytes(32), bytes(16)), None).encryptor().update(bytes(100))
    assert cipher.update(bytes(100)) == expected
    with pytest.raises(ValueError, match="unknown algorithm"):
        oarlock.CTR(bytes(32), bytes(16), "rot13")
    for key, iv in ((bytes(5), bytes(16)), (bytes(16), bytes(12))):
        with pytest.raises(ValueError):
            oarlock.CTR(key, iv)
    for position in (-1, 1 << 64, 1 << 100):
        with pytest.raises(ValueError, match="not a number from 0"):
            cipher.seek(position)
    with pytest.raises(ValueError, match="beyond"):
        cipher.seek(1 << 63)
    with pytest.raises(TypeError):
        cipher.seek("1")
    with pytest.raises(TypeError):
        pickle.dumps(cipher)


@pytest.mark.parametrize("key_bytes", (16, 24, 32))
def test_cbc(key_bytes, rng):
    key = rng.randbytes(key_bytes)
    ours = oarlock.CBC(key)
    for length in (0, 1, 15, 16, 17, 4096, 100_000):
        iv, data = rng.randbytes(16), rng.randbytes(length)
        padder = padding.PKCS7(128).padder()
        padded = padder.update(data) + padder.finalize()
        expected = Cipher(algorithms.AES(key), modes.CBC(iv)).encryptor().update(padded)
        assert ours.encrypt(iv, data) == expected
        assert ours.decrypt(iv, expected) == data
        assert ours.decrypt(iv, expected, padding=False) == padded
        assert ours.encrypt(iv, padded, padding=False) == expected
    with pytest.raises(oarlock.DecryptionFailed):
        ours.decrypt(bytes(16), ours.encrypt(bytes(16), bytes(16), padding=False))
    for iv, data in ((bytes(15), bytes(16)), (bytes(16), bytes(17)), (bytes(16), b"")):
        with pytest.raises(ValueError):
            ours.decrypt(iv, data)


@pytest.mark.parametrize("name", ("sha1", "sha224", "sha256", "sha384", "sha512"))
def test_hmac(name, rng):
    for key_bytes in (0, 1, 20, 63, 64, 65, 128, 129, 1000):
        key, message = rng.randbytes(key_bytes), rng.randbytes(rng.choice((0, 1, 64, 3000, 20_000)))
        expected = hmac.new(key, message, name)
        ours = oarlock.HMAC(key, None, name)
        cut = rng.randint(0, len(message))
        ours.update(message[:cut])
        before = ours.copy()
        ours.update(memoryview(message)[cut:])
        assert ours.digest() == ours.digest() == expected.digest()
        assert ours.hexdigest() == expected.hexdigest()
        ours.verify(expected.digest())
        before.update(message[cut:])
        assert before.digest() == expected.digest()
        assert (ours.digest_size, ours.block_size, ours.name) == (
            expected.digest_size,
            expected.block_size,
            expected.name,
        )
        for wrong in (b"", expected.digest()[:-1], bytes(len(expected.digest()))):
            with pytest.raises(oarlock.InvalidSignature):
                ours.verify(wrong)
    for constructor in (getattr(hashlib, name), name.upper(), functools.partial(hashlib.new, name)):
        assert oarlock.HMAC(b"key", b"message", constructor).digest() == hmac.new(b"key", b"message", name).digest()
    for wrong in ("md4", "", hashlib.md5, hashlib.sha3_256):
        with pytest.raises(ValueError, match="digestmod"):
            oarlock.HMAC(b"", None, wrong)
    for wrong in (7, None, hashlib, b"sha256"):
        with pytest.raises(TypeError):
            oarlock.HMAC(b"", None, wrong)


def test_buffers_that_are_not_contiguous_or_read_only():
    cipher = oarlock.CTR(bytes(32), bytes(16))
    cipher.update(bytes(100))
    strided = memoryview(bytearray(200))[::2]
    for data, room in ((bytes(100), strided), (strided, bytearray(100)), (bytes(100), bytes(100)), (bytes(100), "text")):
        with pytest.raises((BufferError, TypeError)):
            cipher.update_into(data, room)
    with pytest.raises(ValueError):
        cipher.update_into(bytes(100), bytearray(99))
    # Nothing of the keystream was used.
    assert cipher.tell() == 100
    key, mac = oarlock.PrivateKey.generate("Ed25519"), oarlock.HMAC(b"key", b"message")
    for call in (
        lambda: mac.update(strided),
        lambda: mac.verify(strided),
        lambda: oarlock.HMAC(strided),
        lambda: oarlock.HMAC(b"key", strided),
        lambda: oarlock.CBC(bytes(16)).encrypt(bytes(16), strided),
        lambda: oarlock.CBC(bytes(16)).decrypt(memoryview(bytes(32))[::2], bytes(16)),
        lambda: key.sign(strided),
        lambda: key.public_key().verify(strided, b""),
        lambda: oarlock.PrivateKey.from_bytes(strided),
    ):
        with pytest.raises(BufferError, match="contiguous"):
            call()
    mac.verify(hmac.digest(b"key", b"message", "sha256"))


def test_other_threads_run_while_a_call_waits_for_the_object():
    """What asks an object that another thread uses waits without the interpreter's lock."""
    mac, cipher = oarlock.HMAC(b"key"), oarlock.CTR(bytes(32), bytes(16))
    data, room = bytes(1 << 28), bytearray(1 << 28)
    for use, ask in (
        (lambda: mac.update(data), mac.digest),
        (lambda: mac.update(data), lambda: mac.digest_size),
        (lambda: mac.update(data), lambda: mac.update(b"short")),
        (lambda: cipher.update_into(room, room), cipher.tell),
    ):
        done, began, longest = threading.Event(), time.monotonic(), 0.0
        user = threading.Thread(target=use)
        user.start()
        time.sleep(0.01)
        asker = threading.Thread(target=lambda ask=ask, done=done: (ask(), done.set()))
        last = time.monotonic()
        asker.start()
        while not done.is_set():
            time.sleep(0.001)
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
        user.join()
        asker.join()
        # With the lock, this thread stands still for as long as the other one computes.
        assert longest < (last - began) / 2
