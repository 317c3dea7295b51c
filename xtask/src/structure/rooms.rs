//! Restricts constructs to some files. Sources are read as tokens, so words in comments and strings do not count.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::Source;
use crate::tool::Result;

/// A construct that only some files may contain.
struct Rule {
    what: &'static str,
    /// Paths from the root of the repository; one that ends in `/` is a directory.
    allowed: &'static [&'static str],
    /// The directory in which the rule applies.
    within: &'static str,
    /// Whether the rule also applies to tests and benchmarks.
    binds_tests: bool,
    /// Whether the tokens begin with the construct.
    begins: fn(&[Token]) -> bool,
    remedy: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        what: "unsafe",
        allowed: &[
            "crates/kernels/",
            "crates/legacy/",
            "crates/threads/src/pool/", // a slice is split over threads
            "crates/threads/src/prefetch/", // memory that several threads fill and one reads
            "crates/engine/src/plan/shared_key.rs", // a key is created in its final place
            "crates/engine/src/device/library.rs", // functions of a C library
            "crates/engine/src/device/library/", // functions of a C library
            "crates/engine/src/aws_lc/", // aws-lc
            "crates/engine/src/device/software/", // aws-lc
            "crates/threads/src/heap.rs", // malloc_trim
            "crates/threads/src/locked.rs", // memory for secrets
            "crates/threads/src/page.rs", // a file that other processes read while this one counts in it
            "crates/threads/src/process.rs", // fork and AT_SECURE
            "crates/threads/src/mapped.rs", // a file that several processes map
            "bench/src/",                 // dlopen
            "crates/measure/src/",        // the same
            "bench/process/src/tls/ssl.rs", // libssl
            "crates/local/src/board/memory.rs", // memory that processes share
            "crates/provider/",           // foreign function interfaces
            "crates/capi/",
            "crates/pkcs11/src/abi/",        // functions that programs call
            "crates/pkcs11/src/pointers.rs", // what programs point to
            "crates/pkcs11/src/process.rs",  // what a forked child does not touch
            "fuzz/src/capi/",                // calls of the C library
            "fuzz/src/evp/",                 // calls of libcrypto
            "fuzz/src/pkcs11/",              // functions of a PKCS#11 module
            "fuzz/src/token/",               // calls of ours
            "fuzz/src/params/", // calls of the provider, made like those of OpenSSL's core
            "python/",
        ],
        within: "",
        binds_tests: false,
        begins: |tokens| word(tokens, 0) == Some("unsafe"),
        remedy: "write it safely, or move it to a room that may (xtask/src/structure/rooms.rs)",
    },
    Rule {
        what: "an intrinsic or assembly",
        allowed: &[
            "crates/kernels/",
            "crates/legacy/",
            "bench/src/bin/oarlock-timing/clock.rs", // the time-stamp counter
            "bench/src/bin/oarlock-timing/memcheck.rs", // questions to valgrind
        ],
        within: "",
        binds_tests: true,
        begins: |tokens| {
            path(tokens, &["core", "arch"])
                || path(tokens, &["std", "arch"])
                || (matches!(word(tokens, 0), Some("asm" | "global_asm" | "naked_asm"))
                    && sign(tokens, 1) == Some('!'))
        },
        remedy: "move it to crates/kernels",
    },
    Rule {
        what: "a thread",
        allowed: &[
            "crates/threads/src/pool/",
            "bench/process/src/token.rs", // clients of a PKCS#11 module
            "crates/file/src/age/passphrase.rs", // half a minute of scrypt, which a caller may leave
            "crates/measure/src/measuring/load.rs", // client threads, and those of peers
            "crates/net/src/server/audit/",      // its writer, which waits for the disk
            "crates/net/src/server/dispatch/",   // workers, which wait for devices
            "crates/net/src/server/keys/made.rs", // makes an RSA key, for seconds and at a low priority
            "crates/net/src/server/page.rs",      // pages, apart from requests
            "xtask/src/ci/programs.rs",           // test programs, several at a time
        ],
        within: "",
        binds_tests: false,
        begins: starts_thread,
        remedy: "ask oarlock's pool: only crates/threads/src/pool makes threads",
    },
    Rule {
        what: "the environment",
        allowed: &["crates/kernels/build.rs"], // cargo's variables
        within: "crates/kernels/",
        binds_tests: true,
        begins: |tokens| {
            path(tokens, &["env", "var"])
                || path(tokens, &["env", "var_os"])
                || path(tokens, &["env", "vars"])
                || path(tokens, &["env", "vars_os"])
        },
        remedy: "kernels read no environment: let the caller hand the value down",
    },
    Rule {
        what: "the standard library",
        allowed: &["crates/kernels/src/cpu.rs"], // feature detection
        within: "crates/kernels/src/",
        binds_tests: false,
        begins: |tokens| {
            path(tokens, &["std"])
                || (word(tokens, 0) == Some("crate") && word(tokens, 1) == Some("std"))
        },
        remedy: "kernels are no_std: use core",
    },
    Rule {
        what: "allocation",
        allowed: &[],
        within: "crates/kernels/src/",
        binds_tests: false,
        begins: |tokens| {
            path(tokens, &["alloc"])
                || (word(tokens, 0) == Some("crate") && word(tokens, 1) == Some("alloc"))
        },
        remedy: "kernels allocate nothing: let the caller hand the memory down",
    },
    Rule {
        what: "a module with `#[path]`",
        allowed: &[],
        within: "",
        binds_tests: false,
        begins: |tokens| {
            sign(tokens, 0) == Some('#')
                && sign(tokens, 1) == Some('[')
                && word(tokens, 2) == Some("path")
        },
        remedy: "put the file where its name says",
    },
];

