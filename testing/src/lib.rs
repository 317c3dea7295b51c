//! What the tests of several crates share. A dev-dependency only; it depends on no other crate of
//! the workspace.
#![allow(clippy::unwrap_used)]

mod cut;
mod name;
pub mod process;
mod skip;

use std::path::Path;
use std::time::{Duration, Instant};

pub use self::cut::Attacked;
pub use self::process::alone;
pub use self::skip::{has_cpus, is_root, skip};

/// How long a test waits for an event. Only a hang takes this long, also on a busy machine.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Waits until `condition` holds.
///
/// # Panics
/// After [`LIMIT`], naming `what` did not happen.
#[track_caller]
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    until_some(what, || condition().then_some(()));
}

/// Waits until `find` finds something, and returns it.
///
/// # Panics
/// After [`LIMIT`], naming `what` did not happen.
#[track_caller]
pub fn until_some<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    since(Instant::now(), what, &mut find)
}

#[track_caller]
fn since<T>(began: Instant, what: &str, find: &mut dyn FnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(began.elapsed() < LIMIT, "never: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Bytes that look random and do not repeat, the same each time; for another length they are others.
pub fn noise(bytes: usize) -> Vec<u8> {
    seeded_noise(bytes as u64, bytes)
}

/// The same for each `seed`; a longer output begins with the shorter one.
pub fn seeded_noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d;
    let mut data = Vec::with_capacity(bytes + 8);
    while data.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        data.extend_from_slice(&state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes());
    }
    data.truncate(bytes);
    data
}

/// Bytes as text, for messages.
pub fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The names in a directory, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_the_same_for_a_seed_and_does_not_repeat() {
        let noise_of = |seed| seeded_noise(seed, 100_003);
        assert_eq!(noise_of(7), noise_of(7));
        assert_ne!(noise_of(7), noise_of(8));
        assert_eq!(seeded_noise(7, 13), noise_of(7)[..13]);
        let words: std::collections::HashSet<_> =
            noise_of(0).chunks(8).map(<[u8]>::to_vec).collect();
        assert_eq!(words.len(), 100_003_usize.div_ceil(8));
    }

    #[test]
    #[should_panic(expected = "never: a pig flies")]
    fn what_never_happens_is_named() {
        let mut looks = 0;
        until("the third look", || {
            looks += 1;
            looks == 3
        });
        let long_ago = Instant::now().checked_sub(LIMIT).unwrap();
        since(long_ago, "a pig flies", &mut || None::<()>);
    }
}
