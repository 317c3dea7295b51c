"""Packets and records, compared with packets made by hand from the ciphers of `cryptography`."""

import copy
import gc
import hashlib
import hmac
import os
import pickle
import sys
import threading

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

import oarlock
from oarlock import packet

LENGTHS = (0, 1, 13, 14, 15, 16, 64, 100, 1000, 1400, 9000)


def payloads(rng, count=100):
    return [rng.randbytes(rng.choice(LENGTHS)) for _ in range(count)]


def xor(one, other):
    return bytes(a ^ b for a, b in zip(one, other))


def flipped(data, at):
    data = bytearray(data)
    data[at] ^= 1
    return bytes(data)


# IPsec ESP


def esp_trailer(payload, next_header, align=4):
    padding = -(len(payload) + 2) % align
    return payload + bytes(range(1, padding + 1)) + bytes((padding, next_header))


ESP_AEADS = {
    "aes-128-gcm": (20, AESGCM),
    "aes-192-gcm": (28, AESGCM),
    "aes-256-gcm": (36, AESGCM),
    "chacha20-poly1305": (36, ChaCha20Poly1305),
}


@pytest.mark.parametrize("extended", (False, True))
@pytest.mark.parametrize("cipher", ESP_AEADS)
def test_esp_aead_by_hand(cipher, extended, rng):
    key_bytes, aead = ESP_AEADS[cipher]
    key, spi = rng.randbytes(key_bytes), 0xC0FFEE01
    # With extended numbers the lower half rolls over.
    last = 0xFFFFFFF0 if extended else 7
    sender = packet.EspOutbound(spi, cipher, key, extended_sequence_numbers=extended, sequence=last)
    messages = payloads(rng)
    sealed = sender.seal(messages, next_header=41)
    assert sender.sequence == last + len(messages)
    for number, (message, ours) in enumerate(zip(messages, sealed), last + 1):
        low, whole = (number % 2**32).to_bytes(4, "big"), number.to_bytes(8, "big")
        aad = spi.to_bytes(4, "big") + (whole if extended else low)
        body = aead(key[:-4]).encrypt(key[-4:] + whole, esp_trailer(message, 41), aad)
        assert ours == spi.to_bytes(4, "big") + low + whole + body
    receiver = packet.EspInbound(spi, cipher, key, extended_sequence_numbers=extended, sequence=last)
    assert receiver.open(sealed) == [(message, 41) for message in messages]
    assert receiver.sequence == last + len(messages)


def test_esp_receivers_go_on(rng):
    """Packets up to `sequence` count as received; those after it do not."""
    key = rng.randbytes(20)
    sealed = packet.EspOutbound(1, "aes-128-gcm", key).seal([b"%d" % number for number in range(1, 201)])
    for window in (64, 4096):
        receiver = packet.EspInbound(1, "aes-128-gcm", key, replay_window=window, sequence=150)
        assert receiver.sequence == 150
        results = receiver.open([sealed[200 - 1], *sealed[:-1]])
        accepted = [int(one[0]) for one in results if isinstance(one, tuple)]
        assert accepted == [200, *range(151, 200)]
        assert all(isinstance(one, packet.Replayed) for one in results if not isinstance(one, tuple))


@pytest.mark.parametrize(
    ("integrity", "digest", "key_bytes", "icv_bytes"),
    (("hmac-sha1-96", "sha1", 20, 12), ("hmac-sha256-128", "sha256", 32, 16), ("hmac-sha512-256", "sha512", 64, 32)),
)
def test_esp_cbc_by_hand(integrity, digest, key_bytes, icv_bytes, rng):
    key, mac_key = rng.randbytes(16), rng.randbytes(key_bytes)
    sender = packet.EspOutbound(77, "aes-128-cbc", key + mac_key, integrity=integrity)
    receiver = packet.EspInbound(77, "aes-128-cbc", key + mac_key, integrity=integrity)
    messages = payloads(rng)
    sealed = sender.seal(messages)
    for number, (message, ours) in enumerate(zip(messages, sealed), 1):
        head = (77).to_bytes(4, "big") + number.to_bytes(4, "big")
        iv = ours[8:24]
        encryptor = Cipher(algorithms.AES(key), modes.CBC(iv)).encryptor()
        whole = head + iv + encryptor.update(esp_trailer(message, 4, 16))
        assert ours == whole + hmac.digest(mac_key, whole, digest)[:icv_bytes]
    assert len({ours[8:24] for ours in sealed}) == len(sealed)
    assert receiver.open(sealed) == [(message, 4) for message in messages]


