//! `docs/internals/packages.md`: the results as a table.

use std::fmt::Write as _;

use super::outcome::{Outcome, Test, Verdict};
use super::table::Package;

/// Returns the page: the packages with results, and those that have none yet.
pub fn page(rows: &[(Package, Outcome)], without: &[Package]) -> String {
    let mut page = HEAD.to_owned();
    for (package, outcome) in rows {
        let Outcome {
            version,
            source_version,
            ..
        } = outcome;
        let is_good = |verdict: Verdict| matches!(verdict, Verdict::Pass | Verdict::Flaky);
        let ran = outcome
            .tests
            .iter()
            .filter(|test| test.stock != Verdict::Skip);
        let ran: Vec<&Test> = ran.collect();
        let cases: usize = ran.iter().map(|test| test.cases).sum();
        let stock = ran.iter().filter(|test| is_good(test.stock)).count();
        let ours = ran.iter().filter(|test| is_good(test.ours)).count();
        let mut notes = notes(package, &ran);
        if version != source_version {
            notes.insert(0, format!("tests of {source_version}"));
        }
        let counted = &outcome.counted;
        let _ = writeln!(
            page,
            "| {} | {version} | {} | {} | {stock} | {ours} | {} | {} | {} | {} |",
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
        );
    }
    page += MACHINES;
    let mut machines: Vec<_> = rows
        .iter()
        .map(|(_, outcome)| {
            format!(
                "| {} | {} | {} |\n",
                outcome.cpu, outcome.openssl, outcome.date
            )
        })
        .collect();
    machines.sort();
    machines.dedup();
    page.extend(machines);
    if !without.is_empty() {
        let names: Vec<_> = without.iter().map(|package| &package.name[..]).collect();
        let _ = write!(
            page,
            "\nIn the list, and without results yet: {}.\n",
            names.join(", ")
        );
    }
    page += NOT_RUN;
    for (package, _) in rows {
        for (test, reason) in &package.skip {
            let _ = writeln!(page, "| {} | {test} | {reason} |", package.name);
        }
    }
    page
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
