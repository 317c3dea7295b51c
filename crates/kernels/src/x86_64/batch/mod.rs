//! Many requests at once, one in each lane.

mod gather;

pub(crate) mod beside;
pub(crate) mod cbc;
pub(crate) mod ctr;
pub(crate) mod gcm;
pub(crate) mod sha;
pub(crate) mod stitched;
pub(crate) mod tdes;
pub(crate) mod tdes_nibbles;
pub(crate) mod words;
