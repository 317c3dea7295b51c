"""AEADs, compared with those of `cryptography`."""

import asyncio
import copy
import mmap
import pickle
import threading

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import aead as reference

import oarlock
from oarlock import aio

CLASSES = ("AESGCM", "ChaCha20Poly1305")
# `mmap` has it from Python 3.13 on.
MAP_NORESERVE = 0x4000
KEY_BYTES = {"AESGCM": (16, 24, 32), "ChaCha20Poly1305": (32,)}
# Around blocks, groups of lanes, the length from which the GIL is released, and the length of stripes.
LENGTHS = (0, 1, 15, 16, 17, 63, 64, 65, 255, 256, 1000, 8191, 8192, 8193, 65536, 300_000, 2_000_001)


@pytest.mark.parametrize("name", CLASSES)
def test_same_as_reference(name, rng):
    for key_bytes in KEY_BYTES[name]:
        key = rng.randbytes(key_bytes)
        ours, theirs = getattr(oarlock, name)(key), getattr(reference, name)(key)
        for length in LENGTHS:
            nonce, data = rng.randbytes(12), rng.randbytes(length)
            aad = rng.choice((None, b"", rng.randbytes(13), rng.randbytes(100)))
            sealed = theirs.encrypt(nonce, data, aad)
            assert ours.encrypt(nonce, data, aad) == sealed
            assert ours.decrypt(nonce, sealed, aad) == data
            for buffer in (bytearray, memoryview):
                assert ours.encrypt(nonce, buffer(data), aad) == sealed


@pytest.mark.parametrize("name", CLASSES)
def test_forgeries(name, rng):
    key, nonce, data = rng.randbytes(32), rng.randbytes(12), rng.randbytes(1000)
    ours, theirs = getattr(oarlock, name)(key), getattr(reference, name)(key)
    sealed = ours.encrypt(nonce, data, b"header")
    for position in rng.sample(range(len(sealed)), 50):
        forged = bytearray(sealed)
        forged[position] ^= 1 << rng.randrange(8)
        with pytest.raises(InvalidTag):
            theirs.decrypt(nonce, bytes(forged), b"header")
        with pytest.raises(oarlock.AuthenticationFailed):
            ours.decrypt(nonce, forged, b"header")
        output = bytearray(b"?" * len(data))
        with pytest.raises(oarlock.AuthenticationFailed):
            ours.decrypt_into(nonce, forged, b"header", output)
        assert output == bytes(len(data))
    for wrong in ((nonce, sealed, b"other"), (bytes(12), sealed, b"header"), (nonce, sealed[:-1], b"header")):
        with pytest.raises(oarlock.AuthenticationFailed):
            ours.decrypt(*wrong)
    for short in range(16):
        with pytest.raises(oarlock.AuthenticationFailed):
            ours.decrypt(nonce, sealed[:short], None)


@pytest.mark.parametrize("length", LENGTHS)
def test_in_place(length, rng):
    aead, nonce, data = oarlock.AESGCM(rng.randbytes(16)), rng.randbytes(12), rng.randbytes(length)
    sealed = aead.encrypt(nonce, data)
    buffer = bytearray(data + bytes(16))
    assert aead.encrypt_into(nonce, memoryview(buffer)[:length], None, buffer) == length + 16
    assert buffer == sealed
    assert aead.decrypt_into(nonce, buffer, None, memoryview(buffer)[:length]) == length
    assert buffer[:length] == data
    forged = bytearray(sealed)
    forged[-1] ^= 1
    before = bytes(forged)
    with pytest.raises(oarlock.AuthenticationFailed):
        aead.decrypt_into(nonce, forged, None, memoryview(forged)[:length])
    assert forged == before


def test_wrong_arguments():
    aead = oarlock.AESGCM(bytes(16))
    for key in (b"", bytes(15), bytes(33)):
        with pytest.raises(ValueError, match=f"{len(key)} bytes"):
            oarlock.AESGCM(key)
    with pytest.raises(ValueError):
        oarlock.ChaCha20Poly1305(bytes(16))
    with pytest.raises(ValueError):
        aead.encrypt(b"", b"data")
    with pytest.raises(ValueError):
        oarlock.ChaCha20Poly1305(bytes(32)).encrypt(bytes(11), b"data")
    for argument in ("text", 7, None, [1, 2], object()):
        with pytest.raises(TypeError, match="data must be a bytes-like object"):
            aead.encrypt(bytes(12), argument)
        with pytest.raises(TypeError, match="nonce must be"):
            aead.encrypt(argument, b"data")
    with pytest.raises(TypeError, match="associated_data"):
        aead.encrypt(bytes(12), b"data", "text")
    with pytest.raises(BufferError, match="data"):
        aead.encrypt(bytes(12), memoryview(bytes(20))[::2])


