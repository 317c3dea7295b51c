//! OpenSSL configurations from arbitrary bytes, which `oarlock run` and `oarlock provider install` read and add to: no panic;
//! what is added can be read again behind the user's own, names the provider, keeps every other value of the user's, and is
//! complete, so that a second time adds the same.
//!
//! Files that a configuration includes are left to tests: they are any that its author names.

use std::path::Path;

use oarlock_programs::openssl_conf::{
    Additions, Conf, PostQuantum, ProviderSection, Untouched, excludes_oarlock, quoted,
};

/// Runs the target on one input.
///
/// # Panics
/// When it finds a fault.
pub fn run(bytes: &[u8]) {
    let _ = excludes_oarlock(&String::from_utf8_lossy(bytes));
    if includes(bytes) {
        return;
    }
    let user = match parsed(bytes) {
        Ok(user) => user,
        Err(why) => return assert!(why.starts_with("user.cnf:"), "{why}"),
    };
    quotes(bytes);
    for leaves_choice in [false, true] {
        adds(bytes, &user, leaves_choice);
    }
}

/// A line may go on in the next one.
fn includes(bytes: &[u8]) -> bool {
    let text: Vec<u8> = bytes
        .iter()
        .copied()
        .filter(|byte| !b"\\\r\n".contains(byte))
        .collect();
    let word = b".include";
    text.windows(word.len()).any(|window| window == word)
}

fn parsed(bytes: &[u8]) -> Result<Conf, String> {
    Conf::parse(Path::new("user.cnf"), bytes).map_err(|broken| broken.to_string())
}

/// A value of one line comes back as it was.
fn quotes(value: &[u8]) {
    if value.len() > 1000 || value.iter().any(u8::is_ascii_control) {
        return;
    }
    let text = [b"a = ", &quoted(value)[..], b"\n"].concat();
    let conf = parsed(&text).unwrap();
    assert_eq!(conf.value(b"default", b"a"), Some(value));
}

fn adds(bytes: &[u8], user: &Conf, leaves_choice: bool) {
    let provider = ProviderSection {
        module: b"/usr/lib/oarlock provider.so",
        leaves_choice,
        options: "max_threads=2",
        stats: None,
        calibration: None,
        daemons: None,
        post_quantum: PostQuantum::Listed,
    };
    let additions = match Additions::to(user, &provider) {
        Ok(additions) => additions.to_text(),
        Err(why) => return refused(&why),
    };
    // An empty line ends what the last one of the user's may go on in.
    let whole = [bytes, b"\n\n", &additions].concat();
    let whole = parsed(&whole).unwrap();
    let alone = parsed(&additions).unwrap();
    assert_eq!(
        whole.value(b"oarlock_sect", b"module"),
        Some(provider.module)
    );
    assert_eq!(whole.value(b"oarlock_sect", b"activate"), Some(&b"1"[..]));
    let init = whole.value(b"default", b"openssl_conf").unwrap();
    assert!(whole.section(init).is_some());
    for (section, values) in user.sections() {
        for (name, value) in values {
            if alone.value(section, name).is_none() {
                assert_eq!(whole.value(section, name), Some(&value[..]));
            }
        }
    }
    // One that has sections of these names already is not added to twice alike.
    if bytes.windows(7).any(|window| window == b"oarlock") {
        return;
    }
    let again = Additions::to(&whole, &provider).unwrap().to_text();
    let twice = parsed(&[bytes, b"\n\n", &additions, &again].concat()).unwrap();
    assert_eq!(twice.sections().count(), whole.sections().count());
    for (section, values) in twice.sections() {
        let before = whole.section(section).unwrap_or_default();
        assert_eq!(values.len(), before.len(), "a second time adds more");
        for (name, value) in values {
            assert_eq!(whole.value(section, name), Some(&value[..]));
        }
    }
}

fn refused(why: &Untouched) {
    assert!(!why.to_string().is_empty());
}