def test_esp_every_suite_goes_there_and_back(rng):
    ciphers = {"null": 0, "des-ede3-cbc": 24}
    for bits in (128, 192, 256):
        ciphers[f"aes-{bits}-cbc"] = bits // 8
        ciphers[f"aes-{bits}-ctr"] = bits // 8 + 4
    integrities = {
        "hmac-md5-96": 16,
        "hmac-sha1-96": 20,
        "hmac-sha256-128": 32,
        "hmac-sha384-192": 48,
        "hmac-sha512-256": 64,
    }
    for cipher, cipher_bytes in ciphers.items():
        for integrity, mac_bytes in integrities.items():
            key, messages = rng.randbytes(cipher_bytes + mac_bytes), payloads(rng, 20)
            sealed = packet.EspOutbound(9, cipher, key, integrity=integrity).seal(messages)
            receiver = packet.EspInbound(9, cipher, key, integrity=integrity)
            assert receiver.open(sealed) == [(message, 4) for message in messages]
            with pytest.raises(ValueError, match=f"has {len(key)} bytes"):
                packet.EspInbound(9, cipher, key + b"1", integrity=integrity)


def test_esp_packets_that_fail_stop_no_other(rng):
    key = rng.randbytes(20)
    sender, receiver = packet.EspOutbound(5, "aes-128-gcm", key), packet.EspInbound(5, "aes-128-gcm", key)
    other = packet.EspOutbound(6, "aes-128-gcm", key).seal([b"other"])[0]
    good = sender.seal([b"%d" % number for number in range(200)])
    mixed = [good[0], good[0], flipped(good[1], 20), good[1], other, good[2][:-1], b"", good[2], good[199], good[3]]
    results = receiver.open(mixed)
    kinds = [type(one) for one in results]
    assert kinds == [
        tuple,
        packet.Replayed,
        oarlock.AuthenticationFailed,
        tuple,
        packet.PacketError,
        packet.PacketError,
        packet.PacketError,
        tuple,
        tuple,
        # Older than the window of 64.
        packet.Replayed,
    ]
    assert [results[at][0] for at in (0, 3, 7, 8)] == [b"0", b"1", b"2", b"199"]
    assert "0x00000006" in str(results[4])
    assert all(isinstance(one, packet.Replayed) for one in receiver.open(good[190:200])[-1:])
    wide = packet.EspInbound(5, "aes-128-gcm", key, replay_window=256)
    assert wide.open([good[199], good[3]]) == [(b"199", 4), (b"3", 4)]


def test_esp_numbers_end(rng):
    sender = packet.EspOutbound(5, "aes-128-gcm", rng.randbytes(20), sequence=2**32 - 2)
    sealed, exhausted = sender.seal([b"last", b"none"])
    assert sealed[4:8] == b"\xff" * 4
    assert isinstance(exhausted, packet.KeyExhausted) and isinstance(exhausted, oarlock.Error)


# SRTP


def srtp_key(key, salt, label, length):
    """Derives a session key (RFC 3711, 4.3; RFC 7714, 11)."""
    start = bytearray(salt.ljust(16, b"\0"))
    start[7] ^= label
    return Cipher(algorithms.AES(key), modes.CTR(bytes(start))).encryptor().update(bytes(length))


def rtp(sequence, payload, ssrc=0xCAFEBABE):
    return bytes((0x80, 96)) + sequence.to_bytes(2, "big") + bytes(4) + ssrc.to_bytes(4, "big") + payload


def srtp_cm(key, salt, index, ssrc, head, body, rtcp):
    """Encrypts a body by AES-CM and returns the packet and its HMAC over `word` behind it."""
    cipher_key, mac_key, session_salt = (
        srtp_key(key, salt, label + 3 * rtcp, length) for label, length in ((0, len(key)), (1, 20), (2, 14))
    )
    counter = (int.from_bytes(session_salt, "big") << 16) ^ (ssrc << 64) ^ (index << 16)
    counter = Cipher(algorithms.AES(cipher_key), modes.CTR(counter.to_bytes(16, "big"))).encryptor()
    sealed = head + counter.update(body)
    word = (index | 1 << 31 if rtcp else index >> 16).to_bytes(4, "big")
    tag = hmac.digest(mac_key, sealed + word, "sha1")
    return sealed + word + tag[:10] if rtcp else sealed + tag[:10]


def test_srtp_keys_are_those_of_rfc_3711():
    key, salt = bytes.fromhex("E1F97A0D3E018BE0D64FA32C06DE4139"), bytes.fromhex("0EC675AD498AFEEBB6960B3AABE6")
    assert srtp_key(key, salt, 0, 16).hex() == "c61e7a93744f39ee10734afe3ff7a087"
    assert srtp_key(key, salt, 1, 20).hex() == "cebe321f6ff7716b6fd4ab49af256a156d38baa4"
    assert srtp_key(key, salt, 2, 14).hex() == "30cbbc08863d8c85d49db34a9ae1"
    # The packet with which libsrtp validates itself.
    sender = packet.SrtpOutbound("AES_CM_128_HMAC_SHA1_80", key + salt)
    plain = bytes.fromhex("800f1234decafbadcafebabe") + b"\xab" * 16
    expected = "800f1234decafbadcafebabe4e55dc4ce79978d88ca4d215949d2402b78d6acc99ea179b8dbb"
    assert sender.protect([plain])[0].hex() == expected


