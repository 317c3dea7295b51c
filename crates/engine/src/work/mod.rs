//! The requests that can be made: algorithms, keys and operations. This module names no thread and no device.

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
