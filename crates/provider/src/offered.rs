//! Everything that is offered, except ciphers: lists by operation.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null;

use crate::abi::{
    Algorithm, Dispatch, OPERATION_ASYM_CIPHER, OPERATION_DECODER, OPERATION_KDF, OPERATION_KEM,
    OPERATION_KEYEXCH, OPERATION_KEYMGMT, OPERATION_MAC, OPERATION_SIGNATURE,
};
use crate::asked::Seeker;
use crate::default_provider::functions::KeyFunctions;

/// The lists. Each ends with [`Algorithm::END`], and none changes once the core has seen it.
pub(crate) struct Offered {
    lists: [(i32, Vec<Algorithm>); 8],
    /// Key managements for operations that look for them, and the public ones. Ends with [`Algorithm::END`].
    sought: Vec<Algorithm>,
    /// The same, and those for operations of keys that are managed here. Ends with [`Algorithm::END`].
    sought_by_keys: Vec<Algorithm>,
    /// Whether `sought` is in use: if not, its entries are in the public list.
    hides_keys: bool,
    /// The tables that the lists point to.
    tables: Vec<Vec<Dispatch>>,
}

impl Offered {
    pub(crate) fn new(hides_keys: bool) -> Self {
        Self {
            sought: Vec::new(),
            sought_by_keys: Vec::new(),
            hides_keys,
            lists: OPERATIONS.map(|operation| (operation, Vec::new())),
            tables: Vec::new(),
        }
    }

    /// Ends each list.
    pub(crate) fn end(&mut self) {
        let managements = self.list_mut(OPERATION_KEYMGMT).map(|list| list.clone());
        self.sought.extend(managements.unwrap_or_default());
        self.sought_by_keys.extend_from_slice(&self.sought);
        let lists = self.lists.iter_mut().map(|(_, list)| list);
        for list in lists.chain([&mut self.sought, &mut self.sought_by_keys]) {
            list.push(Algorithm::END);
        }
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
        if let Some(list) = self.list_mut(operation) {
            list.push(algorithm);
        }
    }

    fn list_mut(&mut self, operation: i32) -> Option<&mut Vec<Algorithm>> {
        let mut lists = self.lists.iter_mut();
        lists.find(|(of, _)| *of == operation).map(|(_, list)| list)
    }

    /// Adds the management of keys that stay with the default provider. If it is hidden, `operation_name` tells the names of
    /// operations, and notes that OpenSSL is about to look for it again ([`asked::has_key`](crate::asked::has_key)). Returns
    /// the place of its table.
    pub(crate) fn add_keys(
        &mut self,
        names: *const c_char,
        mut table: Vec<Dispatch>,
        operation_name: extern "C" fn(c_int) -> *const c_char,
    ) -> *const Dispatch {
        if self.hides_keys {
            table.retain(|it| it.id != KeyFunctions::query_operation_name);
            let entry = Dispatch {
                id: KeyFunctions::query_operation_name,
                function: operation_name as *const c_void,
            };
            table.insert(0, entry);
            self.sought.push(Algorithm::of_keys(names, table.as_ptr()));
            self.tables.push(table);
        } else {
            self.add(OPERATION_KEYMGMT, table, |table| {
                Algorithm::of_keys(names, table)
            });
        }
        self.tables.last().map_or(null(), |table| table.as_ptr())
    }

    /// Whether the management of keys that stay with the default provider is in no public list.
    pub(crate) fn hides_keys(&self) -> bool {
        self.hides_keys
    }

    /// Adds an exchange of hidden keys, and their management to the exchange: found by every query that finds the default
    /// provider's, since a program may pass any of these with a key.
    pub(crate) fn add_exchange(
        &mut self,
        name: &'static CStr,
        table: Vec<Dispatch>,
        keys: *const c_char,
        management: *const Dispatch,
    ) {
        self.add(OPERATION_KEYEXCH, table, |table| {
            Algorithm::as_default(name.as_ptr(), table)
        });
        self.sought_by_keys
            .push(Algorithm::as_default(keys, management));
    }

    /// Returns the key managements to show to a seeker; `None` if the public list has what it looks for.
    pub(crate) fn sought(&self, seeker: Seeker) -> Option<&[Algorithm]> {
        let list = match seeker {
            Seeker::Other => return None,
            Seeker::Operation => &self.sought,
            Seeker::KeyHere => &self.sought_by_keys,
        };
        self.hides_keys.then_some(list)
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
