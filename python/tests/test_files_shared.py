"""age files as file objects: work factors of others."""

import base64
import hashlib
import hmac
import os

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

import oarlock
from oarlock._oarlock import AgeHeader


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
