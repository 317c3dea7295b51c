//! The calibration file: lines of text, valid as a whole or not at all. docs/internals/calibration.md describes it.
//!
//! ```text
//! oarlock-openssl-calibration 3            the version of this format
//! for                                      one block for each libcrypto, mask and CPU that was measured
//! provider 0.1.0 8042ac7b...               Oarlock's version, and the provider's build id
//! libcrypto OpenSSL 3.0.19 27 Jan 2026     OpenSSL_version(OPENSSL_VERSION)
//! built built on: Tue Jan 27 ...           OpenSSL_version(OPENSSL_BUILT_ON)
//! cpu AuthenticAMD 26 2 aes avx2           vendor, family, model; features that no mask hides
//! ia32cap                                  OPENSSL_ia32cap, which hides features from libcrypto
//! made 2026-11-23
//! aes-128-ctr 1.021 1.403 2.000 2.170 2.240 2.251 2.190     by the size of requests; of all ways to call the lowest
//! x25519 4.032 1.290                       by the kind of call, as `Primitive::calls` has them
//! end 0123456789abcdef                     the FNV-1a hash of all before this line: what is cut or flipped, not forged
//! ```

use std::fmt::{self, Write as _};
use std::str::Lines;

use oarlock_kernels::cpu::{Cpu, Feature};

use super::ratios::{CallRatios, Ratios};
use crate::work::algorithm::Algorithm;
use crate::work::primitive::Primitive;

/// The measurements in a file, newest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stored(Vec<Measured>);

/// The results of one measurement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Measured {
    /// The code and CPU that the results are valid for.
    pub made_for: MadeFor,
    /// The day of the measurement, as in 2026-11-23.
    pub made: String,
    /// The ratios of each cipher.
    pub ratios: Vec<(Algorithm, Ratios)>,
    /// The ratios of each primitive.
    pub primitives: Vec<(Primitive, CallRatios)>,
}

/// The provider, libcrypto and CPU of a measurement. The texts are compared as a whole and not parsed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MadeFor {
    /// Oarlock's version, and the provider's build id.
    pub provider: String,
    /// `OpenSSL_version(OPENSSL_VERSION)`.
    pub libcrypto: String,
    /// `OpenSSL_version(OPENSSL_BUILT_ON)`.
    pub built: String,
    /// The text of [`cpu`](Self::cpu).
    pub cpu: String,
    /// The value of `OPENSSL_ia32cap`, which hides features from libcrypto.
    pub ia32cap: String,
}

/// The reason why a file is ignored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damaged(&'static str, usize);

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(what, 0) => f.write_str(what),
            Self(what, line) => write!(f, "line {line}: {what}"),
        }
    }
}

impl MadeFor {
    /// Describes the processor that runs this code, and those of its features that `cpu` has.
    pub fn cpu(cpu: Cpu) -> String {
        let mut text = match Cpu::family() {
            Some(one) => {
                let vendor = String::from_utf8_lossy(&one.vendor);
                format!("{vendor} {} {}", one.family, one.model)
            }
            None => std::env::consts::ARCH.into(),
        };
        for feature in cpu.features().map(Feature::name) {
            text.push(' ');
            text.push_str(feature);
        }
        text
    }

    fn texts(&self) -> [&str; FIELDS.len()] {
        [
            &self.provider,
            &self.libcrypto,
            &self.built,
            &self.cpu,
            &self.ia32cap,
        ]
    }
}

impl Stored {
    /// Parses a file's content.
    ///
    /// # Errors
    /// [`Damaged`] unless every byte is exactly as [`Display`](fmt::Display) writes it.
    pub fn parse(bytes: &[u8]) -> Result<Self, Damaged> {
        if bytes.len() > FILE_BYTES_MAX {
            return Err(Damaged("larger than a calibration", 0));
        }
        let text =
            std::str::from_utf8(bytes).map_err(|_| Damaged("not the text of a calibration", 0))?;
        let unfinished = Damaged("not whole: its last line is missing or does not fit", 0);
        let before_end = text
            .strip_suffix('\n')
            .and_then(|text| text.rfind('\n'))
            .map(|at| text.split_at(at + 1));
        let Some((content, end)) = before_end else {
            return Err(unfinished);
        };
        if end != end_of(content) {
            return Err(unfinished);
        }
        let mut reader = Reader {
            lines: content.lines(),
            number: 0,
        };
        if reader.next() != Some(FIRST) {
            return Err(Damaged("of another version of this format", 1));
        }
        let stored = Self(reader.blocks()?);
        // Catches everything that parses but would be written differently: spaces, leading zeros, other line endings.
        match stored.to_string() == text {
            true => Ok(stored),
            false => Err(Damaged("not as it is written", 0)),
        }
    }

