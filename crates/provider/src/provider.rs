//! What the provider keeps from its loading to its unloading.

use std::ffi::CString;
use std::sync::Arc;

use oarlock::Accelerator;
use oarlock::costs::Usage;

use crate::abi::Algorithm;
use crate::error::Errors;
use crate::host::Host;

/// The provider, as one library context of OpenSSL has loaded it.
pub(crate) struct Provider {
    pub(crate) accelerator: Accelerator,
    pub(crate) errors: Errors,
    pub(crate) host: Host,
    /// The counters of requests, if they are counted.
    pub(crate) usage: Option<Arc<Usage>>,
    /// What it offers. Ends with [`Algorithm::END`].
    pub(crate) ciphers: Vec<Algorithm>,
    /// The managements of keys for them; likewise.
    pub(crate) keys: Vec<Algorithm>,
    /// For `oarlock doctor`: what became of the calibration that the configuration names; empty if it names none.
    pub(crate) calibration: CString,
    /// Oarlock's version and this library's build id.
    pub(crate) build: CString,
}