def test_wrong_outputs():
    aead, data = oarlock.AESGCM(bytes(16)), bytes(100)
    with pytest.raises(BufferError, match="buf must be a writable buffer, not bytes"):
        aead.encrypt_into(bytes(12), data, None, bytes(116))
    with pytest.raises(BufferError):
        aead.encrypt_into(bytes(12), data, None, memoryview(bytearray(232))[::2])
    for length in (0, 100, 115, 117):
        with pytest.raises(ValueError, match="116 bytes long"):
            aead.encrypt_into(bytes(12), data, None, bytearray(length))
    whole = bytearray(200)
    for start in (1, 16, 99):
        with pytest.raises(ValueError, match="overlap"):
            aead.encrypt_into(bytes(12), memoryview(whole)[start : start + 100], None, memoryview(whole)[:116])
    aead.encrypt_into(bytes(12), memoryview(whole)[:50], None, memoryview(whole)[50:116])


@pytest.mark.parametrize("name", CLASSES)
def test_nonce_and_associated_data_within_the_output(name, rng):
    ours, theirs = (getattr(module, name)(bytes(32)) for module in (oarlock, reference))
    for length in (0, 1, 16, 100, 9000):
        for start in (0, 3, max(0, length - 5)):
            buffer = bytearray(rng.randbytes(length + 40))
            view = memoryview(buffer)
            nonce, aad, data = bytes(view[start : start + 12]), bytes(view[start : start + 20]), bytes(view[:length])
            expected = theirs.encrypt(nonce, data, aad)
            output = view[: length + 16]
            ours.encrypt_into(view[start : start + 12], view[:length], view[start : start + 20], output)
            assert output == expected


def test_nonce_lengths():
    for length in (8, 12, 16, 128):
        sealed = reference.AESGCM(bytes(32)).encrypt(bytes(length), b"data", None)
        assert oarlock.AESGCM(bytes(32)).encrypt(bytes(length), b"data") == sealed
    for length in (0, 1, 7, 129):
        with pytest.raises(ValueError, match=f"{length} bytes"):
            oarlock.AESGCM(bytes(32)).encrypt(bytes(length), b"data")


def test_memory_that_is_not_there():
    """A result that no memory holds is a MemoryError, and not the end of the process."""
    huge = mmap.mmap(-1, 1 << 46, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
    with pytest.raises(MemoryError):
        oarlock.AESGCM(bytes(32)).encrypt(bytes(12), huge)
    with pytest.raises(MemoryError):
        oarlock.CTR(bytes(32), bytes(16)).update(huge)
    with pytest.raises(MemoryError):
        oarlock.CBC(bytes(32)).encrypt(bytes(16), huge)
    for count in (1, 1 << 17):
        with pytest.raises(MemoryError):
            oarlock.seal_many(oarlock.AESGCM(bytes(32)), [huge] * count)
    with pytest.raises(MemoryError):
        oarlock.seal_many(oarlock.AESGCM(bytes(32)), [b"x"], nonces=iter([huge]))

    async def jobs():
        rsa, kem = oarlock.PrivateKey.generate("RSA"), oarlock.PrivateKey.generate("ML-KEM-512")
        for submit in (aio.sign, aio.sign_digest, aio.decrypt):
            with pytest.raises(MemoryError):
                await submit(rsa, huge)
        with pytest.raises(MemoryError):
            await aio.decapsulate(kem, huge)

    asyncio.run(jobs())


def test_a_buffer_in_use_is_not_resized():
    """The buffer is exported during the call, so another thread cannot resize it; afterwards it can."""
    buffer = bytearray(256 << 20)
    aead, done, refused = oarlock.AESGCM(bytes(16)), threading.Event(), []

    def seal():
        aead.encrypt(bytes(12), buffer)
        done.set()

    thread = threading.Thread(target=seal)
    thread.start()
    while not done.is_set() and not refused:
        try:
            # As long as the call has not begun, this adds nothing.
            buffer.extend(b"")
            buffer.append(0)
            buffer.pop()
        except BufferError as error:
            refused.append(error)
    thread.join()
    assert refused
    buffer.extend(bytes(1000))


def test_keys_are_not_pickled():
    for aead in (oarlock.AESGCM(bytes(16)), oarlock.ChaCha20Poly1305(bytes(32))):
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="holds a key"):
                attempt(aead)


def test_generate_key():
    assert [len(oarlock.generate_key(bits)) for bits in (128, 192, 256)] == [16, 24, 32]
    assert oarlock.generate_key(256) != oarlock.generate_key(256)
    # As in `cryptography`.
    assert [len(oarlock.AESGCM.generate_key(bit_length=bits)) for bits in (128, 192, 256)] == [16, 24, 32]
    assert len(oarlock.ChaCha20Poly1305.generate_key()) == 32
    assert oarlock.ChaCha20Poly1305.generate_key() != oarlock.ChaCha20Poly1305.generate_key()
    for generate in (oarlock.generate_key, oarlock.AESGCM.generate_key):
        for bits in (0, 100, -1, 2**64, 2**100):
            with pytest.raises(ValueError):
                generate(bits)