    /// Returns the measurement for `wanted`.
    ///
    /// # Errors
    /// A message that says how the most similar measurement differs.
    pub fn find(&self, wanted: &MadeFor) -> Result<&Measured, String> {
        let mut nearest = (0, "it has no measurement".to_owned());
        for one in &self.0 {
            let pairs = one.made_for.texts().into_iter().zip(wanted.texts());
            let differing = FIELDS.iter().zip(pairs).filter(|(_, (is, due))| is != due);
            let differing: Vec<_> = differing.collect();
            let Some((field, (is, due))) = differing.first() else {
                return Ok(one);
            };
            let same = FIELDS.len() - differing.len();
            if nearest.0 <= same {
                let of = field.1;
                nearest = (
                    same + 1,
                    format!("made for another {of}: {is:?}, not {due:?}"),
                );
            }
        }
        Err(nearest.1)
    }

    /// Adds `new` in place of an earlier measurement of the same parts. Builds of the provider that stand side by side, such
    /// as a package's and a wheel's, keep theirs; what nobody measures again is the first to leave a full file.
    pub fn add(&mut self, new: Measured) {
        self.0.retain(|one| one.made_for != new.made_for);
        self.0.insert(0, new);
        self.0.truncate(BLOCKS_MAX);
    }

    /// Returns the measurements, newest first.
    pub fn measured(&self) -> &[Measured] {
        &self.0
    }
}

/// Formats the file's content.
impl fmt::Display for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = format!("{FIRST}\n");
        for one in &self.0 {
            text.push_str("for\n");
            for (field, value) in FIELDS.iter().zip(one.made_for.texts()) {
                writeln!(text, "{} {value}", field.0)?;
            }
            writeln!(text, "made {}", one.made)?;
            for (algorithm, ratios) in &one.ratios {
                writeln!(text, "{} {ratios}", algorithm.name())?;
            }
            for (primitive, ratios) in &one.primitives {
                writeln!(text, "{primitive} {ratios}")?;
            }
        }
        write!(f, "{text}{}", end_of(&text))
    }
}

struct Reader<'a> {
    lines: Lines<'a>,
    number: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a str> {
        self.number += 1;
        self.lines.next()
    }

    fn damaged<T>(&self, what: &'static str) -> Result<T, Damaged> {
        Err(Damaged(what, self.number))
    }

    fn blocks(&mut self) -> Result<Vec<Measured>, Damaged> {
        let mut blocks: Vec<Measured> = Vec::new();
        while let Some(line) = self.next() {
            if line == "for" {
                if blocks.len() == BLOCKS_MAX {
                    return self.damaged("more blocks than are ever written");
                }
                blocks.push(self.head()?);
                continue;
            }
            let Some(block) = blocks.last_mut() else {
                return self.damaged("not the beginning of a block");
            };
            let is_new = match Row::parse(line) {
                Some(Row::Cipher(algorithm, ratios)) => {
                    let is_new = block.ratios.iter().all(|one| one.0 != algorithm);
                    block.ratios.push((algorithm, ratios));
                    is_new
                }
                Some(Row::Primitive(primitive, ratios)) => {
                    let is_new = block.primitives.iter().all(|one| one.0 != primitive);
                    block.primitives.push((primitive, ratios));
                    is_new
                }
                None => return self.damaged("not an operation with possible ratios"),
            };
            if !is_new {
                return self.damaged("an operation for the second time");
            }
        }
        Ok(blocks)
    }

    fn head(&mut self) -> Result<Measured, Damaged> {
        let mut values = [const { String::new() }; FIELDS.len()];
        for ((name, _), value) in FIELDS.iter().zip(&mut values) {
            *value = self.field(name)?;
        }
        let [provider, libcrypto, built, cpu, ia32cap] = values;
        let made = self.field("made")?;
        if made.len() != "2026-11-23".len() || !made.bytes().all(|it| b"0123456789-".contains(&it))
        {
            return self.damaged("not a day");
        }
        Ok(Measured {
            made_for: MadeFor {
                provider,
                libcrypto,
                built,
                cpu,
                ia32cap,
            },
            made,
            ratios: Vec::new(),
            primitives: Vec::new(),
        })
    }

    fn field(&mut self, name: &str) -> Result<String, Damaged> {
        let line = self.next().unwrap_or_default();
        let value = line
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix(' '));
        match value.filter(|value| value.len() <= VALUE_BYTES_MAX) {
            Some(value) => Ok(value.into()),
            None => self.damaged("not the field that is due"),
        }
    }
}

