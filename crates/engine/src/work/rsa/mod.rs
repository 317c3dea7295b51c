//! RSA: keys, schemes and paddings.

pub(crate) mod key;
pub(crate) mod padding;
pub(crate) mod scheme;
