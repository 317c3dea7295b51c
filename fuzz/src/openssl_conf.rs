//! Configurations of OpenSSL from arbitrary bytes, as the command reads them: no panic, values within OpenSSL's bound, and
//! a section that is added behind a configuration is found. `cargo test -p oarlock-cli openssl_conf` compares the reader
//! with OpenSSL's.

use std::path::Path;

use arbitrary::Arbitrary;

#[allow(dead_code)]
#[path = "../../crates/cli/src/openssl_conf/reader.rs"]
mod reader;

use reader::Conf;

fuzz_target!(|input: Input| {
    let text = match input {
        Input::Any(bytes) => bytes,
        Input::Lines(lines) => lines.iter().flat_map(Line::bytes).collect(),
    };
    check(&without_paths(text));
});

#[derive(Arbitrary, Debug)]
enum Input {
    Any(Vec<u8>),
    Lines(Vec<Line>),
}

#[derive(Arbitrary, Debug)]
enum Line {
    Section(u8),
    Value(u8, Vec<u8>),
    Variable(u8, u8, Option<u8>, u8),
    Twice(u8, u8),
    Pragma(u8, bool),
    Include(u8),
    Noise(Vec<u8>),
}

impl Line {
    fn bytes(&self) -> Vec<u8> {
        let text = match self {
            Self::Section(name) => format!("[ s{name} ]\n"),
            Self::Value(name, value) => {
                return [format!("n{name} = ").as_bytes(), &value[..], &b"\n"[..]].concat();
            }
            Self::Variable(name, variable, section, form) => {
                let of = section.map_or(String::new(), |section| format!("s{section}::"));
                match form % 3 {
                    0 => format!("n{name} = ${of}n{variable}\n"),
                    1 => format!("n{name} = ${{{of}n{variable}}}x\n"),
                    _ => format!("n{name} = \"a\\\"b\" $({of}n{variable})\\\n more\n"),
                }
            }
            Self::Twice(name, variable) => format!("n{name} = $n{variable}$n{variable}\n"),
            Self::Pragma(which, is_on) => {
                let which = ["dollarid", "abspath", "other"][usize::from(*which) % 3];
                let value = if *is_on { "on" } else { "off" };
                format!(".pragma = {which}:{value}\n")
            }
            Self::Include(number) => format!(".include = nothing-{number}.cnf\n"),
            Self::Noise(bytes) => return bytes.clone(),
        };
        text.into_bytes()
    }
}

/// A configuration may include any file of this machine: this one finds none.
fn without_paths(mut text: Vec<u8>) -> Vec<u8> {
    let includes = text
        .windows(8)
        .any(|it| it.eq_ignore_ascii_case(b".include"));
    if includes {
        text.iter_mut()
            .filter(|byte| **byte == b'/')
            .for_each(|byte| *byte = b'_');
    }
    text
}

fn check(text: &[u8]) {
    let path = Path::new("fuzz.cnf");
    match Conf::parse(path, text) {
        Ok(conf) => {
            assert!(conf.section(reader::DEFAULT).is_some());
            // Whatever is open at the end, such as a line that goes on: an empty line closes it.
            let more = [text, &b"\n\n[fuzz added]\nname = value\n"[..]].concat();
            let more = Conf::parse(path, &more).expect("what was read can be added to");
            assert_eq!(more.value(b"fuzz added", b"name"), Some(&b"value"[..]));
            for (name, value) in conf.section(reader::DEFAULT).unwrap_or_default() {
                assert!(value.len() <= VALUE_BYTES_MAX + text.len());
                assert!(name.len() <= text.len());
            }
        }
        Err(broken) => {
            let said = broken.to_string();
            assert!(said.starts_with("fuzz.cnf:"), "{said}");
        }
    }
}

const VALUE_BYTES_MAX: usize = 65536;
