//! The requests of a session to a driver.

use std::fmt;

use inout::InOutBuf;

/// A key set up in a device. Several threads may submit at once.
pub trait DeviceSession: Send + Sync {
    /// Computes every request of `batch`.
    ///
    /// # Errors
    /// The device failed. In-place data must then be unchanged, because another device repeats the batch.
    fn submit(&self, batch: &mut [Request<'_>]) -> Result<(), DeviceError>;
}

/// A request of a session to its device. The variant depends on the kind of the algorithm.
#[non_exhaustive]
pub enum Request<'a> {
    /// Apply the keystream of a [`Kind::Stream`](crate::Kind::Stream).
    Keystream(CtrRequest<'a>),
    /// Encrypt with a [`Kind::Aead`](crate::Kind::Aead), and write the tag.
    Seal(AeadRequest<'a>),
    /// Decrypt with a [`Kind::Aead`](crate::Kind::Aead), and write the tag that the ciphertext should have. The session
    /// compares it, and removes the plaintext if it differs.
    Open(AeadRequest<'a>),
    /// Encrypt with a [`Kind::Cbc`](crate::Kind::Cbc).
    CbcEncrypt(CbcRequest<'a>),
    /// Decrypt with a [`Kind::Cbc`](crate::Kind::Cbc).
    CbcDecrypt(CbcRequest<'a>),
}

/// A request to XOR keystream onto `data`, from byte `skip` (below the algorithm's block size) of the block for `counter`.
/// The algorithm's kind says how many low bits of the counter wrap.
pub struct CtrRequest<'a> {
    /// Counter block of the first byte, as a big-endian number.
    pub counter: u128,
    /// Bytes of that block to skip: fewer than the block has.
    pub skip: usize,
    /// Input and output.
    pub data: InOutBuf<'a, 'a, u8>,
}

/// A whole message to seal or open.
pub struct AeadRequest<'a> {
    /// The nonce, of the algorithm's nonce length; for GCM of any length but 0.
    pub nonce: &'a [u8],
    /// Associated data.
    pub aad: &'a [u8],
    /// Input and output.
    pub data: InOutBuf<'a, 'a, u8>,
    /// The place for the tag.
    pub tag: &'a mut [u8; 16],
}

/// Whole blocks, chained.
pub struct CbcRequest<'a> {
    /// The previous ciphertext block; the request replaces it with its last one.
    pub iv: &'a mut [u8; 16],
    /// Input and output: a multiple of 16 bytes.
    pub data: InOutBuf<'a, 'a, u8>,
}

/// Why a device could not serve a request. The text appears in [`Error::DeviceFailed`](crate::Error::DeviceFailed) and must
/// hold no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceError(pub String);

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DeviceError {}
