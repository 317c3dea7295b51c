//! What the provider's operations cost beside OpenSSL's own: their rate as a ratio to that of the same libcrypto without
//! the provider, through the same calls, on one thread.
//!
//! ```text
//! ratios.rs   the ratios of one operation, by the size of requests
//! tables.rs   by CPU class and OpenSSL version, compiled in; `cargo xtask offers` writes them      table.rs   their form
//! stored.rs   of one machine and one libcrypto: the file that `oarlock provider calibrate` writes
//! ```

mod ratios;
mod stored;
mod table;
mod tables;

use super::class::CpuClass;
use crate::work::algorithm::Algorithm;

pub use ratios::{LEVEL_MIN, RatioSource, Ratios, SIZES};
pub use stored::{Damaged, FILE_BYTES_MAX, MadeFor, Measured, Stored};

/// What the tables say: the row of the version, or of the nearest lower one that was measured.
pub(crate) fn compiled(
    class: CpuClass,
    version: (u32, u32),
    algorithm: Algorithm,
) -> Option<(Ratios, RatioSource)> {
    let of_class = tables::TABLES.iter().filter(|table| table.class == class);
    let table = of_class
        .filter(|table| table.version <= version)
        .max_by_key(|table| table.version)?;
    let row = table.rows.iter().find(|row| row.algorithm == algorithm)?;
    let source = RatioSource::Table {
        class,
        version: table.version,
    };
    Some((row.ratios, source))
}

/// The major and minor number of a version such as "3.0.19" or "4.0.0-beta1".
pub(crate) fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn versions_between_go_by_the_nearest_lower_one() {
        let found = |text: &str| {
            let version = version(text)?;
            let (_, source) = compiled(CpuClass::C, version, Algorithm::Aes128Ctr)?;
            match source {
                RatioSource::Table { class, version } => Some((class, version)),
                RatioSource::Calibration => None,
            }
        };
        for (text, expected) in [
            ("3.0.0", Some((3, 0))),
            ("3.0.19", Some((3, 0))),
            ("3.4.1", Some((3, 0))),
            ("3.5.0", Some((3, 5))),
            ("3.9.9", Some((3, 5))),
            ("4.0.0-beta1", Some((4, 0))),
            ("4.1.0", Some((4, 0))),
            ("10.0.0", Some((4, 0))),
            ("1.1.1w", None),
            ("3", None),
            ("", None),
        ] {
            let expected = expected.map(|version| (CpuClass::C, version));
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn every_class_and_line_has_every_operation_once() {
        for class in CpuClass::ALL {
            for version in [(3, 0), (3, 5), (4, 0)] {
                let all = tables::TABLES.iter();
                let found: Vec<_> = all
                    .filter(|table| (table.class, table.version) == (class, version))
                    .collect();
                assert_eq!(found.len(), 1, "{class} {version:?}");
                assert_eq!(found[0].rows.len(), 14, "{class} {version:?}");
                for row in found[0].rows {
                    let known = compiled(class, version, row.algorithm).unwrap();
                    assert_eq!(known.0, row.ratios);
                    assert!(Ratios::from_thousandths(row.ratios.thousandths()).is_some());
                }
            }
        }
    }
}
