//! Why a device could not serve a request.

use std::fmt;

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
