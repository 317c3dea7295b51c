//! Programs and libraries in ELF from arbitrary bytes, of which `oarlock doctor` reads what they are linked with: no panic,
//! names and folders that the file holds, and texts of the kind that is looked for.

use oarlock_programs::elf::{Needed, queries_inside, version_inside};

/// Runs the target on one input.
///
/// # Panics
/// When it finds a fault.
pub fn run(bytes: &[u8]) {
    match Needed::of(bytes) {
        Ok(needed) => {
            // Of a text that is none, the part before what is none.
            let part = |text: &str| text.split('\u{fffd}').next().unwrap_or_default().to_owned();
            for text in needed.names.iter().chain(&needed.folders) {
                assert!(holds(bytes, part(text).as_bytes()), "{text:?}");
            }
        }
        Err(why) => assert!(!why.is_empty() && !why.contains('\n')),
    }
    if let Some(version) = version_inside(bytes) {
        assert!(holds(bytes, version.as_bytes()), "{version:?}");
        assert!(!version.contains(char::is_control), "{version:?}");
    }
    for query in queries_inside(bytes) {
        assert!(holds(bytes, query.as_bytes()), "{query:?}");
        assert!(query.len() <= 100 && !query.contains(char::is_control));
    }
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    part.is_empty() || bytes.windows(part.len()).any(|window| window == part)
}
