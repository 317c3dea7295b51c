//! Extracts the prose of a source.

/// Returns the comments and string literals of a Rust source in their lines; code becomes blank.
pub fn of(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let is_inside = before.is_alphanumeric() || before == '_';
        let bytes = if rest.starts_with("//") {
            Some(rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            Some(rest.find("*/").map_or(rest.len(), |end| end + 2))
        } else if first == '"' {
            Some(string(rest))
        } else if first == 'r' && (!is_inside || "bc".contains(before)) {
            raw_string(rest)
        } else {
            None
        };
        if let Some(bytes) = bytes {
            out += &rest[..bytes];
            rest = &rest[bytes..];
            before = ' ';
            continue;
        }
        // A quote within apostrophes begins no string.
        let literals = ["'\"'", "'\\\"'"].into_iter();
        let literal = literals.map(|it| it.len() * usize::from(rest.starts_with(it)));
        let bytes = literal.max().unwrap_or(0).max(first.len_utf8());
        out.push(if first == '\n' { '\n' } else { ' ' });
        rest = &rest[bytes..];
        before = first;
    }
    out
}

/// Returns the length of the string literal that `text` begins with.
fn string(text: &str) -> usize {
    let mut escaped = true; // the opening quote
    for (at, sign) in text.char_indices() {
        match sign {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of the raw string literal that `text` begins with, if it does.
fn raw_string(text: &str) -> Option<usize> {
    let hashes = text[1..].find(|sign| sign != '#')?;
    let start = 1 + hashes + 1;
    text[1 + hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = text[start..].find(&end);
    Some(length.map_or(text.len(), |at| start + at + end.len()))
}