/// Returns a line for every construct in a file that may not contain it.
pub fn check(sources: &[Source]) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for (path, text) in sources {
        findings.extend(check_file(path, text)?);
    }
    Ok(findings)
}

/// Returns a line for every construct in `text` that the file `path` may not contain.
fn check_file(path: &str, text: &str) -> Result<Vec<String>> {
    let stream: TokenStream = text.parse().map_err(|error: proc_macro2::LexError| {
        format!("{path}:{}: not Rust: {error}", error.span().start().line)
    })?;
    let mut tokens = Vec::new();
    flatten(stream, is_test_file(path), &mut tokens);

    let mut findings = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        for rule in RULES {
            if path.starts_with(rule.within)
                && !rule.allowed.iter().any(|room| is_in(path, room))
                && (rule.binds_tests || !token.in_test)
                && (rule.begins)(&tokens[at..])
            {
                findings.push(format!(
                    "{path}:{}: {} – {}",
                    token.line, rule.what, rule.remedy
                ));
            }
        }
    }
    Ok(findings)
}

fn is_in(path: &str, room: &str) -> bool {
    if room.ends_with('/') {
        path.starts_with(room)
    } else {
        path == room
    }
}

fn is_test_file(path: &str) -> bool {
    path.split('/')
        .any(|part| matches!(part, "tests" | "benches" | "examples" | "tests.rs"))
}

fn starts_thread(tokens: &[Token]) -> bool {
    const STARTERS: [&str; 3] = ["spawn", "Builder", "scope"];
    if word(tokens, 0) == Some("pthread_create") {
        return true;
    }
    // `thread as t` and `thread::*` would hide the start of a thread.
    word(tokens, 0) == Some("thread")
        && (word(tokens, 1) == Some("as")
            || (sign(tokens, 1) == Some(':') && sign(tokens, 2) == Some(':'))
                && (sign(tokens, 3) == Some('*')
                    || word(tokens, 3).is_some_and(|name| STARTERS.contains(&name))
                    || (sign(tokens, 3) == Some('{')
                        && tokens[4..]
                            .iter()
                            .take_while(|token| token.text != "}")
                            .any(|token| STARTERS.contains(&token.text.as_str())))))
}

