"""Fernet tokens and JSON Web Tokens, exchanged with other implementations."""

import base64
import hashlib
import os
import pickle
import subprocess
import sys

import cryptography.fernet
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed448

import oarlock
import oarlock.pyjwt
from oarlock.fernet import InvalidToken

# https://github.com/fernet/spec, generate.json and verify.json.
SPEC_KEY = b"cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4="
SPEC_TOKEN = b"gAAAAAAdwJ6wAAECAwQFBgcICQoLDA0ODy021cpGVWKZ_eEwCGM4BLLF_5CV9dOPmrhuVUPgJobwOz7JcbmrR64jVmpU4IwqDA=="


def test_fernet_of_the_specification():
    fernet = oarlock.Fernet(SPEC_KEY)
    assert fernet.decrypt_at_time(SPEC_TOKEN, 60, 499162801) == b"hello"
    assert fernet.extract_timestamp(SPEC_TOKEN) == 499162800
    with pytest.raises(InvalidToken, match="older"):
        fernet.decrypt_at_time(SPEC_TOKEN, 60, 499162861)
    with pytest.raises(InvalidToken, match="future"):
        fernet.decrypt_at_time(SPEC_TOKEN, 60, 499162700)


def test_fernet_both_ways(rng):
    key = oarlock.Fernet.generate_key()
    ours, theirs = oarlock.Fernet(key), cryptography.fernet.Fernet(key)
    for length in (0, 1, 15, 16, 1000, 100_000):
        data = rng.randbytes(length)
        assert ours.decrypt(theirs.encrypt(data)) == data
        assert theirs.decrypt(ours.encrypt(data), ttl=60) == data
        assert ours.decrypt(ours.encrypt(data).decode(), ttl=60) == data


def test_fernet_refuses(rng):
    fernet = oarlock.Fernet(oarlock.Fernet.generate_key())
    token = base64.urlsafe_b64decode(fernet.encrypt(b"data"))
    for position in range(len(token)):
        forged = bytearray(token)
        forged[position] ^= 1 << rng.randrange(8)
        with pytest.raises(InvalidToken):
            fernet.decrypt(base64.urlsafe_b64encode(forged))
    for text in (b"", b"gAAA", "ä", base64.urlsafe_b64encode(token[:-1]), base64.urlsafe_b64encode(token + b"?")):
        with pytest.raises(InvalidToken):
            fernet.decrypt(text)
    with pytest.raises(TypeError):
        fernet.decrypt(7)
    with pytest.raises(TypeError):
        pickle.dumps(fernet)
    with pytest.raises(ValueError):
        fernet.decrypt_at_time(fernet.encrypt(b"data"), None, 0)
    with pytest.raises(TypeError):
        fernet.decrypt_at_time(fernet.encrypt(b"data"), 60, None)
    for key in (b"", "short", base64.urlsafe_b64encode(bytes(31))):
        with pytest.raises(ValueError, match="32 bytes"):
            oarlock.Fernet(key)


def test_several_fernets(rng):
    keys = [oarlock.Fernet.generate_key() for _ in range(3)]
    ours = oarlock.MultiFernet(oarlock.Fernet(key) for key in keys[:2])
    theirs = cryptography.fernet.MultiFernet([cryptography.fernet.Fernet(key) for key in keys[:2]])
    for key in keys[:2]:
        token = oarlock.Fernet(key).encrypt_at_time(b"data", 1000)
        assert ours.decrypt(token) == theirs.decrypt(token) == b"data"
        assert ours.decrypt_at_time(token, 60, 1060) == theirs.decrypt_at_time(token, 60, 1060) == b"data"
        assert ours.extract_timestamp(token) == theirs.extract_timestamp(token) == 1000
        rotated = ours.rotate(token)
        assert oarlock.Fernet(keys[0]).decrypt(rotated) == b"data" and ours.extract_timestamp(rotated) == 1000
        for several in (ours, theirs):
            with pytest.raises(cryptography.fernet.InvalidToken):
                several.decrypt_at_time(token, 60, 1061)
    assert oarlock.Fernet(keys[0]).decrypt(ours.encrypt(b"data"), ttl=60) == b"data"
    with pytest.raises(cryptography.fernet.InvalidToken):
        ours.decrypt(oarlock.Fernet(keys[2]).encrypt(b"data"))
    with pytest.raises(InvalidToken) as raised:
        ours.rotate(b"")
    assert type(raised.value).__name__ == "InvalidToken" and isinstance(raised.value, oarlock.Error)
    with pytest.raises(ValueError):
        oarlock.MultiFernet([])
    with pytest.raises(TypeError):
        pickle.dumps(ours)


def test_fernet_without_cryptography():
    code = """
import sys, oarlock
from oarlock.fernet import InvalidToken
assert "cryptography" not in sys.modules
fernet = oarlock.Fernet(oarlock.Fernet.generate_key())
try:
    fernet.decrypt(b"")
except InvalidToken as error:
    assert type(error) is InvalidToken
import cryptography.fernet
for _ in range(2):
    try:
        fernet.decrypt(b"")
    except cryptography.fernet.InvalidToken as error:
        assert isinstance(error, InvalidToken) and isinstance(error, oarlock.Error)
"""
    subprocess.run((sys.executable, "-c", code), check=True)


