"""Packets and records, many in one call: IPsec ESP, SRTP and SRTCP, TLS 1.3, DTLS 1.3.

>>> import oarlock.packet
>>> sender = oarlock.packet.EspOutbound(0x1001, "aes-256-gcm", bytes(36))
>>> receiver = oarlock.packet.EspInbound(0x1001, "aes-256-gcm", bytes(36))
>>> packets = sender.seal([b"one", b"two"])
>>> receiver.open(packets)
[(b'one', 4), (b'two', 4)]

A packet that fails has an exception in its place in the list, and the others go on.
"""

from __future__ import annotations

from ._oarlock import (
    DtlsInbound,
    DtlsOutbound,
    EspInbound,
    EspOutbound,
    KeyExhausted,
    PacketError,
    Replayed,
    SrtpInbound,
    SrtpOutbound,
    TlsInbound,
    TlsOutbound,
)

__all__ = [
    "ACK",
    "ALERT",
    "APPLICATION_DATA",
    "HANDSHAKE",
    "DtlsInbound",
    "DtlsOutbound",
    "EspInbound",
    "EspOutbound",
    "KeyExhausted",
    "PacketError",
    "Replayed",
    "SrtpInbound",
    "SrtpOutbound",
    "TlsInbound",
    "TlsOutbound",
]

# Content types (RFC 8446, 5.1; RFC 9147, 7).
ALERT = 21
HANDSHAKE = 22
APPLICATION_DATA = 23
ACK = 26
