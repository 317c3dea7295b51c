"""What a mistake is told: what was wrong, where, and what to do."""

import asyncio
import subprocess

import numpy
import pandas
import pyarrow
import pytest

import oarlock
from oarlock import aio
from oarlock.command import find_command

AEAD = oarlock.AESGCM(bytes(32))
KEY = oarlock.PrivateKey.generate("P-256")


async def awaited(call, *arguments):
    return await call(*arguments)


@pytest.mark.parametrize(
    ("call", "text"),
    (
        (lambda: oarlock.AESGCM(bytes(10)), "key has 10 bytes, but AES needs 16, 24 or 32"),
        (lambda: oarlock.AESGCM("secret"), "key must be a bytes-like object, not str"),
        (lambda: AEAD.encrypt(None, b"", None), "nonce must be a bytes-like object, not NoneType"),
        (lambda: AEAD.encrypt(bytes(12), "text", None), "data must be a bytes-like object, not str"),
        (lambda: AEAD.encrypt_into(bytes(12), b"abc", None, bytearray(3)), "buf must be 19 bytes long, not 3"),
        (lambda: oarlock.PrivateKey.generate("secp256k1"), 'must be one of RSA, P-256, .* not "secp256k1"'),
        (lambda: oarlock.PrivateKey.from_bytes(b"key.pem"), "neither PEM nor DER: give the contents of the key's file"),
        (lambda: oarlock.PublicKey.from_bytes(b""), "neither PEM nor DER"),
        (lambda: oarlock.PublicKey.from_bytes(KEY.to_pem()), "expected PUBLIC KEY"),
        (lambda: KEY.sign(b"", "sha256"), '"sha256": those of a key of P-256 are ecdsa-sha256,'),
        (lambda: KEY.sign_digest(b"m"), "a digest of 1 bytes: those of SHA-256 have 32"),
        (
            lambda: oarlock.PrivateKey.generate("RSA").decrypt(bytes(256), "oaep"),
            'unknown encryption scheme "oaep": use rsa-oaep-sha256',
        ),
        (
            lambda: asyncio.run(awaited(aio.sign, KEY.public_key(), b"")),
            "^key must be a PrivateKey or a RemoteKey, not PublicKey",
        ),
        (lambda: oarlock.seal_many(bytes(32), [b""]), "key must be an AESGCM or ChaCha20Poly1305 object, or a column"),
        (lambda: oarlock.seal_many(AEAD, ["text"]), "values, row 0 must be a bytes-like object, not str"),
        (lambda: oarlock.seal_many(AEAD, numpy.arange(5)), "values must be an array of two dimensions of bytes"),
        (lambda: oarlock.seal_many(AEAD, pyarrow.array([1])), "not of Arrow's type Int64"),
        (
            lambda: oarlock.seal_many(AEAD, pyarrow.array(["a"]).dictionary_encode()),
            "not of Arrow's type Dictionary: cast it to Utf8",
        ),
        (lambda: oarlock.seal_many(AEAD, pandas.DataFrame({"a": ["x"]})), "a table is: take one of its columns"),
        (lambda: oarlock.Cryptoserver("localhost", plaintext=True), '"localhost": write host:port'),
        (lambda: oarlock.Cryptoserver("https://localhost:7443", plaintext=True), '7443": write host:port'),
        (lambda: oarlock.Cryptoserver("localhost:7443"), "give ca, certificate and key, or plaintext=True"),
    ),
)
def test_arguments(call, text):
    with pytest.raises((TypeError, ValueError), match=text):
        call()


def test_age_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("mine", "other"):
        made = subprocess.run((find_command(), "keygen", "-o", name), check=True, capture_output=True, text=True)
    recipient = subprocess.run((find_command(), "keygen", "-y", "mine"), check=True, capture_output=True, text=True)
    recipient = recipient.stdout.strip()
    assert made.returncode == 0 and recipient.startswith("age1")
    with oarlock.open("keys.age", "wb", recipients=recipient) as file:
        file.write(bytes(200_000))
    with oarlock.open("words.age", "wb", passphrase="correct horse") as file:
        file.write(b"data")
    sealed = (tmp_path / "keys.age").read_bytes()
    (tmp_path / "cut.age").write_bytes(sealed[:-100])
    (tmp_path / "text").write_text("A poem.\n" * 100)

    def read(name, **how):
        with oarlock.open(name, **how) as file:
            file.read()

    for name, how, error, text in (
        ("keys.age", {}, ValueError, "reading needs an identity or a passphrase"),
        ("keys.age", {"identity": recipient}, ValueError, "identity is a recipient, which only encrypts"),
        ("keys.age", {"passphrase": b"bytes"}, TypeError, "must be str, not bytes"),
        ("keys.age", {"identity": "other"}, oarlock.FileError, "^keys.age: none of the identities can decrypt it"),
        ("keys.age", {"passphrase": "p"}, oarlock.FileError, "^keys.age: it was encrypted for keys.*give an identity"),
        ("words.age", {"identity": "mine"}, oarlock.FileError, "^words.age: it was encrypted with a passphrase"),
        ("words.age", {"passphrase": "wrong"}, oarlock.FileError, "^words.age: it was encrypted with another passphrase"),
        ("cut.age", {"identity": "mine"}, oarlock.FileError, "^cut.age: chunk 3 is not authentic"),
        ("text", {"identity": "mine"}, oarlock.FileError, "^text: not an age file"),
        ("missing.age", {"identity": "mine"}, FileNotFoundError, "'missing.age'"),
    ):
        with pytest.raises(error, match=text):
            read(name, **how)
    for name, how, error, text in (
        ("new.age", {}, ValueError, "recipients or a passphrase are needed to write"),
        ("new.age", {"passphrase": ""}, ValueError, "passphrase is empty"),
        ("new.age", {"recipients": "bob"}, ValueError, "recipient 1 is none: age1"),
        ("nowhere/new.age", {"recipients": recipient}, FileNotFoundError, "/nowhere/new.age'"),
    ):
        with pytest.raises(error, match=text):
            oarlock.open(name, "wb", **how)
