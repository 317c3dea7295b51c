"""Keys, compared with those of `cryptography`."""

import pickle
import subprocess

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, x25519

import oarlock

SIGNING = ("RSA", "P-256", "P-384", "P-521", "Ed25519", "ML-DSA-44", "ML-DSA-65", "ML-DSA-87")
PRIVATE = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
PUBLIC = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
SHA256 = hashes.SHA256()
PSS = padding.PSS(padding.MGF1(SHA256), SHA256.digest_size)


@pytest.mark.parametrize("key_type", SIGNING)
def test_sign(key_type, rng):
    key = oarlock.PrivateKey.generate(key_type)
    assert key.key_type == key_type
    public = oarlock.PublicKey.from_bytes(key.public_key().to_pem())
    for again in (key, oarlock.PrivateKey.from_bytes(key.to_der()), oarlock.PrivateKey.from_bytes(key.to_pem())):
        message = rng.randbytes(rng.randrange(5000))
        signature = again.sign(message)
        public.verify(signature, bytearray(message))
        with pytest.raises(oarlock.InvalidSignature):
            public.verify(signature, message + b"?")
        with pytest.raises(oarlock.InvalidSignature):
            public.verify(bytes(len(signature)), message)


@pytest.mark.parametrize(
    "make, check",
    (
        (lambda: rsa.generate_private_key(65537, 2048), lambda key, *both: key.verify(*both, PSS, SHA256)),
        (lambda: ec.generate_private_key(ec.SECP256R1()), lambda key, *both: key.verify(*both, ec.ECDSA(SHA256))),
        (ed25519.Ed25519PrivateKey.generate, lambda key, *both: key.verify(*both)),
    ),
)
def test_signatures_of_theirs_and_ours(make, check):
    theirs = make()
    ours = oarlock.PrivateKey.from_bytes(theirs.private_bytes(*PRIVATE))
    check(theirs.public_key(), ours.sign(b"message"), b"message")
    public = oarlock.PublicKey.from_bytes(theirs.public_key().public_bytes(*PUBLIC))
    assert public.to_der() == theirs.public_key().public_bytes(*PUBLIC)
    arguments = {rsa.RSAPrivateKey: (PSS, SHA256), ec.EllipticCurvePrivateKey: (ec.ECDSA(SHA256),)}
    extra = next((value for kind, value in arguments.items() if isinstance(theirs, kind)), ())
    public.verify(theirs.sign(b"message", *extra), b"message")


@pytest.mark.parametrize("hash_name", ("sha256", "sha384", "sha512"))
def test_rsa_schemes(hash_name):
    theirs = rsa.generate_private_key(65537, 2048)
    ours = oarlock.PrivateKey.from_bytes(theirs.private_bytes(*PRIVATE))
    algorithm = getattr(hashes, hash_name.upper())()
    digest = hashes.Hash(algorithm)
    digest.update(b"message")
    pkcs1 = theirs.sign(b"message", padding.PKCS1v15(), algorithm)
    assert ours.sign(b"message", f"rsa-pkcs1-{hash_name}") == pkcs1
    digest = digest.finalize()
    assert ours.sign_digest(digest, f"rsa-pkcs1-{hash_name}") == pkcs1
    ours.public_key().verify_digest(ours.sign_digest(digest, f"rsa-pss-{hash_name}"), digest, f"rsa-pss-{hash_name}")
    oaep = padding.OAEP(padding.MGF1(algorithm), algorithm, None)
    secret = theirs.public_key().encrypt(b"secret", oaep)
    assert ours.decrypt(secret, f"rsa-oaep-{hash_name}") == b"secret"
    assert theirs.decrypt(ours.public_key().encrypt(b"secret", f"rsa-oaep-{hash_name}"), oaep) == b"secret"
    with pytest.raises(oarlock.DecryptionFailed):
        ours.decrypt(bytes(len(secret)), f"rsa-oaep-{hash_name}")


def test_encryption_of_existing_data():
    theirs = rsa.generate_private_key(65537, 2048)
    ours = oarlock.PrivateKey.from_bytes(theirs.private_bytes(*PRIVATE))
    sha1 = padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)
    for scheme, padded in (("rsa-pkcs1", padding.PKCS1v15()), ("rsa-oaep-sha1", sha1)):
        assert ours.decrypt(theirs.public_key().encrypt(b"secret", padded), scheme) == b"secret"
        assert theirs.decrypt(ours.public_key().encrypt(b"secret", scheme), padded) == b"secret"
    # Wrong padding of PKCS#1 v1.5 is not to be told from a message.
    assert ours.decrypt(b"\1" * 256, "rsa-pkcs1") != b"secret"
    for scheme in ("rsa-oaep-md5", "rsa-oaep", "", "ecdsa-sha256"):
        with pytest.raises(ValueError, match="encryption scheme"):
            ours.decrypt(bytes(256), scheme)


