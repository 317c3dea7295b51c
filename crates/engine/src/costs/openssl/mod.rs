//! The speed of the provider's operations relative to OpenSSL's own: a ratio of rates, with the same libcrypto with and
//! without the provider, through the same calls, on one thread.
//!
//! ```text
//! ratios.rs   the ratios of one operation, by the size of requests
//! families/   by family of processors, CPU class and OpenSSL version; `cargo xtask offers` writes these files
//! tables.rs   the same, compiled in
//! table.rs    the form of these tables
//! stored.rs   of one machine and one libcrypto: the file that `oarlock provider calibrate` writes
//! trusted.rs  whose files a process trusts
//! ```

mod ratios;
mod stored;
mod table;
mod tables;
mod trusted;

use oarlock_kernels::cpu::Family;

use self::table::Table;
use super::class::CpuClass;
use crate::work::algorithm::Algorithm;

pub use ratios::{CallRatios, LEVEL_MIN, RatioSource, Ratios, SIZES};
pub use stored::{Damaged, FILE_BYTES_MAX, MadeFor, Measured, Stored};
pub use trusted::Trusted;

/// What the tables say: the rows of the version, or of the nearest lower one that was measured. Families of
/// processors differ within a class. The rows of this one's count; where it was not measured, of each size the lowest
/// ratio of all families: without a calibration an operation is offered there where it is level on each of them.
pub(crate) fn compiled(
    class: CpuClass,
    version: (u32, u32),
    algorithm: Algorithm,
    cpu: Option<Family>,
) -> Option<(Ratios, RatioSource)> {
    let up_to = |table: &&Table| table.class == class && table.version <= version;
    let up_to = || tables::TABLES.iter().filter(up_to);
    let version = up_to().map(|table| table.version).max()?;
    let of_version = || up_to().filter(|table| table.version == version);
    let is_own = |table: &Table| cpu.is_some_and(|cpu| table.processors.include(cpu));
    let is_known = of_version().any(is_own);
    let ratios = of_version()
        .filter(|table| !is_known || is_own(table))
        .flat_map(|table| table.rows)
        .filter(|row| row.algorithm == algorithm)
        .map(|row| row.ratios)
        .reduce(Ratios::or_lower)?;
    Some((ratios, RatioSource::Table { class, version }))
}

/// The major and minor number of a version such as "3.0.19" or "4.0.0-beta1".
pub(crate) fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::costs::table::Processors;

    #[test]
    fn versions_between_go_by_the_nearest_lower_one() {
        let found = |text: &str| {
            let version = version(text)?;
            let (_, source) = compiled(CpuClass::C, version, Algorithm::Aes128Ctr, None)?;
            match source {
                RatioSource::Table { class, version } => Some((class, version)),
                RatioSource::Calibration => None,
            }
        };
        for (text, expected) in [
            ("3.0.0", Some((3, 0))),
            ("3.0.19", Some((3, 0))),
            ("3.1.0", Some((3, 1))),
            ("3.4.1", Some((3, 1))),
            ("3.9.9", Some((3, 1))),
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
    fn every_class_and_line_has_every_operation_once_on_each_family() {
        let is_measured = |class: &CpuClass| *class != CpuClass::E;
        for class in CpuClass::ALL.into_iter().filter(is_measured) {
            for version in [(3, 0), (3, 1), (4, 0)] {
                let all = tables::TABLES.iter();
                let found: Vec<_> = all
                    .filter(|table| (table.class, table.version) == (class, version))
                    .collect();
                let families: HashSet<_> = found.iter().map(|table| table.processors).collect();
                assert!(
                    !found.is_empty() && families.len() == found.len(),
                    "{class} {version:?}"
                );
                for table in found {
                    assert_eq!(table.rows.len(), 14, "{class} {version:?}");
                    for row in table.rows {
                        let known = |cpu| compiled(class, version, row.algorithm, cpu).unwrap().0;
                        assert_eq!(known(None).or_lower(row.ratios), known(None));
                        assert_eq!(known(Some(first_of(table))), row.ratios);
                        assert!(Ratios::from_thousandths(row.ratios.thousandths()).is_some());
                    }
                }
            }
        }
    }

    #[test]
    fn of_cpus_without_aes_instructions_the_tables_know_nothing() {
        for algorithm in [Algorithm::Aes128Ctr, Algorithm::ChaCha20] {
            assert!(compiled(CpuClass::E, (3, 0), algorithm, None).is_none());
        }
    }

    /// The first processor that a table is of.
    fn first_of(table: &Table) -> Family {
        let Processors {
            vendor,
            family,
            models: (first, last),
        } = table.processors;
        let cpu = Family {
            vendor: vendor.as_bytes().try_into().unwrap(),
            family,
            model: first,
        };
        let is_of = |cpu| table.processors.include(cpu);
        assert!(is_of(cpu) && is_of(Family { model: last, ..cpu }));
        let model = last + 1;
        assert!(!is_of(Family { model, ..cpu }));
        let family = cpu.family + 1;
        assert!(!is_of(Family { family, ..cpu }));
        cpu
    }

    #[test]
    fn the_lowest_ratio_of_all_families_counts_where_this_one_was_not_measured() {
        let known = |thousandths| Ratios::from_thousandths(thousandths).unwrap();
        let one = known([1000, 2000, 900, 1100, 1500, 1500, 900]);
        let other = known([1200, 800, 1000, 1100, 1400, 1600, 800]);
        let lower = known([1000, 800, 900, 1100, 1400, 1500, 800]);
        assert_eq!(one.or_lower(other), lower);
        assert_eq!(other.or_lower(one), lower);
    }
}
