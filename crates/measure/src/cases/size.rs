//! Parses and formats numbers of bytes.

use std::fmt;
use std::str::FromStr;

/// A number of bytes: `64`, `16k`, `1m`, `1g`, with binary multiples.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Size(pub usize);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let split = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (digits, unit) = text.split_at(split);
        let shift = UNITS
            .iter()
            .find(|(_, name)| unit.eq_ignore_ascii_case(name))
            .map(|(shift, _)| *shift);
        let number: Option<usize> = digits.parse().ok();
        number
            .zip(shift)
            .and_then(|(number, shift)| number.checked_mul(1 << shift))
            .filter(|bytes| (1..=BYTES_MAX).contains(bytes))
            .map(Self)
            .ok_or_else(|| "a size is 1 to 1g bytes, such as 64, 16k or 1m".to_owned())
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shift, name) = UNITS
            .into_iter()
            .rev()
            .find(|(shift, _)| self.0 != 0 && self.0.is_multiple_of(1 << shift))
            .unwrap_or_default();
        write!(f, "{}{name}", self.0 >> shift)
    }
}

const UNITS: [(u32, &str); 4] = [(0, ""), (10, "k"), (20, "m"), (30, "g")];
/// The most bytes of a request, which every peer accepts in one call.
const BYTES_MAX: usize = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes, shown) in [
            ("64", 64, "64"),
            ("1k", 1024, "1k"),
            ("16K", 16 << 10, "16k"),
            ("1m", 1 << 20, "1m"),
            ("64M", 64 << 20, "64m"),
            ("1g", 1 << 30, "1g"),
            ("1000", 1000, "1000"),
            ("2048", 2048, "2k"),
        ] {
            let size: Size = text.parse().unwrap();
            assert_eq!((size.0, size.to_string().as_str()), (bytes, shown));
        }
        for text in [
            "",
            "0",
            "k",
            "-1",
            "1kb",
            "1 k",
            "1.5k",
            "2g",
            "99999999999999999999g",
        ] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
