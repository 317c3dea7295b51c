//! Many requests at once, one in each lane.

mod gather;

pub(crate) mod cbc;
pub(crate) mod words;
