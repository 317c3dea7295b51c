//! What a relay reads of programs, programs of a relay, and both of files: no panic, and what is accepted is written as it
//! was read.

use std::sync::LazyLock;

use arbitrary::Arbitrary;
use oarlock::rsa::RsaPrivateKey;
use oarlock_local::relay::{Question, Reference, read_answer, read_list};

fuzz_target!(|input: Input| {
    match &input {
        Input::Question(message) => {
            if let Some(question) = Question::from_message(message) {
                assert_eq!(question.to_message(), *message);
            }
        }
        Input::Answer(message) => match read_answer(message) {
            Some(Ok(made)) => assert_eq!(*made, message[1..]),
            Some(Err(why)) => assert!(!why.chars().any(char::is_control)),
            None => {}
        },
        Input::List(part) => {
            if let Some((keys, has_more)) = read_list(part, "") {
                assert!(!has_more || !keys.is_empty());
                assert!(keys.is_sorted_by(|one, next| one.key_id < next.key_id));
            }
        }
        Input::Pem(text) => check(text),
        Input::Reference(edits) => check(&edited(PEM.as_bytes(), edits)),
        Input::Der(edits) => check_der(&edited(&DER, edits)),
    }
});

#[derive(Arbitrary, Debug)]
enum Input {
    Question(Vec<u8>),
    Answer(Vec<u8>),
    Pem(Vec<u8>),
    /// A file that is right, but for edits.
    Reference(Vec<(u16, u8)>),
    Der(Vec<(u16, u8)>),
    List(Vec<u8>),
}

fn check(text: &[u8]) {
    if let Ok(der) = Reference::der_of_pem(text) {
        check_der(&der);
    }
}

fn check_der(der: &[u8]) {
    if let Ok(reference) = Reference::from_der(der) {
        let pem = reference.to_pem().unwrap();
        assert_eq!(Reference::from_pem(pem.as_bytes()), Ok(reference));
    }
}

fn edited(file: &[u8], edits: &[(u16, u8)]) -> Vec<u8> {
    let mut file = file.to_vec();
    for (place, value) in edits {
        let place = usize::from(*place) % file.len();
        file[place] = *value;
    }
    file
}

static PEM: LazyLock<String> = LazyLock::new(|| {
    let key = include_str!("../../crates/oarlock/tests/keys/rsa2048.pem");
    let key = RsaPrivateKey::from_pem(key).unwrap();
    let reference = Reference::new("web", key.public_key().clone()).unwrap();
    reference.to_pem().unwrap()
});

static DER: LazyLock<Vec<u8>> = LazyLock::new(|| Reference::der_of_pem(PEM.as_bytes()).unwrap());
