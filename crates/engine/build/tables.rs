// From the text of files to tables in Rust. A test of `costs` includes this file too, so it has no inner attributes.

use std::collections::BTreeMap;

/// A value, or a message of one line.
pub(crate) type Result<T> = std::result::Result<T, String>;

/// The variants of `Algorithm` by name, each with its place: `    Aes128Ctr "aes-128-ctr" 16 CTR_128,`.
pub(crate) fn operations(source: &str) -> Operations {
    let of_line = |line: &str| {
        let (variant, rest) = line.trim().split_once(" \"")?;
        let (name, rest) = rest.split_once("\" ")?;
        let is_one = variant.chars().all(|c| c.is_ascii_alphanumeric()) && rest.ends_with(',');
        is_one.then(|| (name.to_owned(), variant.to_owned()))
    };
    let found = source.lines().filter_map(of_line).enumerate();
    found
        .map(|(place, (name, variant))| (name, (place, variant)))
        .collect()
}

/// The variants of `Primitive` by name, each with the number of its calls: `    X25519 "x25519" ["generate", "derive"],`.
pub(crate) fn primitives(source: &str) -> Primitives {
    let of_line = |line: &str| {
        let (variant, rest) = line.trim().split_once(" \"")?;
        let (name, calls) = rest.split_once("\" [")?;
        let calls = calls.strip_suffix("],")?.split(", ").count();
        let is_one = variant.chars().all(|c| c.is_ascii_alphanumeric());
        is_one.then(|| (name.to_owned(), (variant.to_owned(), calls)))
    };
    source.lines().filter_map(of_line).collect()
}

pub(crate) type Primitives = BTreeMap<String, (String, usize)>;

pub(crate) type Operations = BTreeMap<String, (usize, String)>;

/// A file: a comment, a name and processors, and titles with rows, with an empty line between them.
pub(crate) struct Family {
    name: String,
    /// The maker, the family, the first model and the last.
    pub(crate) processors: (String, [u64; 3]),
    sections: BTreeMap<String, Vec<String>>,
}

impl Family {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut blocks = text.split("\n\n").filter(|block| !block.starts_with('#'));
        let head = blocks.next().and_then(Self::parse_head);
        let (name, processors) = head.ok_or("begins with no name and processors")?;
        let mut sections = BTreeMap::new();
        for block in blocks {
            let mut lines = block.lines().map(str::to_owned);
            let title = lines.next().unwrap_or_default();
            if sections.insert(title.clone(), lines.collect()).is_some() {
                return Err(format!("has {title} twice"));
            }
        }
        Ok(Self {
            name,
            processors,
            sections,
        })
    }

    fn parse_head(head: &str) -> Option<(String, (String, [u64; 3]))> {
        let (name, processors) = head.strip_prefix("name ")?.split_once("\nprocessors ")?;
        let (vendor, numbers) = processors.split_once(' ')?;
        let numbers = figures(&numbers.replace('-', " "))?;
        Some((name.to_owned(), (vendor.to_owned(), numbers)))
    }

    /// What `parse` makes of the rows below a title.
    fn rows<'a, R>(&'a self, title: &str, parse: impl Fn(&'a str) -> Option<R>) -> Result<Vec<R>> {
        let rows = self.sections.get(title);
        let rows = rows.ok_or_else(|| format!("{}: has no {title}", self.name))?;
        let wrong = |row| format!("{}: {title}: {row:?} is no row of it", self.name);
        let parsed = rows.iter().map(|row| parse(row).ok_or_else(|| wrong(row)));
        parsed.collect()
    }

    /// In Rust.
    fn processors(&self) -> String {
        let (vendor, [family, first, last]) = &self.processors;
        format!("Processors::new({vendor:?}, {family}, ({first}, {last}))")
    }
}

fn figures<const N: usize>(words: &str) -> Option<[u64; N]> {
    all_figures(words)?.try_into().ok()
}

fn all_figures(words: &str) -> Option<Vec<u64>> {
    words.split(' ').map(|word| word.parse().ok()).collect()
}

