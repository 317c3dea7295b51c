//! `packet-*`: many packets in one call, each with its own key, nonce and length, compared with libraries that do the same.
//!
//! ```text
//! line.rs      what a line says          measure.rs  outputs compared, then samples in turn
//! table.rs     a case over lengths       ctr.rs  cbc.rs  chain.rs  gcm.rs  esp.rs  srtp.rs  tls.rs    the lines, a file for each family
//! ```
//!
//! `--targets='packet-*'` measures the promises, at their lengths. `--case='packet-*'` measures from 16 bytes to 64 KiB, or
//! the sizes of `--size`, and draws a chart.
//!
//! To add a line:
//!
//! 1. Add a [`Line`] to the table `LINES` of its family, or a file for a new family, whose table is added to
//!    [`FAMILIES`]. Its name begins with `packet-`.
//! 2. Write a `Side` (`peers/batch/`) for Oarlock and one for each peer: keys and buffers are set up from the `Batch`;
//!    only `run` is timed; it builds the requests in each call (`with_requests`). If a peer has
//!    several interfaces, each is a [`Way`](line::Way), and the fastest counts.
//! 3. Add to `promises` the ratios it has to reach, with lengths and CPU classes. Each promise
//!    over a peer becomes a line of `--targets`.
//!
//! Outputs are compared with every peer before anything is timed, over packets of many lengths and over those that are
//! timed.

mod cbc;
mod chain;
mod ctr;
mod esp;
mod gcm;
mod line;
mod measure;
mod srtp;
mod table;
mod tls;

pub(crate) use line::{Line, Promise};
pub(super) use table::table;

/// The lines of all families, in the order of measurement.
const FAMILIES: &[&[Line]] = &[
    ctr::LINES,
    cbc::LINES,
    chain::LINES,
    gcm::LINES,
    esp::LINES,
    srtp::LINES,
    tls::LINES,
];

/// Returns every line.
pub(crate) fn lines() -> impl Iterator<Item = &'static Line> {
    FAMILIES.iter().copied().flatten()
}

#[cfg(test)]
mod tests {
    use oarlock_measure::Error;

    use super::*;
    use crate::peers::batch::{Batch, PACKETS_MAX};

    #[test]
    fn every_promise_is_about_a_peer_and_a_length_of_its_line() {
        for line in lines() {
            assert!(line.name.starts_with("packet-"), "{}", line.name);
            assert!((1..=PACKETS_MAX).contains(&line.packets), "{}", line.name);
            for promise in line.promises {
                assert!(promise.over.starts_with("over "), "{promise:?}");
                let mut peers = line.peers.iter();
                assert!(peers.any(|peer| peer.name == promise.peer()), "{promise:?}");
                assert!(promise.bytes.is_multiple_of(line.granule), "{promise:?}");
            }
        }
    }

    /// Compares every way of every peer on this machine, on packets of many lengths.
    #[test]
    fn all_sides_agree() {
        for line in lines() {
            let mut compared = 0;
            for peer in line.peers {
                for way in peer.ways {
                    match line.compare(peer.name, *way, &Batch::of(line.packets, 4 * line.granule))
                    {
                        Ok(()) => compared += 1,
                        Err(Error::Unavailable(_)) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            }
            assert!(compared > 0, "{}", line.name);
        }
    }
}
