//! CPU classes.

pub fn class_of(features: &str) -> &'static str {
    let has = |feature: &&str| features.split(' ').any(|one| one == *feature);
    let fits = |class: &&Class| class.needs.iter().all(has);
    CLASSES.iter().find(fits).map_or("E", |class| class.name)
}

pub struct Class {
    pub name: &'static str,
    pub what: &'static str,
    /// Features, by their names in records.
    needs: &'static [&'static str],
}

/// The classes; the first that fits counts. Early records do not name AVX2 and IFMA: every CPU with VAES has the former, and
/// every CPU with VAES and AVX-512 the latter.
pub const CLASSES: &[Class] = &[
    Class {
        name: "A",
        what: "AVX-512, VAES and IFMA",
        needs: &["vaes", "avx512"],
    },
    Class {
        name: "B",
        what: "AVX2, VAES and VPCLMULQDQ",
        needs: &["vaes"],
    },
    Class {
        name: "C",
        what: "AVX2 and AES-NI",
        needs: &["avx2", "aes"],
    },
    Class {
        name: "D",
        what: "SSE and AES-NI",
        needs: &["aes"],
    },
    Class {
        name: "E",
        what: "none of these",
        needs: &[],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_go_by_features() {
        for (features, class) in [
            ("aes vaes avx512 face", "A"),
            ("aes avx2 vaes avx512 gfni face ifma", "A"),
            ("aes avx2 vaes gfni", "B"),
            ("aes avx2", "C"),
            ("aes", "D"),
            ("avx2 gfni", "E"),
            ("", "E"),
        ] {
            assert_eq!(class_of(features), class, "{features}");
        }
    }
}
