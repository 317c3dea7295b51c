//! Headers of age files that get other recipients: whatever the old header is, the new one can be read, has the file key for
//! just the recipients that it should, and the `age` crate opens the payload by it. A file key of another file is refused.

use std::sync::LazyLock;

use age::{Recipient, x25519};
use age_core::format::{FileKey, Stanza};
use arbitrary::Arbitrary;
use oarlock_file::Error;
use oarlock_file::age::{Header, hybrid};

use crate::age::{FILE_KEY, KEY, header, payload};

fuzz_target!(|input: Input| {
    let old = header(&input.stanzas, input.has_key);
    let Ok(old) = Header::read(&mut &old[..]) else {
        return;
    };
    let mut file_key = FILE_KEY;
    file_key[0] ^= input.flips;
    let recipients: Vec<_> = input.recipients.iter().take(RECIPIENTS_MAX).collect();
    let dynamic: Vec<&dyn Recipient> = recipients.iter().map(|it| it.get()).collect();
    match old.rewrap(&dynamic, input.keeps, &FileKey::new(Box::new(file_key))) {
        Ok(new) => {
            assert_eq!(input.flips, 0, "the file key was another one");
            check(&input, &recipients, &old, &new);
        }
        Err(error) => {
            assert!(
                input.flips == 0 || matches!(error, Error::HeaderMac),
                "{error}"
            );
            assert!(!error.to_string().is_empty() && !error.to_string().contains('\n'));
        }
    }
});

#[derive(Arbitrary, Debug)]
struct Input {
    /// The stanzas of the old header, as in the target `age`.
    stanzas: Vec<Vec<u8>>,
    has_key: bool,
    recipients: Vec<One>,
    keeps: bool,
    /// Bits of the file key that are wrong.
    flips: u8,
}

#[derive(Arbitrary, Debug, PartialEq, Clone, Copy)]
enum One {
    Classical,
    PostQuantum,
}

impl One {
    fn get(self) -> &'static dyn Recipient {
        match self {
            Self::Classical => &KEYS.classical.1,
            Self::PostQuantum => &KEYS.post_quantum.1,
        }
    }
}

fn check(input: &Input, recipients: &[&One], old: &Header, new: &Header) {
    let again = Header::read(&mut &new.encoded[..]).expect("what was made");
    assert_eq!(again.encoded, new.encoded);
    again
        .verify(&FileKey::new(Box::new(FILE_KEY)))
        .expect("the file key");
    let had_key = old.unwrap(&[&KEY]).is_ok();
    assert_eq!(new.unwrap(&[&KEY]).is_ok(), had_key && input.keeps);

    let mut file = new.encoded.clone();
    file.extend(payload(PLAIN));
    let keys = &*KEYS;
    let is_for = |one| recipients.contains(&&one);
    // Stanzas of the old header may have these tags, and then be malformed, which ends the search for another.
    let is_known = |it: &Stanza| it.tag == "X25519" || it.tag == hybrid::STANZA_TAG;
    let is_disturbed = input.keeps && old.stanzas.iter().any(is_known);
    if !is_disturbed {
        assert_eq!(
            new.unwrap(&[&keys.classical.0]).is_ok(),
            is_for(One::Classical)
        );
        assert_eq!(
            new.unwrap(&[&keys.post_quantum.0]).is_ok(),
            is_for(One::PostQuantum)
        );
    }
    if is_for(One::Classical) && !is_disturbed {
        assert_eq!(
            age::decrypt(&keys.classical.0, &file).expect("what was made"),
            PLAIN
        );
    }
}

struct Keys {
    classical: (x25519::Identity, x25519::Recipient),
    post_quantum: (hybrid::Identity, hybrid::Recipient),
}

static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let classical = x25519::Identity::generate();
    let post_quantum = hybrid::Identity::generate().expect("random numbers");
    Keys {
        classical: (classical.clone(), classical.to_public()),
        post_quantum: (post_quantum.clone(), post_quantum.to_public()),
    }
});

const RECIPIENTS_MAX: usize = 4;
const PLAIN: &[u8] = b"the payload stays";