/// A row such as `aes-128-ctr 1.021 1.403 2.000 2.170 2.240 2.251 2.190`.
enum Row {
    Cipher(Algorithm, Ratios),
    Primitive(Primitive, CallRatios),
}

impl Row {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let name = words.next()?;
        let thousandths: Vec<u32> = words.map(thousandths).collect::<Option<_>>()?;
        if let Some(algorithm) = Algorithm::named(name) {
            let ratios = Ratios::from_thousandths(thousandths.try_into().ok()?)?;
            return Some(Self::Cipher(algorithm, ratios));
        }
        let primitive = Primitive::named(name)?;
        let ratios = CallRatios::from_thousandths(primitive, &thousandths)?;
        Some(Self::Primitive(primitive, ratios))
    }
}

/// Parses a ratio such as `1.021`.
fn thousandths(ratio: &str) -> Option<u32> {
    let number = |text: &str| -> Option<u32> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().ok()).flatten()
    };
    let (whole, rest) = ratio.split_once('.')?;
    let rest = Some(rest).filter(|rest| rest.len() == 3)?;
    number(whole)?.checked_mul(1000)?.checked_add(number(rest)?)
}

/// Returns the last line of a file with this `content`, including its line end.
fn end_of(content: &str) -> String {
    // FNV-1a with 64 bits (draft-eastlake-fnv, sections 2 and 5).
    let hash = content.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("end {hash:016x}\n")
}