/// The costs of each family, and those of all other processors: of each figure the worst.
pub(crate) fn costs(families: &[Family], operations: &Operations) -> Result<String> {
    // By operation, device and backend: nanoseconds of a setup, and kilobytes a second.
    type Rows<'a> = BTreeMap<((usize, &'a str), &'a str, &'a str), [u64; 2]>;
    let write = |name: &str, processors: &str, machine: [u64; 4], rows: &Rows| {
        let [handoff, wake, other_core, own_core] = machine;
        let mut table = format!(
            "Table {{ name: {name:?}, processors: {processors},
                machine: machine({handoff}, {wake}, {other_core}, {own_core}), rows: &[\n"
        );
        for (((_, operation), device, backend), [setup, rate]) in rows {
            table += &format!("row({operation}, {device:?}, {backend:?}, {setup}, {rate}),\n");
        }
        table + "]}"
    };
    let parse = |row| {
        let mut words = str::splitn(row, 4, ' ');
        let (place, operation) = operations.get(words.next()?)?;
        let key = ((*place, &**operation), words.next()?, words.next()?);
        Some((key, figures(words.next()?)?))
    };
    let (mut tables, mut worst_rows) = (String::new(), Rows::new());
    let mut worst_machine = [0, 0, u64::MAX, u64::MAX];
    for family in families {
        let listed = family.rows("[costs]", parse)?;
        let count = listed.len();
        let rows: Rows = listed.into_iter().collect();
        if rows.len() < count {
            return Err(format!(
                "{}: [costs] has two rows for one backend",
                family.name
            ));
        }
        for (key, [setup, rate]) in &rows {
            let worst = worst_rows.entry(*key).or_insert([*setup, *rate]);
            *worst = [worst[0].max(*setup), worst[1].min(*rate)];
        }
        let [machine] = family.rows("[machine]", figures)?[..] else {
            return Err(format!("{}: [machine] has not one row", family.name));
        };
        let [handoff, wake, other, own] = worst_machine;
        let [first, second, third, last] = machine;
        worst_machine = [
            handoff.max(first),
            wake.max(second),
            other.min(third),
            own.min(last),
        ];
        tables += &write(&family.name, &family.processors(), machine, &rows);
        tables += ",\n";
    }
    let nobody = "Processors::new(\"\", 0, (0, 0))";
    let generic = write("generic", nobody, worst_machine, &worst_rows);
    Ok(format!(
        "pub(super) const FAMILIES: &[Table] = &[{tables}];
        pub(super) const GENERIC: Table = {generic};\n"
    ))
}

/// The ratios of each CPU class and line of OpenSSL versions on each family.
pub(crate) fn ratios(
    families: &[Family],
    operations: &Operations,
    primitives: &Primitives,
) -> Result<String> {
    let mut tables = String::new();
    for family in families {
        for title in family.sections.keys() {
            let class = |title: &str| {
                let (class, version) = title
                    .strip_prefix('[')?
                    .strip_suffix(']')?
                    .split_once(' ')?;
                let [major, minor] = figures(&version.replace('.', " "))?;
                Some(format!(
                    "class: CpuClass::{class}, version: ({major}, {minor})"
                ))
            };
            let wrong = || format!("{}: {title} is no class and version", family.name);
            let class = class(title).ok_or_else(wrong)?;
            let parsed = family.rows(title, |row| {
                let (name, thousandths) = row.split_once(' ')?;
                let none = String::new();
                if let Some((_, operation)) = operations.get(name) {
                    let thousandths: [u64; 5] = figures(thousandths)?;
                    return Some((format!("row({operation}, {thousandths:?}),\n"), none));
                }
                let (primitive, calls) = primitives.get(name)?;
                let thousandths = all_figures(thousandths).filter(|it| it.len() == *calls)?;
                Some((none, format!("calls({primitive}, &{thousandths:?}),\n")))
            })?;
            let (rows, of_primitives): (Vec<_>, Vec<_>) = parsed.into_iter().unzip();
            let (rows, of_primitives) = (rows.concat(), of_primitives.concat());
            let processors = family.processors();
            tables += &format!(
                "Table {{ {class}, processors: {processors}, rows: &[\n{rows}],
                primitives: &[\n{of_primitives}]}},\n"
            );
        }
    }
    Ok(format!(
        "pub(super) const TABLES: &[Table] = &[{tables}];\n"
    ))
}
