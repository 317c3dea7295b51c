//! What can be asked: algorithms, keys and requests. No thread and no device is named here.

pub(crate) mod algorithm;
#[cfg(feature = "rsa")]
pub(crate) mod buffers;
pub(crate) mod counter;
pub(crate) mod key_bytes;
#[cfg(feature = "rsa")]
pub(crate) mod keys;
#[cfg(feature = "rsa")]
pub(crate) mod lane_numbers;
#[cfg(feature = "rsa")]
pub(crate) mod modulus;
#[cfg(feature = "rsa")]
pub(crate) mod operation;
pub(crate) mod primitive;
#[cfg(feature = "rsa")]
pub(crate) mod request;
#[cfg(feature = "rsa")]
pub(crate) mod rsa;
#[cfg(feature = "rsa")]
pub(crate) mod shape;
