//! What a session asks of a driver.

use std::fmt;

use inout::InOutBuf;

/// A key set up in a device. Several threads may submit at once.
pub trait DeviceSession: Send + Sync {
    /// Carries out every request of `batch`.
    ///
    /// # Errors
    /// If it could not. In-place data must then be as they were, because another device repeats the
    /// batch.
    fn submit(&self, batch: &mut [Request<'_>]) -> Result<(), DeviceError>;
}

/// What a session asks of its device; which of them depends on the kind of its algorithm.
#[non_exhaustive]
pub enum Request<'a> {
    /// Apply the keystream of a [`Kind::Stream`](crate::Kind::Stream).
    Keystream(CtrRequest<'a>),
    /// Encrypt with a [`Kind::Aead`](crate::Kind::Aead), and write the tag.
    Seal(AeadRequest<'a>),
    /// Decrypt with a [`Kind::Aead`](crate::Kind::Aead), and write the tag that the ciphertext should have. The session
    /// compares it, and takes the plaintext back if it differs.
    Open(AeadRequest<'a>),
    /// Encrypt with a [`Kind::Cbc`](crate::Kind::Cbc).
    CbcEncrypt(CbcRequest<'a>),
    /// Decrypt with a [`Kind::Cbc`](crate::Kind::Cbc).
    CbcDecrypt(CbcRequest<'a>),
}

/// XOR keystream onto `data`, from byte `skip` (below the algorithm's block size) of the block made
/// from `counter` on. As many low bits of the counter wrap as the algorithm's kind says.
pub struct CtrRequest<'a> {
    /// Counter block of the first byte, as a big-endian number.
    pub counter: u128,
    /// Bytes of that block that are skipped: fewer than the block has.
    pub skip: usize,
    /// Input and output.
    pub data: InOutBuf<'a, 'a, u8>,
}

/// A whole message to seal or open.
pub struct AeadRequest<'a> {
    /// As long as the algorithm's nonces are; for GCM of any length but 0.
    pub nonce: &'a [u8],
    /// Associated data.
    pub aad: &'a [u8],
    /// Input and output.
    pub data: InOutBuf<'a, 'a, u8>,
    /// Where the tag goes.
    pub tag: &'a mut [u8; 16],
}

/// Whole blocks, chained.
pub struct CbcRequest<'a> {
    /// The ciphertext block before; afterwards the last one.
    pub iv: &'a mut [u8; 16],
    /// Input and output: a multiple of 16 bytes.
    pub data: InOutBuf<'a, 'a, u8>,
}

/// Why a device could not do a request; the text goes into
/// [`Error::DeviceFailed`](crate::Error::DeviceFailed) and must hold no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceError(pub String);

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DeviceError {}
