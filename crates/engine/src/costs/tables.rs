//! The costs by family of processors, compiled from `families/`: docs/internals/calibration.md.

use super::table::{Processors, Table, machine, row};
use crate::work::algorithm::Algorithm::*;

include!(concat!(env!("OUT_DIR"), "/costs.rs"));

#[cfg(test)]
mod tests {
    include!("../../build/tables.rs");

    #[test]
    fn files_with_mistakes_are_refused_by_their_place() {
        let known = operations("    One \"one\" 16 CTR_128,\n    Two \"two\" 16 CTR_128,\n");
        let head = "# A comment.\n\nname X\nprocessors Y 6 0-15\n";
        let costs = |rows: &str| {
            let text = format!("{head}\n[costs]\n{rows}\n[machine]\n1 2 3 4\n");
            costs(&[Family::parse(&text)?], &known)
        };
        let table = costs("two cpu any 3 40\none cpu any 5 60\n").unwrap();
        // Rows are in the order of the operations.
        assert!(table.contains("row(One, \"cpu\", \"any\", 5, 60),\nrow(Two, "));
        assert!(table.contains("Processors::new(\"Y\", 6, (0, 15))"));
        for row in [
            "three cpu any 5 60",
            "one cpu any 5",
            "one cpu any 5 60 7",
            "one cpu any 5 6x",
            "one",
        ] {
            let error = costs(&format!("{row}\n")).unwrap_err();
            assert_eq!(error, format!("X: [costs]: {row:?} is no row of it"));
        }
        let error = costs("one cpu any 5 60\none cpu any 6 60\n").unwrap_err();
        assert!(error.contains("two rows for one backend"), "{error}");
        let of_primitives =
            primitives("    Three \"three\" [\"sign\", \"verify\"],\n    /// \"four\" [],\n");
        let ratios = |section: &str| {
            let family = Family::parse(&format!("{head}\n{section}"))?;
            ratios(&[family], &known, &of_primitives)
        };
        let table = ratios("[A 3.1]\none 1 2 3 4 5\n").unwrap();
        assert!(table.contains("class: CpuClass::A, version: (3, 1),"));
        assert!(table.contains("row(One, [1, 2, 3, 4, 5]),"));
        let table = ratios("[A 3.1]\none 1 2 3 4 5\nthree 6 7\n").unwrap();
        assert!(table.contains("row(One, [1, 2, 3, 4, 5]),\n]"));
        assert!(table.contains("calls(Three, &[6, 7]),\n]"));
        for (section, error) in [
            ("[A 3.1]\none 1 2 3 4\n", "is no row"),
            ("[A 3.1]\nthree 1\n", "is no row"),
            ("[A 3.1]\nthree 1 2 3\n", "is no row"),
            ("[A 3.1]\nfour 1\n", "is no row"),
            ("[A 3]\none 1 2 3 4 5\n", "[A 3] is no class and version"),
            ("[A 3.1]\n\n[A 3.1]\n", "has [A 3.1] twice"),
        ] {
            assert!(ratios(section).unwrap_err().contains(error), "{section}");
        }
        assert!(Family::parse("# A comment.\n\nname X\n").is_err());
    }
}
