//! Many requests at once, one in each lane.

mod gather;

pub(crate) mod cbc;
pub(crate) mod ctr;
pub(crate) mod gcm;
pub(crate) mod words;
