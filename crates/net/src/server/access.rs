//! The access list, which maps the identity in a client's certificate to keys and operations.

use std::sync::Arc;

use super::config::ClientConfig;
pub use super::config::{Operation, Pattern};
use crate::tls::Identity;

/// The access list, in the order of the configuration.
#[derive(Debug, Default)]
pub struct Access {
    clients: Vec<(Pattern, Rights)>,
}

impl Access {
    /// Builds the list from the `[[client]]` entries of a configuration.
    pub fn new(clients: &[ClientConfig]) -> Self {
        let entry = |client: &ClientConfig| {
            let rights = Rights(Arc::new(Granted {
                keys: client.keys.clone(),
                operations: client.operations.clone(),
                weight: client.weight,
                keys_max: client.keys_max,
                entry: client.identity.as_str().into(),
            }));
            (client.identity.clone(), rights)
        };
        Self {
            clients: clients.iter().map(entry).collect(),
        }
    }

    /// Returns the rights of `identity`: those of the first entry whose pattern matches; `None` if none does.
    pub fn of(&self, identity: &Identity) -> Option<Rights> {
        let mut clients = self.clients.iter();
        let (_, rights) = clients.find(|(pattern, _)| pattern.fits(identity.as_str()))?;
        Some(rights.clone())
    }
}

/// The rights of a client. Clones share them.
#[derive(Clone, Debug)]
pub struct Rights(Arc<Granted>);

#[derive(Debug)]
struct Granted {
    keys: Vec<Pattern>,
    operations: Vec<Operation>,
    weight: u32,
    keys_max: usize,
    entry: Arc<str>,
}

impl Rights {
    /// Whether `operation` is allowed with the key of this ID. For operations without a server key, `key_id` is ignored.
    pub fn allows(&self, key_id: &str, operation: Operation) -> bool {
        self.allows_operation(operation) && (!operation.needs_key() || self.allows_key(key_id))
    }

    /// Whether `operation` is allowed with any key at all.
    pub fn allows_operation(&self, operation: Operation) -> bool {
        self.0.operations.contains(&operation)
    }

    /// Whether the key of this ID may be used for the allowed operations.
    pub fn allows_key(&self, key_id: &str) -> bool {
        self.0.keys.iter().any(|pattern| pattern.fits(key_id))
    }

    /// Returns the number of its keys in the managed directory from which on the client makes no more.
    pub fn keys_max(&self) -> usize {
        self.0.keys_max
    }

    /// Returns the pattern of the entry that grants these rights.
    pub fn entry(&self) -> Arc<str> {
        Arc::clone(&self.0.entry)
    }

    /// Returns the client's weight for fair sharing; at least 1.
    pub fn weight(&self) -> u32 {
        self.0.weight
    }
}