@pytest.mark.parametrize("name, arguments", oarlock.pyjwt.algorithms().items())
def test_jwt_both_ways(name, arguments):
    key = oarlock.PrivateKey.generate(arguments._key_type)
    theirs = serialization.load_pem_private_key(key.to_pem(), None)
    ours = jwt.PyJWS(algorithms=[])
    ours.register_algorithm(name, arguments)
    for _ in range(5):
        payload = os.urandom(50)
        for sign, own_key in ((ours, key), (ours, key.to_pem()), (jwt.PyJWS(), theirs)):
            token = sign.encode(payload, own_key, algorithm=name)
            assert ours.decode(token, key.public_key().to_pem(), algorithms=[name]) == payload
            assert ours.decode(token, key.public_key(), algorithms=[name]) == payload
            assert jwt.PyJWS().decode(token, theirs.public_key(), algorithms=[name]) == payload
            head, body, signature = token.split(".")
            forged = f"{head}.{body[:-2]}AA.{signature}"
            cut = f"{head}.{body}.{signature[:-4]}"
            for wrong in (forged, cut):
                with pytest.raises(jwt.DecodeError):
                    ours.decode(wrong, key.public_key(), algorithms=[name])


def test_jwt_refuses():
    algorithm = oarlock.pyjwt.algorithms()["ES256"]
    key = oarlock.PrivateKey.generate("P-384")
    for wrong in (key, key.to_pem(), b"-----BEGIN PRIVATE KEY-----", "no key"):
        with pytest.raises(jwt.InvalidKeyError):
            algorithm.prepare_key(wrong)
    with pytest.raises(TypeError):
        algorithm.prepare_key(7)
    with pytest.raises(jwt.InvalidKeyError, match="public key cannot sign"):
        algorithm.sign(b"", oarlock.PrivateKey.generate("P-256").public_key())


def test_jwt_installed():
    """As a program uses it, twice, and with keys of `cryptography`, which PyJWT makes of JSON Web Keys."""
    for _ in range(2):
        oarlock.pyjwt.install()
    key = oarlock.PrivateKey.generate("P-256")
    theirs = serialization.load_pem_private_key(key.to_pem(), None)
    token = jwt.encode({"sub": "alice"}, theirs, algorithm="ES256")
    for public in (key.public_key(), theirs.public_key(), key.public_key().to_pem()):
        assert jwt.decode(token, public, algorithms=["ES256"]) == {"sub": "alice"}
    jwk = jwt.PyJWK.from_json(jwt.algorithms.ECAlgorithm(jwt.algorithms.ECAlgorithm.SHA256).to_jwk(theirs.public_key()))
    assert jwt.decode(token, jwk.key, algorithms=["ES256"]) == {"sub": "alice"}
    assert jwt.encode({}, "secret of at least 32 bytes, or so", algorithm="HS256")
    # The hash of a token, for OpenID Connect.
    for name, hash_name in (("RS256", "sha256"), ("PS384", "sha384"), ("ES512", "sha512")):
        algorithm = jwt.get_algorithm_by_name(name)
        assert algorithm.compute_hash_digest(b"token") == hashlib.new(hash_name, b"token").digest()


def test_jwt_of_ed448():
    """Ed448, which only PyJWT has, works as before."""
    algorithm = oarlock.pyjwt.algorithms()["EdDSA"]
    ours = jwt.PyJWS(algorithms=[])
    ours.register_algorithm("EdDSA", algorithm)
    key = ed448.Ed448PrivateKey.generate()
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    spki = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    again = algorithm.from_jwk(algorithm.to_jwk(key))
    for private in (key, again, key.private_bytes(*plain)):
        token = ours.encode(b"payload", private, algorithm="EdDSA")
        for public in (key.public_key(), key.public_key().public_bytes(*spki)):
            assert ours.decode(token, public, algorithms=["EdDSA"]) == b"payload"
            assert jwt.PyJWS().decode(token, public, algorithms=["EdDSA"]) == b"payload"
    for wrong in (oarlock.PrivateKey.generate("P-256"), "no key", b"-----BEGIN PRIVATE KEY-----"):
        with pytest.raises(jwt.InvalidKeyError):
            algorithm.prepare_key(wrong)


def test_jwt_errors_hold_no_secret():
    secret = oarlock.PrivateKey.generate("Ed25519").to_pem().decode() + "\udcff"
    for algorithm in oarlock.pyjwt.algorithms().values():
        with pytest.raises(jwt.InvalidKeyError) as raised:
            algorithm.prepare_key(secret)
        error = raised.value
        while error is not None:
            assert secret not in f"{error!r}" and not isinstance(error, UnicodeError)
            error = error.__cause__ or error.__context__


@pytest.mark.parametrize("name, algorithm", oarlock.pyjwt.algorithms().items())
def test_json_web_keys(name, algorithm):
    key = oarlock.PrivateKey.generate(algorithm._key_type)
    for one in (key, key.public_key()):
        for as_dict in (False, True):
            again = algorithm.from_jwk(algorithm.to_jwk(one, as_dict=as_dict))
            assert (type(again), again.to_der()) == (type(one), one.to_der())
    for wrong in ("", "{}", "[]", '{"kty": "oct", "k": "AAAA"}', {"kty": []}):
        with pytest.raises(jwt.InvalidKeyError):
            algorithm.from_jwk(wrong)
