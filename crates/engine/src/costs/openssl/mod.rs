//! The speed of the provider's operations relative to OpenSSL's own: the ratio of their rates with the same libcrypto,
//! through the same calls, on one thread.
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
use crate::work::primitive::Primitive;

pub use ratios::{CallRatios, LEVEL_MIN, RatioSource, Ratios, SIZES};
pub use stored::{Damaged, FILE_BYTES_MAX, MadeFor, Measured, Stored};
pub use trusted::Trusted;

/// Returns the compiled ratios of a cipher.
pub(crate) fn compiled(
    class: CpuClass,
    version: (u32, u32),
    algorithm: Algorithm,
    cpu: Option<Family>,
) -> Option<(Ratios, RatioSource)> {
    let row = |table: &Table| {
        let row = table.rows.iter().find(|row| row.algorithm == algorithm)?;
        Some(row.ratios)
    };
    of_tables(class, version, cpu, row, Ratios::or_lower)
}

/// Returns the compiled ratios of a primitive. They were measured on CPUs with SHA instructions, so they say nothing
/// about hashing on other CPUs.
pub(crate) fn compiled_primitive(
    class: CpuClass,
    version: (u32, u32),
    primitive: Primitive,
    cpu: Option<Family>,
    has_sha: bool,
) -> Option<(CallRatios, RatioSource)> {
    let row = |table: &Table| {
        let row = table.primitives.iter().find(|row| row.0 == primitive)?;
        Some(row.1)
    };
    let is_known = has_sha || !primitive.is_hash();
    is_known
        .then(|| of_tables(class, version, cpu, row, CallRatios::or_lower))
        .flatten()
}

/// Returns the row of the version, or of the nearest lower version measured. Families of processors differ within a
/// class, so this family's row is used. If the family was not measured, each ratio is the lowest of all families:
/// without a calibration, an operation is then offered only if it is level on all of them.
fn of_tables<R>(
    class: CpuClass,
    version: (u32, u32),
    cpu: Option<Family>,
    row: impl Fn(&Table) -> Option<R>,
    or_lower: impl Fn(R, R) -> R,
) -> Option<(R, RatioSource)> {
    let up_to = |table: &&Table| table.class == class && table.version <= version;
    let rows = || {
        let tables = tables::TABLES.iter().filter(up_to);
        tables.filter_map(|table| Some((table, row(table)?)))
    };
    let version = rows().map(|(table, _)| table.version).max()?;
    let of_version = || rows().filter(|(table, _)| table.version == version);
    let is_own = |table: &Table| cpu.is_some_and(|cpu| table.processors.include(cpu));
    let is_known = of_version().any(|(table, _)| is_own(table));
    let counting = of_version().filter(|(table, _)| !is_known || is_own(table));
    let ratios = counting.map(|(_, ratios)| ratios).reduce(or_lower)?;
    Some((ratios, RatioSource::Table { class, version }))
}

/// Parses the major and minor number of a version such as "3.0.19" or "4.0.0-beta1".
pub(crate) fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
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
                    let mut primitives = HashSet::new();
                    for (primitive, ratios) in table.primitives {
                        let known = |cpu| {
                            let has_sha = true;
                            let found =
                                compiled_primitive(class, version, *primitive, cpu, has_sha);
                            found.unwrap().0
                        };
                        assert!(primitives.insert(primitive), "{primitive}: twice");
                        assert_eq!(known(None).or_lower(*ratios), known(None));
                        assert_eq!(known(Some(first_of(table))), *ratios);
                        let made = CallRatios::from_thousandths(*primitive, ratios.thousandths());
                        assert_eq!(made, Some(*ratios), "{primitive}");
                    }
                }
            }
        }
    }

    #[test]
    fn where_a_family_has_no_row_of_a_primitive_the_others_count() {
        let nobody = Family {
            vendor: *b"NobodyKnows.",
            family: 1,
            model: 1,
        };
        let is_measured = |class: &CpuClass| *class != CpuClass::E;
        for class in CpuClass::ALL.into_iter().filter(is_measured) {
            for version in [(3, 0), (3, 1), (4, 0)] {
                for primitive in Primitive::ALL.iter().copied() {
                    let it = format!("{class} {version:?} {primitive}");
                    let of = |cpu| compiled_primitive(class, version, primitive, cpu, true);
                    let known = of(None);
                    // The rows of 3.1 apply up to 4.0.
                    let exists = version > (3, 0) || primitive.since() == (3, 0);
                    let is_measured = tables::TABLES.iter().any(|table| {
                        (table.class == class && table.version <= version)
                            && table.primitives.iter().any(|row| row.0 == primitive)
                    });
                    // In each class, some processor has measured everything that exists since the first release.
                    assert!(
                        is_measured
                            || !exists
                            || primitive.signs_whole_messages()
                            || primitive.is_ml_kem(),
                        "{it}"
                    );
                    let exists = exists && is_measured;
                    assert_eq!(known.is_some(), exists, "{it}");
                    assert_eq!(of(Some(nobody)), known, "{it}");
                    for table in tables::TABLES {
                        let has = |table: &Table| {
                            let is_here = (table.class, table.version) == (class, version);
                            is_here && table.primitives.iter().any(|row| row.0 == primitive)
                        };
                        let same = |other: &&Table| other.processors == table.processors;
                        if !tables::TABLES.iter().filter(same).any(has) {
                            assert_eq!(of(Some(first_of(table))), known, "{it}");
                        }
                    }
                    let without_sha = compiled_primitive(class, version, primitive, None, false);
                    assert_eq!(
                        without_sha.is_some(),
                        exists && !primitive.is_hash(),
                        "{it}"
                    );
                }
            }
        }
    }

    #[test]
    fn of_cpus_without_aes_instructions_the_tables_know_nothing() {
        for algorithm in [Algorithm::Aes128Ctr, Algorithm::ChaCha20] {
            assert!(compiled(CpuClass::E, (3, 0), algorithm, None).is_none());
        }
        for primitive in Primitive::ALL.iter().copied() {
            assert!(compiled_primitive(CpuClass::E, (4, 0), primitive, None, true).is_none());
        }
    }

    /// Returns the first processor that a table covers.
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
