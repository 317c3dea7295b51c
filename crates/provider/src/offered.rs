//! Everything that is offered, except ciphers: lists by operation.

use std::ffi::c_char;

use crate::abi::{
    Algorithm, Dispatch, OPERATION_ASYM_CIPHER, OPERATION_DECODER, OPERATION_KDF, OPERATION_KEM,
    OPERATION_KEYEXCH, OPERATION_KEYMGMT, OPERATION_MAC, OPERATION_SIGNATURE,
};

/// The lists. Each ends with [`Algorithm::END`], and none changes once the core has seen it.
pub(crate) struct Offered {
    lists: [(i32, Vec<Algorithm>); 8],
    /// Key managements for operations that look for them. Ends with [`Algorithm::END`].
    sought: Vec<Algorithm>,
    /// Whether `sought` is in use: if not, its entries are in the public list.
    hides_keys: bool,
    /// The tables that the lists point to.
    tables: Vec<Vec<Dispatch>>,
}

impl Offered {
    pub(crate) fn new(hides_keys: bool) -> Self {
        Self {
            sought: Vec::new(),
            hides_keys,
            lists: OPERATIONS.map(|operation| (operation, Vec::new())),
            tables: Vec::new(),
        }
    }

    /// Ends each list.
    pub(crate) fn end(&mut self) {
        for (_, list) in &mut self.lists {
            list.push(Algorithm::END);
        }
        self.sought.push(Algorithm::END);
    }

    /// Adds an algorithm with its table of functions.
    pub(crate) fn add(
        &mut self,
        operation: i32,
        table: Vec<Dispatch>,
        algorithm: impl FnOnce(*const Dispatch) -> Algorithm,
    ) {
        // A vector's elements stay in place when the vector moves.
        let algorithm = algorithm(table.as_ptr());
        self.tables.push(table);
        let mut lists = self.lists.iter_mut();
        if let Some((_, list)) = lists.find(|(of, _)| *of == operation) {
            list.push(algorithm);
        }
    }

    /// Adds the management of keys that stay with the default provider.
    pub(crate) fn add_keys(&mut self, names: *const c_char, table: Vec<Dispatch>) {
        if self.hides_keys {
            self.sought.push(Algorithm::of_keys(names, table.as_ptr()));
            self.tables.push(table);
        } else {
            self.add(OPERATION_KEYMGMT, table, |table| {
                Algorithm::of_keys(names, table)
            });
        }
    }

    /// Returns the key managements for an operation that looks for them; `None` if they are in the public list.
    pub(crate) fn sought(&self) -> Option<&[Algorithm]> {
        self.hides_keys.then_some(&self.sought)
    }

    /// Whether keys of type `name`, ignoring case, are managed here.
    pub(crate) fn manages(&self, name: &[u8]) -> bool {
        let open = self.list(OPERATION_KEYMGMT).unwrap_or_default().iter();
        let mut all = open.chain(&self.sought);
        all.any(|algorithm| algorithm.is_called(name))
    }

    /// Returns what is offered for an operation; `None` if that is nothing.
    pub(crate) fn list(&self, operation: i32) -> Option<&[Algorithm]> {
        let mut lists = self.lists.iter();
        let (_, list) = lists.find(|(of, _)| *of == operation)?;
        (list.len() > 1).then_some(list)
    }
}

/// The operations that have a list.
pub(crate) const OPERATIONS: [i32; 8] = [
    OPERATION_MAC,
    OPERATION_KDF,
    OPERATION_KEYMGMT,
    OPERATION_KEYEXCH,
    OPERATION_SIGNATURE,
    OPERATION_ASYM_CIPHER,
    OPERATION_KEM,
    OPERATION_DECODER,
];
