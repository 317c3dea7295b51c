//! `docs/internals/packages.md`: the results as a table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::outcome::{Outcome, Test, Verdict};
use super::table::Package;

/// Returns the page. `before` is the page as it was: the row of a package whose results are not on this machine stays.
pub fn page(packages: &[(Package, Option<Outcome>)], before: &str) -> String {
    let mut page = HEAD.to_owned();
    let mut machines = BTreeSet::new();
    let mut without = Vec::new();
    let mut not_run = String::new();
    let kept = Kept::of(before);
    for (package, outcome) in packages {
        let name = &package.name;
        match (outcome, kept.rows.get(&name[..])) {
            (Some(outcome), _) => {
                page += &row(package, outcome);
                let Outcome {
                    cpu, openssl, date, ..
                } = outcome;
                machines.insert(format!("| {cpu} | {openssl} | {date} |\n"));
            }
            (None, Some(row)) => {
                let _ = writeln!(page, "{row}");
                machines.extend(kept.machines(row));
            }
            (None, None) => {
                without.push(&name[..]);
                continue;
            }
        }
        for (test, reason) in &package.skip {
            let _ = writeln!(not_run, "| {name} | {test} | {reason} |");
        }
    }
    page += MACHINES;
    page.extend(machines);
    if !without.is_empty() {
        let names = without.join(", ");
        let _ = writeln!(page, "\nIn the list, and without results yet: {names}.");
    }
    page + NOT_RUN + &not_run
}

/// Returns a package's row of the table.
fn row(package: &Package, outcome: &Outcome) -> String {
    let Outcome {
        version,
        source_version,
        ..
    } = outcome;
    let ran = outcome
        .tests
        .iter()
        .filter(|test| test.stock != Verdict::Skip);
    let ran: Vec<&Test> = ran.collect();
    let cases: usize = ran.iter().map(|test| test.cases).sum();
    let stock = ran.iter().filter(|test| test.stock.is_good()).count();
    let ours = ran.iter().filter(|test| test.ours.is_good()).count();
    let mut notes = notes(package, &ran);
    if version != source_version {
        notes.insert(0, format!("tests of {source_version}"));
    }
    let counted = &outcome.counted;
    format!(
        "| {} | {version} | {} | {} | {stock} | {ours} | {} | {} | {} | {} |\n",
        package.name,
        ran.len(),
        if cases == 0 {
            String::new()
        } else {
            cases.to_string()
        },
        counted.processes,
        counted.requests + counted.private_operations,
        outcome.date,
        notes.join("; "),
    )
}

/// The rows of a page that was written before.
struct Kept<'a> {
    /// Those of packages, by name.
    rows: BTreeMap<&'a str, &'a str>,
    machines: Vec<&'a str>,
}

impl<'a> Kept<'a> {
    fn of(page: &'a str) -> Self {
        // The three tables, by their number of columns.
        let with = |columns: usize| {
            let rows = page.lines().filter(|line| line.starts_with("| "));
            rows.filter(move |line| cells(line).count() == columns)
        };
        let first = |row: &'a str| cells(row).next().unwrap_or_default();
        Self {
            rows: with(10).map(|row| (first(row), row)).collect(),
            machines: with(3).collect(),
        }
    }

    /// Returns the rows of machines of the day of a package's row.
    fn machines(&self, row: &str) -> impl Iterator<Item = String> {
        let date = cells(row).nth(8);
        let of_that_day = move |row: &&&str| cells(row).nth(2) == date;
        let rows = self.machines.iter().filter(of_that_day);
        rows.map(|row| format!("{row}\n"))
    }
}

/// Returns the cells of a table's row.
fn cells(row: &str) -> impl Iterator<Item = &str> {
    let row = row.strip_prefix("| ").unwrap_or(row);
    row.strip_suffix(" |").unwrap_or(row).split(" | ")
}

