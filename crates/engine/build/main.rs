//! Writes the tables of `costs` in Rust, from the files that `cargo xtask plan` and `cargo xtask offers` write:
//! docs/internals/calibration.md.

mod tables;

use std::path::Path;

use self::tables::{Family, Result, costs, operations, primitives, ratios};

const ALGORITHMS: &str = "src/work/algorithm.rs";
const PRIMITIVES: &str = "src/work/primitive.rs";
const COSTS: &str = "src/costs/families";
const RATIOS: &str = "src/costs/openssl/families";

fn main() -> Result<()> {
    for path in ["build", ALGORITHMS, PRIMITIVES, COSTS, RATIOS] {
        println!("cargo::rerun-if-changed={path}");
    }
    let operations = operations(&read(Path::new(ALGORITHMS))?);
    let primitives = primitives(&read(Path::new(PRIMITIVES))?);
    let folder = std::env::var("OUT_DIR").map_err(|error| format!("OUT_DIR: {error}"))?;
    let write = |name, text: String| {
        let path = Path::new(&folder).join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    write("costs.rs", costs(&families(COSTS)?, &operations)?)?;
    write(
        "ratios.rs",
        ratios(&families(RATIOS)?, &operations, &primitives)?,
    )
}

/// The families of the files in `folder`, in the order of their processors.
fn families(folder: &str) -> Result<Vec<Family>> {
    let wrong = |error| format!("{folder}: {error}");
    let mut families = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let family = Family::parse(&read(&path)?);
        families.push(family.map_err(|error| format!("{}: {error}", path.display()))?);
    }
    families.sort_by(|one, other| one.processors.cmp(&other.processors));
    Ok(families)
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
