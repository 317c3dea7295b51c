//! What can be asked: algorithms, keys and requests. No thread and no device is named here.

pub(crate) mod algorithm;
pub(crate) mod counter;
