"""The package cryptography over whichever OpenSSL it has: prints what every operation gives, one line each.

Run twice, with the provider and without, the lines must be the same.
"""

import hashlib
import multiprocessing
import sys
import threading

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

LENGTHS = [0, 1, 15, 16, 17, 255, 256, 4096, 65537, 1 << 20]


def noise(label, length):
    return hashlib.shake_128(label.encode()).digest(length)


def say(*words):
    texts = [word if isinstance(word, str) else hashlib.sha256(word).hexdigest() for word in words]
    print(*texts, flush=True)


def refused(what, kind, action):
    try:
        action()
    except kind as error:
        say(what, type(error).__name__)
    else:
        sys.exit(f"{what}: nothing was refused")


def aeads():
    aeads = [(AESGCM, bits) for bits in (128, 192, 256)] + [(ChaCha20Poly1305, 256)]
    for aead, bits in aeads:
        name = f"{aead.__name__}-{bits}"
        sealer = aead(noise("key", bits // 8))
        for number, length in enumerate(LENGTHS):
            nonce, aad, data = noise(f"nonce{number}", 12), noise("aad", number), noise(name, length)
            sealed = sealer.encrypt(nonce, data, aad)
            assert sealer.decrypt(nonce, sealed, aad) == data
            say(name, str(length), sealed)
            wrong = sealed[:-1] + bytes([sealed[-1] ^ 1])
            refused(name, InvalidTag, lambda: sealer.decrypt(nonce, wrong, aad))
            refused(name, InvalidTag, lambda: sealer.decrypt(nonce, sealed, b"other"))
            refused(name, InvalidTag, lambda: sealer.decrypt(noise("other", 12), sealed, aad))
            assert sealer.decrypt(nonce, sealed, aad) == data


def pieces(context, data, step):
    parts = [context.update(data[at : at + step]) for at in range(0, len(data), step)]
    return b"".join(parts) + context.finalize()


def ciphers():
    iv = noise("iv", 16)
    for bits in (128, 192, 256):
        aes = algorithms.AES(noise("key", bits // 8))
        for length in LENGTHS:
            data = noise("data", length)
            for step in (7, 4096, 1 << 20) if length < 1 << 17 else (100_000, 1 << 22):
                ctr = Cipher(aes, modes.CTR(iv))
                sealed = pieces(ctr.encryptor(), data, step)
                assert pieces(ctr.decryptor(), sealed, step) == data
                say("ctr", str(bits), str(length), sealed)

                cbc = Cipher(aes, modes.CBC(iv))
                padder, unpadder = padding.PKCS7(128).padder(), padding.PKCS7(128).unpadder()
                sealed = pieces(cbc.encryptor(), padder.update(data) + padder.finalize(), step)
                opened = pieces(cbc.decryptor(), sealed, step)
                assert unpadder.update(opened) + unpadder.finalize() == data
                say("cbc", str(bits), str(length), sealed)

                encryptor = Cipher(aes, modes.GCM(noise("nonce", 12))).encryptor()
                encryptor.authenticate_additional_data(b"some")
                encryptor.authenticate_additional_data(b"more")
                sealed = pieces(encryptor, data, step)
                mode = modes.GCM(noise("nonce", 12), encryptor.tag)
                decryptor = Cipher(aes, mode).decryptor()
                decryptor.authenticate_additional_data(b"somemore")
                assert pieces(decryptor, sealed, step) == data
                say("gcm", str(bits), str(length), sealed, encryptor.tag)

        refused("cbc, part of a block", ValueError, lambda: pieces(Cipher(aes, modes.CBC(iv)).encryptor(), b"x" * 17, 17))
        refused("cbc, part of a block", ValueError, lambda: pieces(Cipher(aes, modes.CBC(iv)).decryptor(), b"x" * 15, 15))
        mode = modes.GCM(noise("nonce", 12), b"wrong" + b"x" * 11)
        refused("gcm, wrong tag", InvalidTag, lambda: pieces(Cipher(aes, mode).decryptor(), b"x" * 17, 17))
        refused("gcm, no tag", ValueError, lambda: pieces(Cipher(aes, modes.GCM(iv[:12])).decryptor(), b"x" * 17, 17))
        # A nonce of another length, and a tag that was cut.
        encryptor = Cipher(aes, modes.GCM(noise("nonce", 40))).encryptor()
        sealed = pieces(encryptor, b"some text", 100)
        mode = modes.GCM(noise("nonce", 40), encryptor.tag[:12], min_tag_length=12)
        assert pieces(Cipher(aes, mode).decryptor(), sealed, 100) == b"some text"
        say("gcm, other lengths", sealed, encryptor.tag)
    chacha20 = Cipher(algorithms.ChaCha20(noise("key", 32), iv), mode=None)
    sealed = pieces(chacha20.encryptor(), noise("data", 1 << 20), 1000)
    assert pieces(chacha20.decryptor(), sealed, 77777) == noise("data", 1 << 20)
    say("chacha20", sealed)


def one(number):
    key = noise("key", 32)
    encryptor = Cipher(algorithms.AES(key), modes.CTR(noise("iv", 16))).encryptor()
    stream = encryptor.update(noise(str(number), 1 << 20)) + encryptor.update(b"end")
    sealed = AESGCM(key).encrypt(noise("nonce", 12), noise(str(number), 1 << 20), None)
    return hashlib.sha256(stream + sealed).hexdigest()


def processes():
    expected = [one(number) for number in range(8)]
    say("processes", "".join(expected))
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        with context.Pool(4) as pool:
            assert pool.map(one, range(8)) == expected, method
    found = [None] * 8

    def thread(number):
        found[number] = one(number)

    workers = [threading.Thread(target=thread, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == expected, "threads"


if __name__ == "__main__":
    aeads()
    ciphers()
    processes()
