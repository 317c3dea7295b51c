//! Identities that stay on cryptoservers, which unwrap file keys; files are opened here.

use std::sync::Arc;

use oarlock_net::client;
use pyo3::prelude::*;

use super::{NoAnswer, Servers};
use crate::aead::no_pickle;
use crate::signals::go_on;

/// An age identity that stays on a cryptoserver, for `oarlock.open`.
#[pyclass(frozen, module = "oarlock")]
pub struct RemoteIdentity {
    servers: Arc<Servers>,
    id: String,
}

impl RemoteIdentity {
    pub fn new(servers: Arc<Servers>, id: String) -> Self {
        Self { servers, id }
    }

    /// Returns what unwraps file keys, over connections of this process. Both are [`interruptible`](crate::signals).
    pub fn unwrapping(&self) -> Result<client::RemoteIdentity, NoAnswer> {
        let device = self.servers.device()?;
        Ok(client::RemoteIdentity::new(device, self.id.as_str()).with_question(go_on))
    }
}

#[pymethods]
impl RemoteIdentity {
    /// The ID of the identity on the server.
    #[getter]
    fn id(&self) -> &str {
        &self.id
    }

    fn __repr__(&self) -> String {
        format!("<oarlock.RemoteIdentity '{}'>", self.id)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(no_pickle("RemoteIdentity"))
    }
}
