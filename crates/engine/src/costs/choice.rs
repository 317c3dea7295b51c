//! Chooses among several implementations: the one that is expected to be done first.

use super::cost::Cost;

/// Orders offers, each with its preference: the one expected to be done first comes first. Of those
/// within a few hundredths of the best the preferred one does: one more implementation is not worth
/// that.
pub(crate) fn order<T>(offers: &mut [T], of: impl Fn(&T) -> (Cost, u32)) {
    let ns = |offer: &T| of(offer).0.ns(TYPICAL_BYTES);
    offers.sort_by(|one, other| ns(one).total_cmp(&ns(other)));
    let best_ns = offers.first().map_or(0.0, ns);
    let near = offers.partition_point(|offer| ns(offer) <= NEAR * best_ns);
    offers[..near].sort_by_key(|offer| std::cmp::Reverse(of(offer).1));
}

/// The length of message by which devices are compared.
const TYPICAL_BYTES: usize = 4096;
/// Times that may be a little longer and still count as equal.
const NEAR: f64 = 1.05;
