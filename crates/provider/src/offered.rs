//! What is offered besides ciphers: lists by operation.

use crate::abi::{
    Algorithm, Dispatch, OPERATION_ASYM_CIPHER, OPERATION_DECODER, OPERATION_KDF, OPERATION_KEM,
    OPERATION_KEYEXCH, OPERATION_KEYMGMT, OPERATION_MAC, OPERATION_SIGNATURE,
};

/// The lists. Each ends with [`Algorithm::END`], and none of them changes once the core has seen it.
pub(crate) struct Offered {
    lists: [(i32, Vec<Algorithm>); 8],
    /// What the lists point to.
    tables: Vec<Vec<Dispatch>>,
}

impl Offered {
    pub(crate) fn new() -> Self {
        Self {
            lists: OPERATIONS.map(|operation| (operation, Vec::new())),
            tables: Vec::new(),
        }
    }

    /// Ends each list.
    pub(crate) fn end(&mut self) {
        for (_, list) in &mut self.lists {
            list.push(Algorithm::END);
        }
    }

    /// Adds an algorithm, with the functions of its table.
    pub(crate) fn add(
        &mut self,
        operation: i32,
        table: Vec<Dispatch>,
        algorithm: impl FnOnce(*const Dispatch) -> Algorithm,
    ) {
        // The functions of a vector stay where they are when it moves.
        let algorithm = algorithm(table.as_ptr());
        self.tables.push(table);
        let mut lists = self.lists.iter_mut();
        if let Some((_, list)) = lists.find(|(of, _)| *of == operation) {
            list.push(algorithm);
        }
    }

    /// Whether something of that name, in either case, is offered for an operation.
    pub(crate) fn has(&self, operation: i32, name: &[u8]) -> bool {
        let mut list = self.list(operation).into_iter().flatten();
        list.any(|algorithm| algorithm.is_called(name))
    }

    /// What is offered for an operation; `None` if that is nothing.
    pub(crate) fn list(&self, operation: i32) -> Option<&[Algorithm]> {
        let mut lists = self.lists.iter();
        let (_, list) = lists.find(|(of, _)| *of == operation)?;
        (list.len() > 1).then_some(list)
    }
}

/// The operations with such a list.
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
