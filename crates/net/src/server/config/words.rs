//! Rewords the parser's errors for the reader of a configuration: the parser names Rust types.

/// Rewords a message of the parser.
pub(super) fn plain(message: &str) -> String {
    let message = message.trim().replace('\n', "; ");
    let in_words = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))
        .and_then(|rest| rest.split_once(", expected "))
        .map(|(found, expected)| format!("{}: expected {}", value(found), kind(expected)));
    if let Some(text) = in_words {
        return text;
    }
    if let Some(name) = message.strip_prefix("missing field ") {
        return format!("{} is missing", unquoted(name));
    }
    for (begin, what) in [("unknown field ", "setting"), ("unknown variant ", "value")] {
        let rest = message.strip_prefix(begin);
        if let Some((name, known)) = rest.and_then(|rest| rest.split_once(", expected ")) {
            let known = unquoted(known.trim_start_matches("one of "));
            return format!("unknown {what} {}: choose {known}", unquoted(name));
        }
    }
    match &message[..] {
        "duplicate key" => "this setting stands here twice: remove one of them".into(),
        _ => message,
    }
}

/// Rewords a value as serde describes it: "integer `5`", "string \"x\"", "sequence".
fn value(found: &str) -> String {
    for kind in ["integer ", "floating point ", "boolean "] {
        if let Some(number) = found.strip_prefix(kind) {
            return unquoted(number);
        }
    }
    match found.strip_prefix("string ") {
        Some(text) => text.into(),
        None => kind(found),
    }
}

/// Rewords the type that serde expected.
fn kind(expected: &str) -> String {
    let text = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0 on",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" => "text in quotes",
        "sequence" | "a sequence" => "a list in brackets",
        "map" | "a map" => "a table of settings",
        _ if expected.starts_with("struct ") => "a table of settings",
        _ if expected.starts_with("enum ") => "one of the names in the manual",
        other => return unquoted(other),
    };
    text.into()
}

fn unquoted(text: &str) -> String {
    text.replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn no_message_names_a_type() {
        for (message, expected) in [
            (
                "invalid type: string \"x\", expected u64",
                "\"x\": expected a whole number from 0 on",
            ),
            (
                "invalid value: integer `-1`, expected u64",
                "-1: expected a whole number from 0 on",
            ),
            (
                "invalid type: integer `1`, expected struct RawLimits",
                "1: expected a table of settings",
            ),
            (
                "invalid type: sequence, expected a string",
                "a list in brackets: expected text in quotes",
            ),
            ("missing field `kind`", "kind is missing"),
            (
                "unknown field `lisen`, expected `listen` or `tls`",
                "unknown setting lisen: choose listen or tls",
            ),
            (
                "unknown variant `fly`, expected one of `sign`, `list`",
                "unknown value fly: choose sign, list",
            ),
        ] {
            assert_eq!(plain(message), expected);
        }
    }
}
