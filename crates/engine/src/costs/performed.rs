//! The counted operations of key derivations, MACs, key exchanges, signatures and KEMs.

/// An operation of a [`Primitive`](crate::Primitive).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Performed {
    /// A key pair was generated.
    Generated,
    /// A secret was derived: by a key derivation, or from a key pair and a peer's public key.
    Derived,
    /// The tag of a message was computed.
    Authenticated,
    /// A message or its digest was signed.
    Signed,
    /// A signature was verified and found correct.
    Verified,
    /// A secret was encapsulated: a server's side of a handshake.
    Encapsulated,
    /// A secret was decapsulated: a client's side of a handshake.
    Decapsulated,
}

impl Performed {
    /// Every operation.
    pub const ALL: [Self; 7] = [
        Self::Generated,
        Self::Derived,
        Self::Authenticated,
        Self::Signed,
        Self::Verified,
        Self::Encapsulated,
        Self::Decapsulated,
    ];
}