/// The names of the fields in the file and in messages.
const FIELDS: [(&str, &str); 5] = [
    ("provider", "build of the provider"),
    ("libcrypto", "libcrypto"),
    ("built", "build of libcrypto"),
    ("cpu", "CPU or mask"),
    ("ia32cap", "OPENSSL_ia32cap"),
];
const FIRST: &str = "oarlock-openssl-calibration 3";
/// The longest file that is read, several times the length of `BLOCKS_MAX` measurements.
pub const FILE_BYTES_MAX: usize = 64 << 10;
/// The most measurements in a file, enough for several libcryptos under several masks.
const BLOCKS_MAX: usize = 16;
/// The longest value, far longer than any real one.
const VALUE_BYTES_MAX: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(libcrypto: &str) -> Measured {
        let ratios = |of| Ratios::from_thousandths(of).unwrap();
        Measured {
            made_for: MadeFor {
                provider: "0.1.0 abcdef".into(),
                libcrypto: libcrypto.into(),
                built: "built on: Tue Jan 27 20:52:58 2026 UTC".into(),
                cpu: "AuthenticAMD 26 2 aes avx2".into(),
                ia32cap: String::new(),
            },
            made: "2026-11-23".into(),
            ratios: vec![
                (
                    Algorithm::Aes128Ctr,
                    ratios([1021, 1403, 2000, 2170, 2240, 2251, 2190]),
                ),
                (
                    Algorithm::ChaCha20,
                    ratios([10, 970, 1000, 1000, 1000, 1000, 100_000]),
                ),
            ],
            primitives: Primitive::ALL
                .iter()
                .map(|one| {
                    let ratios = vec![1340; one.calls().len()];
                    (*one, CallRatios::from_thousandths(*one, &ratios).unwrap())
                })
                .collect(),
        }
    }

    fn stored() -> Stored {
        Stored(vec![
            measured("OpenSSL 3.0.19 27 Jan 2026"),
            measured("OpenSSL 4.0.3 1 Jul 2026"),
        ])
    }

    /// Replaces the last line of `text` with the correct one.
    fn ended(text: &str) -> Vec<u8> {
        let content = &text[..text.trim_end().rfind('\n').unwrap() + 1];
        format!("{content}{}", end_of(content)).into_bytes()
    }

    #[test]
    fn what_is_written_is_read() {
        for stored in [Stored::default(), stored()] {
            let text = stored.to_string();
            assert_eq!(Stored::parse(text.as_bytes()), Ok(stored));
            assert_eq!(ended(&text), text.as_bytes());
        }
    }

    #[test]
    fn cut_or_flipped_anywhere_it_is_none() {
        let text = stored().to_string().into_bytes();
        for end in 0..text.len() {
            assert!(Stored::parse(&text[..end]).is_err(), "{end}");
        }
        for at in 0..text.len() {
            for bit in [0, 4, 7] {
                let mut flipped = text.clone();
                flipped[at] ^= 1 << bit;
                assert!(Stored::parse(&flipped).is_err(), "{at} {bit}");
            }
        }
        let mut longer = text;
        longer.push(b'\n');
        assert!(Stored::parse(&longer).is_err());
        assert!(Stored::parse(&vec![b' '; FILE_BYTES_MAX + 1]).is_err());
    }

    #[test]
    fn what_is_absurd_is_none_although_its_end_fits() {
        let text = stored().to_string();
        for (from, to, said) in [
            ("1.021", "NaN", "possible ratios"),
            ("1.021", "inf", "possible ratios"),
            ("1.021", "0.000", "possible ratios"),
            ("1.021", "-1.021", "possible ratios"),
            ("1.021", "+1.021", "possible ratios"),
            ("1.021", "0.009", "possible ratios"),
            ("1.021", "100.001", "possible ratios"),
            ("1.021", "99999999999999999999.000", "possible ratios"),
            ("1.021", "4294967.296", "possible ratios"),
            ("1.021", "1.21", "possible ratios"),
            ("1.021", "1e3", "possible ratios"),
            ("1.021", "01.021", "not as it is written"),
            ("1.021 ", "", "possible ratios"),
            ("1.021 ", "1.021 1.000 ", "possible ratios"),
            ("1.021 ", "1.021  ", "possible ratios"),
            ("aes-128-ctr", "rot13", "possible ratios"),
            ("aes-128-ctr", "chacha20", "second time"),
            ("x25519 ", "ed25519 ", "possible ratios"),
            ("x25519 1.340", "x25519", "possible ratios"),
            ("x25519 ", "x25519 1.340 ", "possible ratios"),
            ("x25519 1.340", "x25519 0.009", "possible ratios"),
            ("ec-p256", "ec-p384", "second time"),
            ("calibration 3", "calibration 2", "another version"),
            ("for\n", "", "not the beginning"),
            ("provider 0", "0", "the field that is due"),
            ("2026-11-23", "yesterday", "not a day"),
            ("2026-11-23", "2026-11-2", "not a day"),
            ("2026-11-23\n", "2026-11-23\r\n", "not a"),
        ] {
            let changed = ended(&text.replacen(from, to, 1));
            let said_of_it = Stored::parse(&changed).unwrap_err().to_string();
            assert!(said_of_it.contains(said), "{from:?} {to:?}: {said_of_it}");
        }
        let long = text.replacen("abcdef", &"a".repeat(600), 1);
        assert!(Stored::parse(&ended(&long)).is_err());
        let many = Stored(vec![measured("OpenSSL"); BLOCKS_MAX + 1]);
        assert!(Stored::parse(many.to_string().as_bytes()).is_err());
    }

    #[test]
    fn it_holds_for_what_it_was_made_for() {
        let stored = stored();
        let due = &stored.0[1].made_for;
        assert_eq!(stored.find(due), Ok(&stored.0[1]));
        type Change = fn(&mut MadeFor);
        let changes: [(Change, &str); 5] = [
            (|it| it.provider.push('0'), "another build of the provider"),
            (|it| it.libcrypto.push('0'), "another libcrypto"),
            (|it| it.built.push('0'), "another build of libcrypto"),
            (|it| it.cpu.push('0'), "another CPU or mask"),
            (|it| it.ia32cap.push('0'), "another OPENSSL_ia32cap"),
        ];
        for (change, said) in changes {
            let mut other = due.clone();
            change(&mut other);
            let why = stored.find(&other).unwrap_err();
            assert!(why.contains(said), "{why}");
        }
        let none = Stored::default().find(due).unwrap_err();
        assert_eq!(none, "it has no measurement");
    }

    #[test]
    fn the_newest_comes_first_and_replaces_its_like() {
        let mut stored = Stored::default();
        for number in 0..20 {
            stored.add(measured(&format!("OpenSSL 3.0.{number}")));
        }
        assert_eq!(stored.measured().len(), BLOCKS_MAX);
        let mut newer = measured("OpenSSL 3.0.10");
        newer.made = "2026-12-01".into();
        stored.add(newer.clone());
        assert_eq!(stored.measured().len(), BLOCKS_MAX);
        assert_eq!(stored.measured()[0], newer);
        let same = |one: &&Measured| one.made_for == newer.made_for;
        assert_eq!(stored.measured().iter().filter(same).count(), 1);
        // The file never exceeds its limit.
        assert!(stored.to_string().len() < FILE_BYTES_MAX / 4);
        // Another build of the provider does not take away what this one measured.
        let mut other = newer.clone();
        other.made_for.provider.push('1');
        stored.add(other.clone());
        assert_eq!(stored.find(&newer.made_for), Ok(&newer));
        assert_eq!(stored.find(&other.made_for), Ok(&other));
    }
}
