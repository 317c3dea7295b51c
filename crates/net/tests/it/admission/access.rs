use oarlock_net::server::access::{Access, Operation, Pattern};
use oarlock_net::server::config::ClientConfig;
use oarlock_net::tls::Identity;

#[test]
fn a_star_stands_for_any_characters() {
    let fits = [
        ("", ""),
        ("*", ""),
        ("*", "anything at all"),
        ("web", "web"),
        ("web-*", "web-"),
        ("web-*.example", "web-1.example"),
        ("web-*.example", "web-a.b.example"),
        ("*.example", "web.example"),
        ("a*b*c", "abc"),
        ("a*b*c", "aXbbYcZc"),
        ("a**c", "ac"),
        ("*ab*ab", "abab"),
        ("spiffe://*/batch", "spiffe://example/ns/batch"),
    ];
    for (pattern, text) in fits {
        assert!(Pattern::new(pattern).fits(text), "{pattern:?} {text:?}");
    }
    let does_not = [
        ("", "a"),
        ("web", "web1"),
        ("web", "Web"),
        ("web-*.example", "web-.exampl"),
        ("web-*.example", "aweb-1.example"),
        ("web-*.example", "web-1.example.attacker"),
        ("a*a", "a"),
        ("ab*ba", "aba"),
        ("*ab*ab", "ab"),
        ("a*b*c", "acb"),
        ("?", "a"),
        ("[a]", "a"),
    ];
    for (pattern, text) in does_not {
        assert!(!Pattern::new(pattern).fits(text), "{pattern:?} {text:?}");
    }
}

#[test]
fn patterns_agree_with_a_plain_recursion() {
    fn plain(pattern: &[u8], text: &[u8]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((b'*', rest)) => (0..=text.len()).any(|at| plain(rest, &text[at..])),
            Some((byte, rest)) => text.first() == Some(byte) && plain(rest, &text[1..]),
        }
    }
    let words = |letters: &[u8], length: u32| -> Vec<String> {
        let count = letters.len();
        (0..count.pow(length))
            .map(|mut n| {
                let mut letter = || {
                    let letter = letters[n % count];
                    n /= count;
                    char::from(letter)
                };
                (0..length).map(|_| letter()).collect()
            })
            .collect()
    };
    for pattern in (0..=5).flat_map(|length| words(b"ab*", length)) {
        for text in (0..=5).flat_map(|length| words(b"ab", length)) {
            assert_eq!(
                Pattern::new(&pattern[..]).fits(&text),
                plain(pattern.as_bytes(), text.as_bytes()),
                "{pattern:?} {text:?}"
            );
        }
    }
}

fn client(identity: &str, keys: &[&str], operations: &[Operation], weight: u32) -> ClientConfig {
    ClientConfig {
        identity: Pattern::new(identity),
        keys: keys.iter().map(|key| Pattern::new(*key)).collect(),
        operations: operations.to_vec(),
        weight,
        keys_max: 100,
    }
}

#[test]
fn the_first_entry_that_fits_counts() {
    let access = Access::new(&[
        client("web-7", &["seven"], &[Operation::Sign], 7),
        client(
            "web-*",
            &["web", "b-*"],
            &[Operation::Sign, Operation::List],
            2,
        ),
    ]);
    assert!(access.of(&Identity::new("mail")).is_none());
    let seven = access.of(&Identity::new("web-7")).unwrap();
    assert_eq!(seven.weight(), 7);
    assert!(seven.allows("seven", Operation::Sign));
    assert!(!seven.allows("web", Operation::Sign));
    assert!(!seven.allows_operation(Operation::List));
    let other = access.of(&Identity::new("web-8")).unwrap();
    assert_eq!(other.weight(), 2);
    assert!(other.allows("b-1", Operation::Sign));
    assert!(!other.allows("b-1", Operation::Decrypt));
    assert!(!other.allows("c", Operation::Sign));
    assert!(other.allows("", Operation::List));
    assert!(!other.allows("", Operation::Random));
}
