//! Programs that `oarlock doctor` looks at, from arbitrary bytes and from a program with some bytes changed: no panic, and
//! of what is found each name lies in the file.

use std::fs;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::LazyLock;

use arbitrary::Arbitrary;

use crate::files::{edited, memory};

#[allow(dead_code)]
#[path = "../../crates/cli/src/elf.rs"]
mod reader;

use reader::Linked;

fuzz_target!(|input: Input| {
    match &input {
        Input::Any(bytes) => check(bytes),
        Input::Edited(edits) => check(&edited(&EXAMPLE, edits)),
        Input::WithTexts(texts, edits) => {
            let mut bytes = edited(&EXAMPLE, edits);
            for text in texts {
                bytes.extend(text);
                bytes.push(0);
            }
            check(&bytes);
        }
        Input::Long(edits, cut) => {
            let bytes = edited(&EXAMPLE, edits);
            check(&bytes[..usize::from(*cut) % (bytes.len() + 1)]);
        }
    }
});

#[derive(Arbitrary, Debug)]
enum Input {
    Any(Vec<u8>),
    Edited(Vec<(u16, u8)>),
    /// Behind the program, as those that tell of an OpenSSL inside.
    WithTexts(Vec<Vec<u8>>, Vec<(u16, u8)>),
    /// The beginning of one.
    Long(Vec<(u16, u8)>, u16),
}

fn check(bytes: &[u8]) {
    let file = memory(bytes);
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    assert_eq!(fs::read(&path).unwrap(), bytes);
    let holds = |text: &str| bytes.windows(text.len()).any(|it| it == text.as_bytes());
    match Linked::of(&path) {
        Ok(linked) => {
            for (name, by) in &linked.libraries {
                let is_clean = !name.contains(char::REPLACEMENT_CHARACTER);
                // What another library asks for is in that one.
                assert!(
                    name.is_empty() || !by.is_empty() || !is_clean || holds(name),
                    "{name:?}"
                );
            }
            for query in &linked.queries {
                assert!(holds(query) && query.len() <= 100);
            }
            if let Some(version) = &linked.inside {
                assert!(holds(version) && version.len() <= 20, "{version:?}");
            }
        }
        Err(why) => assert!(!why.is_empty() && !why.contains('\n')),
    }
}

/// A program that asks for two libraries in a folder of its own: a header, a dynamic section and strings.
static EXAMPLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let strings = b"\0libcrypto.so.3\0libfuzz.so.1\0$ORIGIN/nowhere:/nonexistent\0";
    let names = b"\0.dynstr\0.dynamic\0.shstrtab\0.go.buildinfo\0";
    // DT_NEEDED twice, DT_RUNPATH, DT_NULL.
    let dynamic: Vec<u8> = [(1, 1), (1, 16), (29, 29), (0, 0)]
        .iter()
        .flat_map(|(tag, value): &(u64, u64)| [tag.to_le_bytes(), value.to_le_bytes()].concat())
        .collect();
    let at = [HEADER_BYTES, HEADER_BYTES + strings.len()];
    let at = [at[0], at[1], at[1] + dynamic.len()];
    let sections_at = at[2] + names.len();
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    // ET_DYN for x86-64, version 1, without segments.
    file.extend([3, 0, 62, 0, 1, 0, 0, 0]);
    file.extend([0; 16]);
    file.extend((sections_at as u64).to_le_bytes());
    file.extend([0; 4]);
    file.extend(
        [HEADER_BYTES as u16, 56, 0, 64, 4, 3]
            .iter()
            .flat_map(|it| it.to_le_bytes()),
    );
    assert_eq!(file.len(), HEADER_BYTES);
    file.extend(strings);
    file.extend(&dynamic);
    file.extend(names);
    let mut section = |name: u32, kind: u32, link: u32, entry: u64, at: usize, bytes: usize| {
        file.extend([name, kind].iter().flat_map(|it| it.to_le_bytes()));
        let words = [0, 0, at as u64, bytes as u64];
        file.extend(words.iter().flat_map(|it| it.to_le_bytes()));
        file.extend([link, 0].iter().flat_map(|it| it.to_le_bytes()));
        file.extend([1, entry].iter().flat_map(|it| it.to_le_bytes()));
    };
    section(0, 0, 0, 0, 0, 0);
    section(1, 3, 0, 0, at[0], strings.len());
    section(9, 6, 1, 16, at[1], dynamic.len());
    section(18, 3, 0, 0, at[2], names.len());
    file
});

const HEADER_BYTES: usize = 64;