/// A word, a literal (with empty text), or one sign. Braces count as signs.
struct Token {
    text: String,
    line: usize,
    in_test: bool,
}

fn word(tokens: &[Token], at: usize) -> Option<&str> {
    let text = tokens.get(at)?.text.as_str();
    text.starts_with(|first: char| first.is_alphabetic() || first == '_')
        .then_some(text)
}

fn sign(tokens: &[Token], at: usize) -> Option<char> {
    let text = tokens.get(at)?.text.as_str();
    text.chars()
        .next()
        .filter(|first| !first.is_alphanumeric() && *first != '_')
}

/// Whether the tokens are these words joined by `::`; a single word must be followed by `::`.
fn path(tokens: &[Token], words: &[&str]) -> bool {
    let joined = |at: usize| sign(tokens, at) == Some(':') && sign(tokens, at + 1) == Some(':');
    words
        .iter()
        .enumerate()
        .all(|(i, expected)| word(tokens, 3 * i) == Some(expected))
        && (1..words.len()).all(|i| joined(3 * i - 2))
        && (words.len() > 1 || joined(1))
}

/// Collects the tokens in order. Items under `#[cfg(test)]` and `#[test]` are marked as tests.
fn flatten(stream: TokenStream, in_test: bool, into: &mut Vec<Token>) {
    let mut next_is_test = false;
    let mut after_hash = false;
    for tree in stream {
        let line = tree.span().start().line;
        let mut push = |text: String, in_test| {
            into.push(Token {
                text,
                line,
                in_test,
            })
        };
        let in_test = in_test || next_is_test;
        match tree {
            TokenTree::Ident(ident) => push(ident.to_string(), in_test),
            TokenTree::Literal(_) => push(String::new(), in_test),
            TokenTree::Punct(punct) => {
                push(punct.to_string(), in_test);
                if punct.as_char() == ';' {
                    next_is_test = false;
                }
                after_hash = punct.as_char() == '#';
                continue;
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::None => ("", ""),
                };
                let attribute = after_hash && group.delimiter() == Delimiter::Bracket;
                if attribute
                    && matches!(
                        &*group.stream().to_string(),
                        "cfg (test)" | "cfg(test)" | "test"
                    )
                {
                    next_is_test = true;
                }
                push(open.to_owned(), in_test);
                flatten(group.stream(), in_test, into);
                into.push(Token {
                    text: close.to_owned(),
                    line: group.span_close().start().line,
                    in_test,
                });
                if group.delimiter() == Delimiter::Brace {
                    next_is_test = false;
                }
            }
        }
        after_hash = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path, a text, and what is said of it.
    const PLANTED: &str = r##"
crates/cli/src/main.rs | #[path = "elsewhere.rs"] mod a; | :1: a module with `#[path]` –
crates/engine/src/plan.rs | fn f() {\n unsafe { g() } } | :2: unsafe –
crates/cli/src/main.rs | unsafe fn f() {} | :1: unsafe –
crates/cli/src/main.rs | #[unsafe(no_mangle)] fn f() {} | :1: unsafe –
crates/engine/src/device/software_x.rs | unsafe fn f() {} | :1: unsafe –
crates/engine/src/plan.rs | macro_rules! m { () => { unsafe { g() } } } | :1: unsafe –
crates/threads/src/pool/mod.rs | use core::arch::x86_64::*; | move it to crates/kernels
crates/oarlock/tests/a.rs | use std::arch::asm; | move it to crates/kernels
crates/cli/src/main.rs | fn f() { asm!("nop") } | move it to crates/kernels
crates/cli/src/main.rs | fn f() {\n\n std::thread::spawn(g); } | :3: a thread –
crates/cli/src/main.rs | use std::thread::{self, Builder}; | :1: a thread –
crates/cli/src/main.rs | use std::thread::*; | :1: a thread –
crates/cli/src/main.rs | use std::thread as t; | :1: a thread –
crates/measure/src/lib.rs | fn f() { thread::scope(|s| {}) } | :1: a thread –
crates/engine/src/plan.rs | fn f() { libc::pthread_create() } | :1: a thread –
crates/kernels/src/cpu.rs | fn f() { std::env::var("A"); } | :1: the environment –
crates/kernels/src/aes.rs | use std::fmt; | :1: the standard library –
crates/kernels/src/aes.rs | extern crate std; | :1: the standard library –
crates/kernels/src/aes.rs | extern crate alloc; | :1: allocation –
"##;

    #[test]
    fn planted_lines_are_reported_with_their_place() {
        for (path, text, said) in rows(PLANTED) {
            let found = check_file(path, &text).unwrap();
            assert_eq!(found.len(), 1, "{path} {text:?}: {found:?}");
            assert!(found[0].starts_with(path), "{found:?}");
            assert!(found[0].contains(said), "{found:?}");
        }
    }

    /// Paths and texts that they may have.
    const ALLOWED: &str = r#"
crates/kernels/src/x86_64/aesni.rs | use core::arch::x86_64::*; unsafe fn f() {}
crates/kernels/src/cpu.rs | extern crate std; use std::fmt;
crates/kernels/src/tests/mod.rs | use std::collections::BTreeMap;
crates/threads/src/pool/mod.rs | fn f() { unsafe { std::thread::spawn(g) } }
crates/engine/src/device/software/aes.rs | unsafe fn f() {}
crates/oarlock/tests/fork.rs | fn f() { unsafe { g() }; std::thread::scope(h); }
crates/engine/src/plan.rs | fn f() { std::thread::available_parallelism(); }
crates/engine/src/plan.rs | fn f() { std::env::var("A"); }
"#;

    #[test]
    fn rooms_may_hold_what_they_are_for() {
        for (path, text, _) in rows(ALLOWED) {
            assert_eq!(check_file(path, &text).unwrap(), [""; 0], "{path} {text:?}");
        }
    }

    /// Returns the columns of a table, of which the third may be absent; `\n` in the second is a line break.
    fn rows(table: &'static str) -> impl Iterator<Item = (&'static str, String, &'static str)> {
        table.trim().lines().map(|row| {
            let mut cells = row.split(" | ");
            let mut next = || cells.next().unwrap_or_default();
            (next(), next().replace("\\n", "\n"), next())
        })
    }

    #[test]
    fn comments_strings_and_longer_words_are_nothing() {
        let text = r##"
            //! unsafe std::thread::spawn
            #![deny(unsafe_code)]
            /// unsafe
            /* unsafe /* asm!() */ core::arch */
            const A: &str = "unsafe"; const B: &str = r#"core::arch"#; const C: char = '"';
            fn f<'unsafe_>(spawn: u8, arch: u8) { thread::sleep(d); spawn(); }
        "##;
        assert_eq!(check_file("crates/cli/src/main.rs", text).unwrap(), [""; 0]);
    }

    #[test]
    fn tests_beside_the_code_are_tests_and_what_follows_them_is_not() {
        let text = "#[cfg(test)] mod tests { fn f() { unsafe { g() } std::thread::spawn(h); } }";
        assert_eq!(check_file("crates/cli/src/main.rs", text).unwrap(), [""; 0]);
        let text = format!("{text}\nfn f() {{ unsafe {{ g() }} }}");
        assert_eq!(
            check_file("crates/cli/src/main.rs", &text).unwrap().len(),
            1
        );
        let text = "#[cfg(test)]\nmod tests;\nfn f() { unsafe { g() } }";
        assert_eq!(check_file("crates/cli/src/main.rs", text).unwrap().len(), 1);
        let text = "#[cfg(not(test))] mod m { unsafe fn f() {} }";
        assert_eq!(check_file("crates/cli/src/main.rs", text).unwrap().len(), 1);
    }
}