@pytest.mark.parametrize("kind", ("rsa", "ecdsa", "ed25519"))
def test_formats(kind, tmp_path):
    """Also those before PKCS#8 and SubjectPublicKeyInfo: PKCS#1, SEC 1 and OpenSSH."""
    subprocess.run(("ssh-keygen", "-q", "-t", kind, "-N", "", "-f", tmp_path / "key"), check=True)
    data = (tmp_path / "key").read_bytes()
    theirs = serialization.load_ssh_private_key(data, None)
    public = theirs.public_key().public_bytes(*PUBLIC)
    pem, der, plain = serialization.Encoding.PEM, serialization.Encoding.DER, serialization.NoEncryption()
    files = [data, theirs.private_bytes(der, serialization.PrivateFormat.PKCS8, plain)]
    if kind != "ed25519":
        traditional = serialization.PrivateFormat.TraditionalOpenSSL
        files += [theirs.private_bytes(encoding, traditional, plain) for encoding in (pem, der)]
    for data in files:
        assert oarlock.PrivateKey.from_bytes(data).public_key().to_der() == public
    publics = [(tmp_path / "key.pub").read_bytes(), theirs.public_key().public_bytes(*PUBLIC)]
    if kind == "rsa":
        publics += [theirs.public_key().public_bytes(encoding, serialization.PublicFormat.PKCS1) for encoding in (pem, der)]
    for data in publics:
        assert oarlock.PublicKey.from_bytes(data).to_der() == public
    locked = theirs.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"horse"))
    with pytest.raises(ValueError):
        oarlock.PrivateKey.from_bytes(locked)


def test_exchange():
    theirs = x25519.X25519PrivateKey.generate()
    ours = oarlock.PrivateKey.generate("X25519")
    public = oarlock.PublicKey.from_bytes(theirs.public_key().public_bytes(*PUBLIC))
    peer = serialization.load_der_public_key(ours.public_key().to_der())
    assert ours.exchange(public) == theirs.exchange(peer)
    for curve, name in ((ec.SECP256R1(), "P-256"), (ec.SECP384R1(), "P-384"), (ec.SECP521R1(), "P-521")):
        theirs, ours = ec.generate_private_key(curve), oarlock.PrivateKey.generate(name)
        public = oarlock.PublicKey.from_bytes(theirs.public_key().public_bytes(*PUBLIC))
        peer = serialization.load_der_public_key(ours.public_key().to_der())
        assert ours.exchange(public) == theirs.exchange(ec.ECDH(), peer)
    with pytest.raises(ValueError):
        ours.exchange(oarlock.PrivateKey.generate("X25519").public_key())


@pytest.mark.parametrize("key_type", ("ML-KEM-512", "ML-KEM-768", "ML-KEM-1024"))
def test_encapsulation(key_type):
    key = oarlock.PrivateKey.generate(key_type)
    secret, ciphertext = key.public_key().encapsulate()
    assert key.decapsulate(ciphertext) == secret
    # FIPS 203 rejects implicitly.
    assert key.decapsulate(bytes(len(ciphertext))) != secret
    with pytest.raises(ValueError):
        key.decapsulate(ciphertext[1:])
    with pytest.raises(ValueError):
        key.sign(b"message")


def test_wrong_keys_and_schemes():
    key = oarlock.PrivateKey.generate("P-256")
    for data in (b"", b"-----BEGIN PRIVATE KEY-----", bytes(100), key.public_key().to_pem()):
        with pytest.raises(ValueError):
            oarlock.PrivateKey.from_bytes(data)
    with pytest.raises(ValueError):
        oarlock.PublicKey.from_bytes(b"ssh-rsa AAAA")
    with pytest.raises(ValueError, match="P-256, P-384"):
        oarlock.PrivateKey.generate("P-192")
    for bits in (0, -1, 1000, 70_000, 2**100):
        with pytest.raises(ValueError):
            oarlock.PrivateKey.generate("RSA", bits)
    with pytest.raises(TypeError):
        oarlock.PrivateKey.generate("RSA", "2048")
    for scheme in ("", "ecdsa", "ecdsa-md5", "rsa-pss-sha256", "ed25519"):
        with pytest.raises(ValueError):
            key.sign(b"message", scheme)
    with pytest.raises(ValueError, match="only RSA keys"):
        key.decrypt(b"secret")
    with pytest.raises(TypeError):
        key.exchange(b"public")
    for size in (0, 31, 33):
        with pytest.raises(ValueError):
            key.sign_digest(bytes(size))


def test_pickle():
    key = oarlock.PrivateKey.generate("Ed25519")
    with pytest.raises(TypeError, match="holds a key"):
        pickle.dumps(key)
    assert "Ed25519" in repr(key) and key.to_pem().decode() not in repr(key)
    public = pickle.loads(pickle.dumps(key.public_key()))
    assert public.to_der() == key.public_key().to_der()


@pytest.mark.parametrize("key_type", SIGNING)
def test_public_keys_are_equal_by_their_value(key_type):
    key = oarlock.PrivateKey.generate(key_type)
    public, again = key.public_key(), oarlock.PublicKey.from_bytes(key.public_key().to_pem())
    assert public == again and not public != again
    assert hash(public) == hash(again) and len({public, again}) == 1
    assert public != oarlock.PrivateKey.generate(key_type).public_key()
    assert public != public.to_der() and public != None  # noqa: E711
    assert {public: "found"}[again] == "found"
