//! Checks that unsafe code names its preconditions: every `unsafe fn` has a `# Safety` section, and no SAFETY comment occurs
//! more than three times, since a stock sentence names no precondition of its place.
//!
//! Methods of a trait's implementation are covered by the trait's section. A function that a macro defines is checked in the
//! macro.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::Source;
use crate::tool::Result;

/// The most occurrences of one SAFETY comment.
const SAME_MAX: usize = 3;

/// A fault in a line of a file.
struct Fault {
    path: String,
    line: usize,
    what: String,
}

/// Returns a line for every fault.
pub fn check(sources: &[Source]) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let mut comments = BTreeMap::<String, Vec<(&str, usize)>>::new();
    for (path, text) in sources {
        let stream: TokenStream = text.parse().map_err(|error: proc_macro2::LexError| {
            format!("{path}:{}: not Rust: {error}", error.span().start().line)
        })?;
        sections(stream, false, &mut |line, name| {
            let what = format!(
                "unsafe fn {name} has no `# Safety` section – name its preconditions in one"
            );
            faults.push(Fault {
                path: path.clone(),
                line,
                what,
            });
        });
        for (line, comment) in comments_of(text) {
            comments.entry(comment).or_default().push((path, line));
        }
    }
    for (comment, places) in comments {
        let times = places.len();
        if times <= SAME_MAX {
            continue;
        }
        faults.extend(places.into_iter().map(|(path, line)| Fault {
            path: path.to_owned(),
            line,
            what: format!(
                "this SAFETY comment stands {times} times – name the precondition of this place and who met it: \
                 {comment}"
            ),
        }));
    }
    faults.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    let said = |Fault { path, line, what }| format!("{path}:{line}: {what}");
    Ok(faults.into_iter().map(said).collect())
}

/// Returns the text of each SAFETY comment as one line, with the number of its first line.
fn comments_of(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((i, line)) = lines.next() {
        let Some(first) = line.trim_start().strip_prefix("// SAFETY") else {
            continue;
        };
        let mut comment = first.trim_start_matches(':').trim().to_owned();
        while let Some((_, more)) = lines.next_if(|(_, line)| line.trim_start().starts_with("//")) {
            comment.push(' ');
            comment.push_str(more.trim_start().trim_start_matches('/').trim());
        }
        found.push((i + 1, comment));
    }
    found
}

/// Calls `missing` for each `unsafe fn` without a section. `of_trait` is set inside an implementation of a trait.
fn sections(stream: TokenStream, of_trait: bool, missing: &mut impl FnMut(usize, String)) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let word = |at: usize| match trees.get(at) {
        Some(TokenTree::Ident(ident)) => ident.to_string(),
        Some(TokenTree::Punct(sign)) => sign.to_string(),
        _ => String::new(),
    };
    let (mut has_section, mut is_impl, mut implements) = (false, false, false);
    for (at, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Ident(ident) if ident == "impl" => (is_impl, implements) = (true, false),
            // Not `for<'a>`, which belongs to a bound.
            TokenTree::Ident(ident) if ident == "for" => {
                implements |= is_impl && word(at + 1) != "<";
            }
            TokenTree::Ident(ident) if ident == "unsafe" => {
                let mut next = at + 1;
                if word(next) == "extern" {
                    next += 1;
                    next += usize::from(matches!(trees.get(next), Some(TokenTree::Literal(_))));
                }
                // A function type has no name.
                let name = match word(next + 1).as_str() {
                    "$" => format!("${}", word(next + 2)),
                    name => name.to_owned(),
                };
                if word(next) == "fn" && !name.is_empty() && !has_section && !of_trait {
                    missing(ident.span().start().line, name);
                }
            }
            TokenTree::Punct(sign) if sign.as_char() == ';' => {
                (has_section, is_impl) = (false, false);
            }
            TokenTree::Group(group) => {
                let is_attribute = at > 0 && word(at - 1) == "#";
                if is_attribute {
                    has_section |= group.stream().to_string().contains("# Safety");
                    continue;
                }
                let is_body = group.delimiter() == Delimiter::Brace;
                sections(group.stream(), is_body && is_impl && implements, missing);
                if is_body {
                    (has_section, is_impl) = (false, false);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsafe_function_without_a_section_is_reported() {
        for (text, line) in [
            ("unsafe fn f() {}", 1),
            ("/// Does it.\npub(crate) unsafe fn f() {}", 2),
            ("fn outer() {\n    #[inline]\n    unsafe fn f() {}\n}", 3),
            ("\nunsafe extern \"C\" fn f() {}", 2),
            ("trait T {\n    unsafe fn f();\n}", 2),
            ("impl S {\n    unsafe fn f() {}\n}", 2),
            ("impl S<fn(for<'a> &'a u8)> { unsafe fn f() {} }", 1),
            (
                "impl T for S {\n    fn g() {\n        unsafe fn f() {}\n    }\n}",
                3,
            ),
            ("macro_rules! m { () => { unsafe fn f() {} } }", 1),
            (
                "/// # Safety\n/// Of the first alone.\nunsafe fn g() {}\nunsafe fn f() {}",
                4,
            ),
        ] {
            let found = judged(&[text]);
            let said = format!("0.rs:{line}: unsafe fn f has no `# Safety` section");
            assert!(
                matches!(&found[..], [one] if one.starts_with(&said)),
                "{text}: {found:?}"
            );
        }
        let found = judged(&["macro_rules! m { ($n:ident) => { unsafe fn $n() {} } }"]);
        assert!(found[0].contains("unsafe fn $n has"), "{found:?}");
    }

    #[test]
    fn sections_implementations_and_types_are_not() {
        for text in [
            "/// Does it.\n///\n/// # Safety\n/// There is one.\n#[inline]\npub unsafe fn f() {}",
            "impl<'a, F: for<'b> Fn(&'b u8)> T for S<'a, F> { unsafe fn f() {} unsafe fn g() {} }",
            "type F = unsafe extern \"C\" fn(u8);\nfn f(g: unsafe fn()) {}",
            "fn f() { unsafe { g() } }\nunsafe impl Send for S {}\nunsafe extern \"C\" { fn h(); }",
            "#[target_feature(enable = \"avx2\")]\nfn f() {}",
        ] {
            assert_eq!(judged(&[text]), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_comment_may_stand_three_times() {
        let one = "// SAFETY: as the caller\n    // says.\nfn f() {}\n";
        let other =
            "fn f() {} // SAFETY: as the caller says.\n    // SAFETY: as the caller   says.\n";
        assert_eq!(judged(&[one, one, one]), [""; 0]);
        let found = judged(&[one, &one.repeat(2), "", one]);
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(
            found[2].starts_with("1.rs:4: this SAFETY comment stands 4 times"),
            "{found:?}"
        );
        assert!(found[2].ends_with(": as the caller says."), "{found:?}");
        // A comment after code has to be short, and is not checked.
        assert_eq!(judged(&[other, one, one]), [""; 0]);
    }

    fn judged(texts: &[&str]) -> Vec<String> {
        let numbered = texts.iter().enumerate();
        let texts: Vec<_> = numbered
            .map(|(i, text)| (format!("{i}.rs"), (*text).to_owned()))
            .collect();
        check(&texts).unwrap()
    }
}
