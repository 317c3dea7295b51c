//! Mutual TLS.

use std::fmt;
use std::sync::Arc;

/// Who a client is: what its certificate says first of a URI, a DNS name and a common name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity(Arc<str>);

impl Identity {
    /// From text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// That of everyone who comes without TLS.
    pub fn anonymous() -> Self {
        Self::new("anonymous")
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