/// Returns the notes on a package's results.
fn notes(package: &Package, ran: &[&Test]) -> Vec<String> {
    let mut notes = Vec::new();
    let named = |is: &dyn Fn(&Test) -> bool| {
        let names = ran
            .iter()
            .filter(|test| is(test))
            .map(|test| &test.name[..]);
        names.collect::<Vec<_>>().join(", ")
    };
    let both = named(&|test| test.stock == Verdict::Fail && test.ours == Verdict::Fail);
    if !both.is_empty() {
        notes.push(format!("fails both ways here: {both}"));
    }
    let alone = named(&|test| test.stock == Verdict::Fail && test.ours != Verdict::Fail);
    if !alone.is_empty() {
        notes.push(format!("fails without the provider alone: {alone}"));
    }
    notes.extend(
        package
            .differs
            .iter()
            .map(|(what, why)| format!("`{what}`: {why}")),
    );
    notes.extend(package.idle.clone());
    if !package.note.is_empty() {
        notes.push(package.note.clone());
    }
    notes
}

const HEAD: &str = "\
# Other projects' tests

`make test-packages` runs the tests of these Debian packages, first with stock OpenSSL and then with the provider, and writes this page. It fails if a
test passes in the first run and not in the second, or if the provider was not loaded or computed nothing. The notes name packages whose tests
ask nothing of it.

Each package gets a root of its own: Debian 12, booted with systemd in a container without a network. The tests are the package's own (`debian/tests`), and
`autopkgtest` runs them with its null runner. `oarlock provider install --options offer=all,lanes=always --post-quantum` has changed the root's
`/etc/ssl/openssl.cnf` before the second boot, so daemons use the provider as well: all that it has, also where OpenSSL's own code is faster. A test that
fails is repeated alone in a fresh root. `xtask/src/packages/packages.json` is the list.

A case is a line of a test's output that names one check and its result; where the package's output has such lines, they are compared too. Processes are those that loaded the
provider, requests those of ciphers and private RSA operations: key derivation, HMAC and key exchange are not counted.

| package | version | tests | cases | pass with OpenSSL | pass with the provider | processes | requests | date | notes |
|---|---|--:|--:|--:|--:|--:|--:|---|---|
";
const MACHINES: &str = "
| CPU | OpenSSL | date |
|---|---|---|
";
const NOT_RUN: &str = "
## Tests that are not run

| package | test | reason |
|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::super::outcome::Counted;
    use super::*;

    fn package(name: &str) -> Package {
        let text = format!(r#"{{"name": "{name}", "skip": {{"slow": "of hours"}}}}"#);
        serde_json::from_str(&text).unwrap()
    }

    fn outcome(date: &str) -> Outcome {
        Outcome {
            version: "2".into(),
            source_version: "2".into(),
            openssl: "3.0".into(),
            cpu: "a CPU".into(),
            date: date.into(),
            tests: vec![Test {
                name: "smoke".into(),
                stock: Verdict::Pass,
                ours: Verdict::Pass,
                cases: 0,
                differing: Vec::new(),
            }],
            counted: Counted::default(),
        }
    }

    #[test]
    fn the_rows_of_other_machines_stay() {
        let packages = |first, second| {
            let third = (package("c"), None);
            [(package("a"), first), (package("b"), second), third]
        };
        let old = || Some(outcome("2026-01-02"));
        let before = page(&packages(old(), old()), "");
        assert!(before.contains("without results yet: c."));
        assert_eq!(page(&packages(None, None), &before), before);
        let after = page(&packages(None, Some(outcome("2026-01-03"))), &before);
        for line in [
            "| a | 2 | 1 |  | 1 | 1 | 0 | 0 | 2026-01-02 |  |",
            "| b | 2 | 1 |  | 1 | 1 | 0 | 0 | 2026-01-03 |  |",
            "| a CPU | 3.0 | 2026-01-02 |",
            "| a CPU | 3.0 | 2026-01-03 |",
            "| a | slow | of hours |",
        ] {
            assert_eq!(after.matches(&format!("{line}\n")).count(), 1, "{line}");
        }
        let third = page(&packages(Some(outcome("2026-01-03")), None), &after);
        assert!(!third.contains("2026-01-02"));
    }
}
