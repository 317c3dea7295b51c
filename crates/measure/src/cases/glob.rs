//! Matches names against patterns.

/// Whether `glob` matches the whole of `name`: `*` matches any run of characters, `?` any one.
pub fn matches(glob: &str, name: &str) -> bool {
    bytes_match(glob.as_bytes(), name.as_bytes())
}

fn bytes_match(glob: &[u8], name: &[u8]) -> bool {
    match (glob.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            bytes_match(rest, name)
                || name
                    .split_first()
                    .is_some_and(|(_, tail)| bytes_match(glob, tail))
        }
        (Some((b'?', rest)), Some((_, tail))) => bytes_match(rest, tail),
        (Some((wanted, rest)), Some((found, tail))) => wanted == found && bytes_match(rest, tail),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (glob, name) in [
            ("*", ""),
            ("*", "aes"),
            ("aes-1??-ctr", "aes-192-ctr"),
            ("*192*", "aes-192-ctr"),
            ("a*-*r", "aes-192-ctr"),
        ] {
            assert!(matches(glob, name), "{glob} {name}");
        }
        for (glob, name) in [("", "a"), ("aes", "aes-1"), ("?", ""), ("*c", "aes-ctr")] {
            assert!(!matches(glob, name), "{glob} {name}");
        }
    }
}
