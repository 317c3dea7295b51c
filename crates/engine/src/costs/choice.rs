//! Chooses among several implementations by expected time.

use super::cost::Cost;

/// Sorts offers by expected time. `of` returns the cost and the preference of an offer. Among those within a few
/// percent of the fastest, the preferred one comes first: a smaller gain is not worth using another implementation.
pub(crate) fn order<T>(offers: &mut [T], of: impl Fn(&T) -> (Cost, u32)) {
    let ns = |offer: &T| of(offer).0.ns(TYPICAL_BYTES);
    offers.sort_by(|one, other| ns(one).total_cmp(&ns(other)));
    let best_ns = offers.first().map_or(0.0, ns);
    let near = offers.partition_point(|offer| ns(offer) <= NEAR * best_ns);
    offers[..near].sort_by_key(|offer| std::cmp::Reverse(of(offer).1));
}

/// The message length at which offers are compared, in bytes.
const TYPICAL_BYTES: usize = 4096;
/// Times up to this factor of the shortest count as equal.
const NEAR: f64 = 1.05;
