//! Files of measured ratios from arbitrary bytes: no panic; what is accepted is written as it was read, holds for what it
//! says, and stays within the file's limit when something is added.

use arbitrary::Arbitrary;
use oarlock::Algorithm;
use oarlock_engine::Primitive;
use oarlock_engine::costs::openssl::{
    CallRatios, FILE_BYTES_MAX, MadeFor, Measured, Ratios, Stored,
};

fuzz_target!(|input: Input| {
    match input {
        Input::Any(bytes) => check(&bytes),
        // The hash at the end lets nothing else pass.
        Input::Content(text) => check(ended(&text).as_bytes()),
        Input::Edited(edits) => {
            let mut text = example().to_string().into_bytes();
            text.truncate(text.len() - END_BYTES);
            for (at, byte) in edits {
                let at = usize::from(at) % text.len();
                text[at] = byte;
            }
            check(ended(&String::from_utf8_lossy(&text)).as_bytes());
        }
    }
});

#[derive(Arbitrary, Debug)]
enum Input {
    Any(Vec<u8>),
    /// All but the last line.
    Content(String),
    /// A file that is right, but for some bytes.
    Edited(Vec<(u16, u8)>),
}

fn check(bytes: &[u8]) {
    let Ok(mut stored) = Stored::parse(bytes) else {
        return;
    };
    assert_eq!(stored.to_string().as_bytes(), bytes);
    for one in stored.measured() {
        assert!(stored.find(&one.made_for).is_ok());
        for (_, ratios) in &one.ratios {
            assert_eq!(
                Ratios::from_thousandths(ratios.thousandths()),
                Some(*ratios)
            );
        }
    }
    let new = example().measured()[0].clone();
    stored.add(new.clone());
    assert_eq!(stored.find(&new.made_for), Ok(&new));
    let text = stored.to_string();
    assert!(text.len() <= FILE_BYTES_MAX);
    assert_eq!(Stored::parse(text.as_bytes()), Ok(stored));
}

fn example() -> Stored {
    let mut stored = Stored::default();
    stored.add(Measured {
        made_for: MadeFor {
            provider: "0.1.0 ab".into(),
            libcrypto: "OpenSSL 3.0.19 27 Jan 2026".into(),
            built: "built on: Tue Jan 27 20:52:58 2026 UTC".into(),
            cpu: "AuthenticAMD 26 2 aes".into(),
            ia32cap: String::new(),
        },
        made: "2026-11-23".into(),
        ratios: Ratios::from_thousandths([970, 1000, 1403, 2170, 2000, 1000, 100_000])
            .map(|ratios| (Algorithm::ChaCha20, ratios))
            .into_iter()
            .collect(),
        primitives: CallRatios::from_thousandths(Primitive::X25519, &[970, 100_000])
            .map(|ratios| (Primitive::X25519, ratios))
            .into_iter()
            .collect(),
    });
    stored
}

/// `content` with the last line that it has to have: its FNV-1a hash.
fn ended(content: &str) -> String {
    let hash = content
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("{content}end {hash:016x}\n")
}

const END_BYTES: usize = "end 0123456789abcdef\n".len();