@pytest.mark.parametrize("bits", (128, 192, 256))
def test_srtp_cm_by_hand(bits, rng):
    name = "AES_CM_128_HMAC_SHA1_80" if bits == 128 else f"AES_{bits}_CM_HMAC_SHA1_80"
    key, salt, ssrc = rng.randbytes(bits // 8), rng.randbytes(14), 0xCAFEBABE
    sender, receiver = packet.SrtpOutbound(name, key + salt), packet.SrtpInbound(name, key + salt)
    messages = payloads(rng)
    # The sequence number rolls over.
    first = 65_500
    plain = [rtp((first + number) % 65_536, message) for number, message in enumerate(messages)]
    sealed = sender.protect(plain)
    for index, (ours, whole) in enumerate(zip(sealed, plain), first):
        assert ours == srtp_cm(key, salt, index, ssrc, whole[:12], whole[12:], False)
    assert receiver.unprotect(sealed) == plain
    assert sender.index(ssrc) == receiver.index(ssrc) == first + len(plain) - 1
    assert sender.index(1) is None

    reports = [bytes((0x80, 200, 0, 1)) + ssrc.to_bytes(4, "big") + rng.randbytes(4 * number) for number in range(20)]
    sealed = sender.protect_rtcp(reports)
    for ours, whole in zip(sealed, reports):
        index = int.from_bytes(ours[-14:-10], "big") & 0x7FFFFFFF
        assert ours == srtp_cm(key, salt, index, ssrc, whole[:8], whole[8:], True)
    assert receiver.unprotect_rtcp(sealed) == reports


@pytest.mark.parametrize("bits", (128, 256))
def test_srtp_gcm_by_hand(bits, rng):
    name, key, salt, ssrc = f"AEAD_AES_{bits}_GCM", rng.randbytes(bits // 8), rng.randbytes(12), 0xCAFEBABE
    sender, receiver = packet.SrtpOutbound(name, key + salt), packet.SrtpInbound(name, key + salt)
    plain = [rtp(number, message) for number, message in enumerate(payloads(rng), 1000)]
    aead, session_salt = AESGCM(srtp_key(key, salt, 0, bits // 8)), srtp_key(key, salt, 2, 12)
    sealed = sender.protect(plain)
    for index, (ours, whole) in enumerate(zip(sealed, plain), 1000):
        nonce = xor(bytes(2) + ssrc.to_bytes(4, "big") + index.to_bytes(6, "big"), session_salt)
        assert ours == whole[:12] + aead.encrypt(nonce, whole[12:], whole[:12])
    assert receiver.unprotect(sealed) == plain

    report = bytes((0x80, 200, 0, 1)) + ssrc.to_bytes(4, "big") + rng.randbytes(40)
    (sealed,) = sender.protect_rtcp([report])
    aead, session_salt = AESGCM(srtp_key(key, salt, 3, bits // 8)), srtp_key(key, salt, 5, 12)
    word = sealed[-4:]
    index = int.from_bytes(word, "big") & 0x7FFFFFFF
    nonce = xor(bytes(2) + ssrc.to_bytes(4, "big") + bytes(2) + index.to_bytes(4, "big"), session_salt)
    assert word[0] & 0x80
    assert sealed == report[:8] + aead.encrypt(nonce, report[8:], report[:8] + word) + word
    assert receiver.unprotect_rtcp([sealed]) == [report]


@pytest.mark.parametrize("suite", ("AES_CM_128_HMAC_SHA1_32", "AEAD_AES_128_GCM", "SRTP_NULL_HMAC_SHA1_32"))
def test_srtp_packets_that_fail_stop_no_other(suite, rng):
    key = rng.randbytes(28 if "GCM" in suite else 30)
    sender, receiver = packet.SrtpOutbound(suite, key), packet.SrtpInbound(suite, key)
    plain = [rtp(number, rng.randbytes(160)) for number in range(300)]
    again = sender.protect([*plain, plain[0], b"no RTP"])
    good = again[:300]
    assert isinstance(again[300], packet.Replayed) and isinstance(again[301], packet.PacketError)
    results = receiver.unprotect([good[0], flipped(good[1], 15), good[1], good[0], good[2][:11], b"", good[2]])
    assert [one for one in results if isinstance(one, bytes)] == plain[:3]
    assert [type(results[at]) for at in (1, 3, 4, 5)] == [
        oarlock.AuthenticationFailed,
        packet.Replayed,
        packet.PacketError,
        packet.PacketError,
    ]
    # The window has 128 packets.
    assert [type(one) for one in receiver.unprotect([good[299], good[3], good[290]])] == [bytes, packet.Replayed, bytes]


def test_srtp_keys_with_identifiers(rng):
    first, second = rng.randbytes(30), rng.randbytes(30)
    suite = "AES_CM_128_HMAC_SHA1_80"
    sender, receiver = (make(suite, first, mki=b"\1\1") for make in (packet.SrtpOutbound, packet.SrtpInbound))
    for one in (sender, receiver):
        one.add_key(b"\2\2", second)
        with pytest.raises(ValueError):
            one.add_key(b"\3", second)
        with pytest.raises(ValueError):
            one.add_key(b"\3\3", b"short")
    one = sender.protect([rtp(1, b"one")])[0]
    sender.use_key(b"\2\2")
    two = sender.protect([rtp(2, b"two")])[0]
    assert (one[-12:-10], two[-12:-10]) == (b"\1\1", b"\2\2")
    assert receiver.unprotect([one, two]) == [rtp(1, b"one"), rtp(2, b"two")]
    with pytest.raises(ValueError, match="MKI"):
        sender.use_key(b"\7\7")
    unknown = one[:-12] + b"\7\7" + one[-10:]
    assert isinstance(packet.SrtpInbound(suite, first, mki=b"\1\1").unprotect([unknown])[0], packet.PacketError)
    with pytest.raises(ValueError):
        packet.SrtpInbound(suite, first, mki=b"")


def test_srtp_sources(rng):
    suite, key = "AEAD_AES_128_GCM", rng.randbytes(28)
    sender, receiver = packet.SrtpOutbound(suite, key, streams_max=2), packet.SrtpInbound(suite, key)
    assert isinstance(sender.protect([rtp(1, b"", ssrc) for ssrc in (1, 2, 3)])[2], packet.PacketError)
    assert sender.remove(1) and not sender.remove(1)
    assert isinstance(sender.protect([rtp(1, b"", 3)])[0], bytes)
    # A receiver that joins after the first roll-over.
    sender.protect([rtp(65_535, b"", 3)])
    late = packet.SrtpOutbound(suite, key)
    late.protect([rtp(65_535, b"", 9)])
    joined = late.protect([rtp(0, b"joined", 9)])
    assert isinstance(receiver.unprotect(joined)[0], oarlock.AuthenticationFailed)
    receiver.expect_roll_over_counter(9, 1)
    assert receiver.unprotect(joined) == [rtp(0, b"joined", 9)]
    assert receiver.index(9) == 65_536
    repeating = packet.SrtpOutbound(suite, key, retransmissions=10)
    one = repeating.protect([rtp(5, b"same")])
    assert repeating.protect([rtp(5, b"same")]) == one
    assert isinstance(repeating.protect([rtp(5, b"else")])[0], packet.Replayed)


def test_srtp_unencrypted_rtcp(rng):
    key, report = rng.randbytes(30), bytes((0x80, 200, 0, 1)) + bytes(24)
    suite = "AES_CM_128_HMAC_SHA1_80"
    sealed = packet.SrtpOutbound(suite, key, encrypt_rtcp=False).protect_rtcp([report])
    assert sealed[0].startswith(report)
    assert packet.SrtpInbound(suite, key, encrypt_rtcp=False).unprotect_rtcp(sealed) == [report]
    assert isinstance(packet.SrtpInbound(suite, key).unprotect_rtcp(sealed)[0], packet.PacketError)


# TLS 1.3

TLS_SUITES = {
    "TLS_AES_128_GCM_SHA256": (hashes.SHA256(), 16, AESGCM),
    "TLS_AES_256_GCM_SHA384": (hashes.SHA384(), 32, AESGCM),
    "TLS_CHACHA20_POLY1305_SHA256": (hashes.SHA256(), 32, ChaCha20Poly1305),
}


def expanded(suite, secret, label, length):
    """HKDF-Expand-Label without a context (RFC 8446, 7.1)."""
    info = length.to_bytes(2, "big") + bytes((len(label),)) + label + b"\0"
    return HKDFExpand(TLS_SUITES[suite][0], length, info).derive(secret)


def tls_by_hand(suite, secret, number, content, content_type, padding=0):
    _, key_bytes, aead = TLS_SUITES[suite]
    key, iv = expanded(suite, secret, b"tls13 key", key_bytes), expanded(suite, secret, b"tls13 iv", 12)
    header = b"\x17\x03\x03" + (len(content) + 1 + padding + 16).to_bytes(2, "big")
    plain = content + bytes((content_type,)) + bytes(padding)
    return header + aead(key).encrypt(xor(iv, number.to_bytes(12, "big")), plain, header)


@pytest.mark.parametrize("suite", TLS_SUITES)
def test_tls_by_hand(suite, rng):
    digest, key_bytes, _ = TLS_SUITES[suite]
    secret = rng.randbytes(digest.digest_size)
    sender, receiver = packet.TlsOutbound(suite, secret), packet.TlsInbound(suite, secret)
    messages = [*payloads(rng), rng.randbytes(16_384)]
    sealed = sender.seal(messages)
    assert sealed == [tls_by_hand(suite, secret, number, one, 23) for number, one in enumerate(messages)]
    stream = b"".join(sealed)
    assert receiver.open(stream) == ([(message, 23) for message in messages], len(stream))
    assert sender.sequence == receiver.sequence == len(messages)
    # Key and IV in place of the secret, from a number on.
    parts = {
        "key": expanded(suite, secret, b"tls13 key", key_bytes),
        "iv": expanded(suite, secret, b"tls13 iv", 12),
        "sequence": 7,
    }
    assert packet.TlsOutbound(suite, **parts).seal(messages[7:]) == sealed[7:]
    assert packet.TlsInbound(suite, **parts).open(sealed[7]) == ([(messages[7], 23)], len(sealed[7]))
    with pytest.raises(ValueError):
        packet.TlsOutbound(suite, **parts).update()
    with pytest.raises(ValueError):
        packet.TlsInbound(suite, **parts).update()
    # The next generation of keys.
    following = expanded(suite, secret, b"tls13 traffic upd", digest.digest_size)
    sender.update()
    assert sender.seal([b"next"], packet.HANDSHAKE) == [tls_by_hand(suite, following, 0, b"next", 22)]


@pytest.mark.parametrize("suite", TLS_SUITES)
def test_tls_streams(suite, rng):
    secret, data = rng.randbytes(TLS_SUITES[suite][0].digest_size), rng.randbytes(1_000_000)
    sender, receiver = packet.TlsOutbound(suite, secret), packet.TlsInbound(suite, secret)
    stream = bytearray(sender.seal_stream(data))
    cut = [data[start : start + 16_384] for start in range(0, len(data), 16_384)]
    assert stream == b"".join(tls_by_hand(suite, secret, number, one, 23) for number, one in enumerate(cut))
    assert sender.seal_stream(b"") == b""
    # In pieces, as a socket returns them.
    received, opened = bytearray(), b""
    while stream:
        received += stream[: (length := rng.randrange(1, 70_000))]
        del stream[:length]
        records, used = receiver.open(received)
        del received[:used]
        opened += b"".join(content for content, _ in records)
    assert opened == data and not received


def test_tls_limits_and_padding(rng):
    suite, secret = "TLS_AES_128_GCM_SHA256", rng.randbytes(32)
    sender = packet.TlsOutbound(suite, secret, record_size_limit=101, padding=64)
    assert sender.seal([b"1" * 30]) == [tls_by_hand(suite, secret, 0, b"1" * 30, 23, padding=34)]
    assert isinstance(sender.seal([bytes(101)])[0], packet.PacketError)
    assert sender.sequence == 1
    stream = sender.seal_stream(bytes(250))
    assert len(stream) == 100 + 100 + 64 + 3 * 22
    receiver = packet.TlsInbound(suite, secret, sequence=1, record_size_limit=101)
    assert b"".join(content for content, _ in receiver.open(stream)[0]) == bytes(250)
    assert isinstance(packet.TlsInbound(suite, secret, record_size_limit=64).open(stream)[0][0], packet.PacketError)
    exhausted = packet.TlsOutbound(suite, secret, sequence=23_726_565)
    assert exhausted.records_left == 1
    last, none = exhausted.seal([b"last", b"none"])
    assert isinstance(last, bytes) and isinstance(none, packet.KeyExhausted)
    with pytest.raises(packet.KeyExhausted):
        exhausted.seal_stream(b"none")
    for make in (packet.TlsOutbound, packet.TlsInbound):
        with pytest.raises(ValueError, match="record_size_limit"):
            make(suite, secret, record_size_limit=63)


def test_tls_messages_end_a_call(rng):
    suite, secret = "TLS_AES_128_GCM_SHA256", rng.randbytes(32)
    sender, receiver = packet.TlsOutbound(suite, secret), packet.TlsInbound(suite, secret)
    update = bytes((24, 0, 0, 1, 0))
    before = sender.seal([b"one", b"two"]) + sender.seal([update], packet.HANDSHAKE)
    sender.update()
    stream = b"".join(before + sender.seal([b"three"]) + sender.seal([b"\1\0"], packet.ALERT))
    records, used = receiver.open(stream)
    assert records == [(b"one", 23), (b"two", 23), (update, 22)] and used == len(b"".join(before))
    receiver.update()
    assert receiver.open(stream[used:]) == ([(b"three", 23), (b"\1\0", 21)], len(stream) - used)


def test_tls_a_forgery_ends_the_connection(rng):
    suite, secret = "TLS_CHACHA20_POLY1305_SHA256", rng.randbytes(32)
    sealed = packet.TlsOutbound(suite, secret).seal([b"one", b"two", b"three"])
    receiver = packet.TlsInbound(suite, secret)
    records, used = receiver.open(sealed[0] + flipped(sealed[1], 8) + sealed[2])
    assert records[0] == (b"one", 23) and used == len(sealed[0])
    assert isinstance(records[1], oarlock.AuthenticationFailed) and len(records) == 2
    again, used = receiver.open(sealed[1])
    assert [type(one) for one in again] == [oarlock.AuthenticationFailed] and used == 0
    # Replayed, out of order, not protected, too short, too long.
    for data in (sealed[1], b"\x16\x03\x03\x00\x02hi", b"\x17\x03\x03\x00\x0f" + bytes(15), b"\x17\x03\x03\xff\xff"):
        records, used = packet.TlsInbound(suite, secret).open(data)
        assert len(records) == 1 and isinstance(records[0], oarlock.Error) and used == 0
    for partial in (b"", sealed[0][:1], sealed[0][:5], sealed[0][:-1]):
        assert packet.TlsInbound(suite, secret).open(partial) == ([], 0)


def test_tls_contents_that_may_not_be(rng):
    sender = packet.TlsOutbound("TLS_AES_128_GCM_SHA256", rng.randbytes(32))
    for content, content_type in ((b"", 21), (b"", 22), (b"x", 0), (b"x", 20), (bytes(16_385), 23)):
        assert [type(one) for one in sender.seal([content], content_type)] == [packet.PacketError]
    with pytest.raises(packet.PacketError):
        sender.seal_stream(b"x", 20)
    assert sender.sequence == 0


# DTLS 1.3


def dtls_by_hand(suite, secret, epoch, number, content, content_type, identifier=b""):
    _, key_bytes, aead = TLS_SUITES[suite]
    key, iv, number_key = (
        expanded(suite, secret, b"dtls13" + label, length)
        for label, length in ((b"key", key_bytes), (b"iv", 12), (b"sn", key_bytes))
    )
    first = bytes((0x2C | epoch & 3 | (0x10 if identifier else 0),)) + identifier
    low, length = (number % 65_536).to_bytes(2, "big"), (len(content) + 17).to_bytes(2, "big")
    nonce = xor(iv, number.to_bytes(12, "big"))
    sealed = aead(key).encrypt(nonce, content + bytes((content_type,)), first + low + length)
    if aead is AESGCM:
        mask = Cipher(algorithms.AES(number_key), modes.ECB()).encryptor().update(sealed[:16])
    else:
        mask = Cipher(algorithms.ChaCha20(number_key, sealed[:16]), None).encryptor().update(bytes(2))
    return first + xor(low, mask) + length + sealed


@pytest.mark.parametrize("identifier", (None, b"connection"))
@pytest.mark.parametrize("suite", TLS_SUITES)
def test_dtls_by_hand(suite, identifier, rng):
    secret = rng.randbytes(TLS_SUITES[suite][0].digest_size)
    arguments = {"epoch": 5, "connection_id": identifier}
    sender, receiver = packet.DtlsOutbound(suite, secret, **arguments), packet.DtlsInbound(suite, secret, **arguments)
    messages = payloads(rng)
    sealed = sender.seal(messages)
    expected = [
        dtls_by_hand(suite, secret, 5, number, message, 23, identifier or b"") for number, message in enumerate(messages)
    ]
    assert sealed == expected
    # Two records in each datagram.
    datagrams = [b"".join(sealed[start : start + 2]) for start in range(0, len(sealed), 2)]
    opened = receiver.open(datagrams)
    assert [len(one) for one in opened] == [2] * (len(sealed) // 2)
    assert [record for one in opened for record in one] == [(message, 23, 5, number) for number, message in enumerate(messages)]


def test_dtls_records_that_fail_stop_no_other(rng):
    suite, secret = "TLS_AES_256_GCM_SHA384", rng.randbytes(48)
    sender, receiver = packet.DtlsOutbound(suite, secret), packet.DtlsInbound(suite, secret)
    good = sender.seal([b"zero", b"one", b"two"])
    results = receiver.open([good[0], good[0], b"", b"?", good[1] + flipped(good[2], 12), good[2]])
    assert [len(one) for one in results] == [1, 1, 0, 1, 2, 1]
    assert results[0] == [(b"zero", 23, 3, 0)] and results[5] == [(b"two", 23, 3, 2)]
    assert isinstance(results[1][0], packet.Replayed) and isinstance(results[3][0], packet.PacketError)
    assert results[4][0] == (b"one", 23, 3, 1) and isinstance(results[4][1], oarlock.AuthenticationFailed)
    assert receiver.forgeries == 1
    with_identifier = packet.DtlsInbound(suite, secret, connection_id=b"id")
    assert isinstance(with_identifier.open([good[0]])[0][0], packet.PacketError)


def test_dtls_epochs(rng):
    suite, secret = "TLS_AES_128_GCM_SHA256", rng.randbytes(32)
    sender, receiver = packet.DtlsOutbound(suite, secret), packet.DtlsInbound(suite, secret)
    old = sender.seal([b"old"])
    sender.update()
    new = sender.seal([b"new"], packet.ACK)
    receiver.update()
    assert (sender.epoch, sender.sequence, receiver.epoch) == (4, 1, 4)
    assert receiver.open(new + old) == [[(b"new", 26, 4, 0)], [(b"old", 23, 3, 0)]]
    for make in (packet.DtlsOutbound, packet.DtlsInbound):
        with pytest.raises(ValueError):
            make(suite, secret, epoch=0)
        with pytest.raises(ValueError, match="32 bytes"):
            make(suite, secret, connection_id=bytes(33))


# All of them


def senders():
    return (
        packet.EspOutbound(1, "aes-256-gcm", bytes(36)),
        packet.SrtpOutbound("AEAD_AES_128_GCM", bytes(28)),
        packet.TlsOutbound("TLS_AES_128_GCM_SHA256", bytes(32)),
        packet.DtlsOutbound("TLS_AES_128_GCM_SHA256", bytes(32)),
    )


def receivers():
    return (
        packet.EspInbound(1, "aes-256-gcm", bytes(36)),
        packet.SrtpInbound("AEAD_AES_128_GCM", bytes(28)),
        packet.TlsInbound("TLS_AES_128_GCM_SHA256", bytes(32)),
        packet.DtlsInbound("TLS_AES_128_GCM_SHA256", bytes(32)),
    )


def calls():
    """The methods that take a list of packets."""
    esp, srtp, tls, dtls = senders()
    yield from (esp.seal, srtp.protect, srtp.protect_rtcp, tls.seal, dtls.seal)
    esp, srtp, _, dtls = receivers()
    yield from (esp.open, srtp.unprotect, srtp.unprotect_rtcp, dtls.open)


def test_lists():
    for call in calls():
        assert call([]) == call(()) == call(iter(())) == []
        for wrong in (b"packet", b"", bytearray(), memoryview(b""), "", "text"):
            with pytest.raises(TypeError, match="must be a list of bytes-like objects, not"):
                call(wrong)
        for wrong in (None, 7, object()):
            with pytest.raises(TypeError):
                call(wrong)
        for wrong in ("text", None, 7, [b"packet"]):
            with pytest.raises(TypeError, match=r"\[1\] must be a bytes-like object, not"):
                call([b"packet", wrong])
        with pytest.raises(BufferError, match=r"\[0\]"):
            call([memoryview(bytes(20))[::2]])
        with pytest.raises(ZeroDivisionError):
            call(1 // 0 for _ in range(3))
    # Nothing was sealed, so no number was used.
    sender = packet.EspOutbound(1, "aes-256-gcm", bytes(36))
    with pytest.raises(TypeError):
        sender.seal([b"good", None])
    assert sender.sequence == 0


def test_any_buffer(rng):
    import array
    import mmap

    import numpy

    sender, receiver = packet.EspOutbound(1, "aes-256-gcm", bytes(36)), packet.EspInbound(1, "aes-256-gcm", bytes(36))
    mapped = mmap.mmap(-1, 4096)
    buffers = [bytearray(b"one"), memoryview(b"-two-")[1:4], array.array("I", (1, 2, 3)), mapped]
    sealed = sender.seal(buffers)
    assert receiver.open([bytearray(one) for one in sealed]) == [(bytes(one), 4) for one in buffers]
    table = numpy.frombuffer(rng.randbytes(6400), dtype=numpy.uint8).reshape(64, 100)
    assert receiver.open(sender.seal(table)) == [(row.tobytes(), 4) for row in table]
    # They are released after the call, and the packets are the caller's as before.
    buffers[0].extend(b"more")
    mapped.close()
    received = [bytearray(one) for one in sender.seal([b"kept"])]
    before = bytes(received[0])
    assert receiver.open(received) == [(b"kept", 4)] and received[0] == before


def test_wrong_arguments():
    for key in (b"", bytes(35), bytes(37)):
        for make in (packet.EspOutbound, packet.EspInbound):
            with pytest.raises(ValueError, match=f"has {len(key)}"):
                make(1, "aes-256-gcm", key)
    for make in (packet.EspOutbound, packet.EspInbound):
        with pytest.raises(ValueError, match="32 bits"):
            make(1, "aes-256-gcm", bytes(36), sequence=2**32)
        with pytest.raises(ValueError, match="SPI of 0"):
            make(0, "aes-256-gcm", bytes(36))
        for spi in (-1, 2**32, 2**64):
            with pytest.raises(ValueError, match="0 to 4294967295"):
                make(spi, "aes-256-gcm", bytes(36))
        with pytest.raises(ValueError, match=r'cipher .* must be one of aes-128-gcm, .*, not "aes"'):
            make(1, "aes", bytes(36))
        with pytest.raises(ValueError, match="integrity must be one of"):
            make(1, "aes-128-cbc", bytes(36), integrity="sha1")
        with pytest.raises(ValueError):
            make(1, "aes-128-cbc", bytes(16))
        for wrong in (("1", "aes-256-gcm", bytes(36)), (1, 7, bytes(36)), (1, "aes-256-gcm", "key")):
            with pytest.raises(TypeError):
                make(*wrong)
    sender = packet.EspOutbound(1, "aes-256-gcm", bytes(36))
    for next_header in (-1, 256):
        with pytest.raises(ValueError, match="0 to 255"):
            sender.seal([b""], next_header)
    for make in (packet.SrtpOutbound, packet.SrtpInbound):
        for key in (b"", bytes(16), bytes(31)):
            with pytest.raises(ValueError):
                make("AES_CM_128_HMAC_SHA1_80", key)
        with pytest.raises(ValueError, match="suite must be one of"):
            make("AES_CM_128_HMAC_SHA1_81", bytes(30))
    for make in (packet.TlsOutbound, packet.TlsInbound):
        for wrong in ({}, {"key": bytes(16)}, {"iv": bytes(12)}, {"secret": bytes(32), "iv": bytes(12)}):
            with pytest.raises(ValueError, match="either a secret, or a key and an iv"):
                make("TLS_AES_128_GCM_SHA256", **wrong)
        for wrong in ({"secret": bytes(31)}, {"key": bytes(15), "iv": bytes(12)}, {"key": bytes(16), "iv": bytes(11)}):
            with pytest.raises(ValueError, match="bytes"):
                make("TLS_AES_128_GCM_SHA256", **wrong)
        with pytest.raises(ValueError, match="suite must be one of"):
            make("TLS_AES_128_CCM_SHA256", bytes(32))
    with pytest.raises(TypeError, match="data must be a bytes-like object, not list"):
        packet.TlsInbound("TLS_AES_128_GCM_SHA256", bytes(32)).open([b"record"])


def test_keys_are_not_pickled():
    for one in (*senders(), *receivers()):
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="holds a key"):
                attempt(one)


def test_a_child_does_not_seal_with_the_numbers_of_its_parent():
    ours, theirs = senders(), receivers()
    sealed = ours[0].seal([b"packet"])
    child = os.fork()
    if child == 0:
        refused = 0
        for call in (ours[0].seal, ours[1].protect, ours[1].protect_rtcp, ours[2].seal, ours[3].seal):
            try:
                call([b"packet"])
            except packet.PacketError:
                refused += 1
        try:
            ours[2].seal_stream(b"data")
        except packet.PacketError:
            refused += 1
        os._exit(17 if refused == 6 and theirs[0].open(sealed) == [(b"packet", 4)] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17
    assert theirs[0].open(sealed + ours[0].seal([b"next"])) == [(b"packet", 4), (b"next", 4)]


def test_threads_share_an_object(rng):
    key = rng.randbytes(36)
    sender, receiver = packet.EspOutbound(1, "aes-256-gcm", key), packet.EspInbound(1, "aes-256-gcm", key, replay_window=4096)
    sealed, opened = [], []

    def seal():
        for count in (1, 3, 60, 100):
            sealed.extend(sender.seal([os.urandom(1000)] * count))

    def open_(part):
        opened.extend(receiver.open(part))

    threads = [threading.Thread(target=seal) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = sorted(int.from_bytes(one[4:8], "big") for one in sealed)
    assert numbers == list(range(1, 8 * 164 + 1))
    threads = [threading.Thread(target=open_, args=(sealed[start::4],)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(hashlib.sha256(one).digest() for one, _ in opened) == sorted(
        hashlib.sha256(one).digest() for one, _ in packet.EspInbound(1, "aes-256-gcm", key, replay_window=4096).open(sealed)
    )


def test_threads_run_during_a_long_call():
    """The GIL is released."""
    sender, messages = packet.EspOutbound(1, "aes-256-gcm", bytes(36)), [bytes(9000)] * 10_000
    counts, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counts[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counts[0]
    sealed = sender.seal(messages)
    after = counts[0]
    stop.set()
    thread.join()
    assert after > before and len(sealed) == len(messages)


def test_nothing_is_leaked():
    """Each call makes 21 objects, and the interpreter itself keeps a few."""
    sender, receiver = packet.EspOutbound(1, "aes-256-gcm", bytes(36)), packet.EspInbound(1, "aes-256-gcm", bytes(36))
    message = bytearray(200)

    def round_trip():
        for _ in range(100):
            receiver.open([*sender.seal([message] * 10), b"wrong"])
        gc.collect()
        return sys.getallocatedblocks()

    round_trip()
    before = round_trip()
    assert round_trip() - before < 50
    message.extend(b"it is not exported")
