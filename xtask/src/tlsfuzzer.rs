//! `cargo xtask tlsfuzzer`: the conversations of tlsfuzzer that are about key exchange, signatures, the key schedule, Finished,
//! tickets and binders, with `openssl s_server`, stock and under the provider. Each must find the same of both.
//!
//! Some fail of stock OpenSSL, too: a script may want another certificate or option. What counts is that no verdict differs.
//! docs/internals/tlsfuzzer.md has the results.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::fetch::{self, Wheel};
use crate::files;
use crate::openssl_peers;
use crate::tool::{self, Result, cargo};

const SOURCE: &str = "https://github.com/tlsfuzzer/tlsfuzzer";
const COMMIT: &str = "14555fe211456c46deccc4b2d94751dbd894aece";
const WHEELS: [Wheel; 4] = [
    Wheel {
        name: "tlslite-ng",
        version: "0.9.0b2",
        sha256: "d69afaa207972506fcdad4362de09a422f0c8b780f370ec881cf7e789e858aa1",
        members: &["tlslite/"],
    },
    Wheel {
        name: "ecdsa",
        version: "0.19.2",
        sha256: "840f5dc5e375c68f36c1a7a5b9caad28f95daa65185c9253c0c08dd952bb7399",
        members: &["ecdsa/"],
    },
    Wheel {
        name: "six",
        version: "1.17.0",
        sha256: "4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274",
        members: &["six.py"],
    },
    // Of hybrids, which the machine's release has under the provider alone.
    Wheel {
        name: "kyber-py",
        version: "1.2.0",
        sha256: "517f4c8f5009f5b4dfb8f4bfd0f6d631bf56e0cad3f709282e6450e5d8eda6aa",
        members: &["kyber_py/"],
    },
];
/// Runs a script that draws the same every time: which of many conversations it has, and what it sends.
const SEEDED: &str = "import random, runpy, sys; random.seed(7); del sys.argv[0]; \
                      runpy.run_path(sys.argv[0], run_name='__main__')";

/// Runs all of it with the source in `folder`; without one it is cloned. Writes the page.
pub fn run(root: &Path, target: &Path, folder: Option<&str>) -> Result<()> {
    let place = target.join("tlsfuzzer");
    files::create_dir(&place)?;
    let source = match folder {
        Some(folder) => PathBuf::from(folder),
        None => cloned(&place)?,
    };
    let mut modules = vec![source.clone()];
    for wheel in &WHEELS {
        let into = place.join(wheel.name);
        fetch::wheel(wheel, &into)?;
        modules.push(into);
    }
    // The same packages as `cargo xtask packages` builds: another set would be compiled again.
    let mut build = cargo();
    build.args(["build", "--release", "--locked", "-p", "oarlock-cli"]);
    tool::status(build.args(["-p", "oarlock-provider"]))?;
    let module = target.join("release/liboarlock_provider.so");
    let conf = place.join("openssl.cnf");
    files::write(
        &conf,
        CONFIGURATION.replace("MODULE", &module.display().to_string()),
    )?;
    certificates(&place)?;
    let newest = openssl_peers::libraries(target, &["4.0"])?.remove(0);
    let suite = |libraries| Suite {
        place: place.clone(),
        source: source.clone(),
        modules: modules.clone(),
        libraries,
    };
    let (machine, newest) = (suite(None), suite(Some(newest)));
    let began = Instant::now();
    let mut tables = Vec::new();
    for (name, suite) in [("3.0", &machine), ("4.0", &newest)] {
        println!("\nOpenSSL {name}: {COLUMNS}");
        tables.push((name, suite.run(&conf)?));
    }
    // The hybrids of the provider, next to OpenSSL's own.
    println!("\nhybrids, of OpenSSL 4.0 and of the provider with the machine's OpenSSL: {COLUMNS}");
    let hybrids = place.join("hybrids.cnf");
    let text = files::read(&conf)?;
    files::write(
        &hybrids,
        text.replace("offer=all\n", "offer=all\npost-quantum = yes\n"),
    )?;
    let stock = Server::start(&newest, None, &["-groups", HYBRIDS])?;
    let provided = Server::start(&machine, Some(&hybrids), &["-groups", HYBRIDS])?;
    let row = machine.compared("tls13-mlkem", [&stock, &provided])?;
    tables.push(("4.0 and the provider with 3.0: hybrids", vec![row]));
    let openssl = tool::output(Command::new("openssl").arg("version"))?;
    let date = tool::output(Command::new("date").args(["--utc", "+%F"]))?;
    let minutes = began.elapsed().as_secs().div_ceil(60);
    let openssl = openssl.split(" (").next().unwrap_or_default();
    let run = [date.trim(), openssl.trim(), &minutes.to_string()].map(str::to_owned);
    let path = root.join("docs/internals/tlsfuzzer.md");
    files::write(&path, page(&tables, &run))?;
    let faults: Vec<_> = tables
        .iter()
        .flat_map(|(name, rows)| rows.iter().filter_map(move |row| row.fault(name)))
        .collect();
    match faults.is_empty() {
        true => Ok(()),
        false => Err(format!("verdicts differ: {}", faults.join("; "))),
    }
}

/// Returns the page: a table for each release, and the scripts' words as in this file.
fn page(tables: &[(&str, Vec<Row>)], [date, openssl, minutes]: &[String; 3]) -> String {
    let mut page = format!(
        "{HEAD}\nOf {date}, with {openssl} and OpenSSL 4.0, in {minutes} minutes on two cores; tlsfuzzer {}.\n",
        &COMMIT[..12]
    );
    for (name, rows) in tables {
        let _ = write!(page, "\n## OpenSSL {name}\n\n{TABLE}");
        for row in rows {
            let (conversations, [theirs, ours]) = row.figures();
            let script = row.line.split_whitespace().next().unwrap_or_default();
            let _ = writeln!(page, "| {script} | {conversations} | {theirs} | {ours} |");
        }
    }
    page
}

fn cloned(place: &Path) -> Result<PathBuf> {
    let source = place.join("source");
    if !source.exists() {
        let mut clone = Command::new("git");
        clone.args(["clone", "--quiet", SOURCE]).arg(&source);
        tool::output(&mut clone)?;
    }
    let mut checkout = Command::new("git");
    checkout.args(["checkout", "--quiet", COMMIT]);
    tool::output(checkout.current_dir(&source))?;
    Ok(source)
}

/// Two servers' certificates, which clients have as well.
fn certificates(place: &Path) -> Result<()> {
    for (name, options) in [
        ("rsa", "-newkey rsa:2048"),
        ("ec", "-newkey ec -pkeyopt ec_paramgen_curve:P-256"),
    ] {
        let line = format!(
            "req -x509 {options} -nodes -keyout {name}.key -out {name}.crt -subj /CN=localhost -days 30"
        );
        let mut command = Command::new("openssl");
        command.args(line.split_whitespace()).current_dir(place);
        tool::output(command.env("OPENSSL_CONF", "/dev/null"))?;
    }
    let both: Result<Vec<String>> = ["rsa.crt", "ec.crt"]
        .iter()
        .map(|name| files::read(&place.join(name)))
        .collect();
    files::write(&place.join("both.crt"), both?.concat())
}

/// Everything with one release.
struct Suite {
    place: PathBuf,
    source: PathBuf,
    modules: Vec<PathBuf>,
    libraries: Option<PathBuf>,
}

/// The verdict of a script.
#[derive(PartialEq, Eq, Debug)]
struct Verdict {
    is_good: bool,
    conversations: u32,
    failed: BTreeSet<String>,
}

/// A script, and its verdicts on stock OpenSSL and on the provider. One that did not end in time has none.
struct Row {
    line: &'static str,
    verdicts: [Option<Verdict>; 2],
}

impl Row {
    /// Returns the number of conversations, and how many of them failed each time.
    fn figures(&self) -> (u32, [String; 2]) {
        let [theirs, ours] = &self.verdicts;
        let verdict = ours.as_ref().or(theirs.as_ref());
        let failed = self.verdicts.each_ref().map(|verdict| match verdict {
            Some(verdict) => verdict.failed.len().to_string(),
            None => "no end".to_owned(),
        });
        (verdict.map_or(0, |verdict| verdict.conversations), failed)
    }

    /// Returns what is wrong: different verdicts, or none.
    fn fault(&self, release: &str) -> Option<String> {
        let Self { line, verdicts } = self;
        let named = |of: &Option<Verdict>| match of {
            Some(verdict) => format!("{verdict:?}"),
            None => "no verdict".to_owned(),
        };
        let [theirs, ours] = verdicts.each_ref().map(named);
        let is_fault = verdicts[0].is_none() || verdicts[0] != verdicts[1];
        is_fault.then(|| format!("{release}: {line}: stock {theirs}, provider {ours}"))
    }
}

impl Suite {
    /// Runs all scripts.
    fn run(&self, conf: &Path) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        let client: &[&str] = &["-verify", "1", "-CAfile", "both.crt"];
        let (servers, clients) = SCRIPTS.split_once("\n\n").unwrap_or((SCRIPTS, ""));
        for (more, scripts) in [(&[][..], servers), (client, clients)] {
            let stock = Server::start(self, None, more)?;
            let provided = Server::start(self, Some(conf), more)?;
            for line in scripts.lines() {
                rows.push(self.compared(line, [&stock, &provided])?);
            }
        }
        Ok(rows)
    }

    /// Runs a script with both servers at once, again where they differ: a busy machine lets an answer be late.
    fn compared(&self, line: &'static str, servers: [&Server; 2]) -> Result<Row> {
        let began = Instant::now();
        let mut tries = 0;
        loop {
            let [theirs, ours] = servers.map(|server| self.start(line, server.port));
            let (theirs, ours) = (theirs?, ours?);
            let verdicts = [theirs.verdict()?, ours.verdict()?];
            tries += 1;
            if verdicts[0] == verdicts[1] || tries == TRIES {
                let row = Row { line, verdicts };
                let (conversations, [theirs, ours]) = row.figures();
                let seconds = began.elapsed().as_secs();
                println!("{line:<60} {conversations:>5} {theirs:>6} {ours:>6} {seconds:>4} s");
                return Ok(row);
            }
        }
    }

    fn start(&self, line: &str, port: u16) -> Result<Running> {
        let mut words = line.split_whitespace();
        let script = format!("scripts/test-{}.py", words.next().unwrap_or_default());
        let log = self.place.join(format!("log-{port}"));
        let failed = |error: std::io::Error| format!("{}: {error}", log.display());
        let output = File::create(&log).map_err(failed)?;
        let paths = std::env::join_paths(&self.modules).map_err(|error| error.to_string())?;
        let child = Command::new("timeout")
            .args([SECONDS_MAX, "python3", "-c", SEEDED, &script, "-p"])
            .arg(port.to_string())
            .args(words.map(|word| match word.strip_prefix("@") {
                Some(file) => self.place.join(file),
                None => PathBuf::from(word),
            }))
            .current_dir(&self.source)
            .env("PYTHONPATH", paths)
            .env("PYTHONHASHSEED", "7")
            .stderr(output.try_clone().map_err(failed)?)
            .stdout(output)
            .spawn()
            .map_err(|error| tool::cannot_start("timeout", &error))?;
        Ok(Running { child, log })
    }
}

/// A script that runs.
struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    /// Returns the verdict; `None` if time ended the script. The log says why another has none.
    fn verdict(mut self) -> Result<Option<Verdict>> {
        let log = self.log.display();
        let failed = |error: std::io::Error| format!("{log}: {error}");
        let status = self.child.wait().map_err(failed)?;
        let said = std::fs::read(&self.log).map_err(failed)?;
        let verdict = Verdict::of(&String::from_utf8_lossy(&said), status.success());
        match (verdict, status.code()) {
            (None, Some(TIMED_OUT)) => Ok(None),
            (None, _) => Err(format!("a script has no verdict: see {log}")),
            (verdict, _) => Ok(verdict),
        }
    }
}

impl Verdict {
    /// Reads the summary that a script prints; `None` if it is missing.
    fn of(said: &str, is_good: bool) -> Option<Self> {
        let total = said
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("TOTAL: "))?;
        let names = said
            .rsplit_once("\nFAILED:\n")
            .map_or("", |(_, names)| names);
        let failed = names.lines().filter_map(|line| line.strip_prefix("\t"));
        Some(Self {
            is_good,
            conversations: total.trim().parse().ok()?,
            failed: failed.map(str::to_owned).collect(),
        })
    }
}

/// `openssl s_server`, which ends with this.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(suite: &Suite, conf: Option<&Path>, more: &[&str]) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let address = listener.and_then(|it| it.local_addr());
        let port = address.map_err(|error| error.to_string())?.port();
        let mut program = match &suite.libraries {
            None => Command::new("openssl"),
            Some(libraries) => {
                let mut program = Command::new(libraries.with_file_name("bin/openssl"));
                program.env("LD_LIBRARY_PATH", libraries);
                program
            }
        };
        program
            .args(["s_server", "-www", "-quiet", "-client_renegotiation"])
            .args(["-accept", &port.to_string()])
            .args([
                "-cipher",
                "ALL:@SECLEVEL=0",
                "-psk",
                "aa",
                "-psk_identity",
                "test",
            ])
            .args(["-key", "rsa.key", "-cert", "rsa.crt"])
            .args(["-dkey", "ec.key", "-dcert", "ec.crt"])
            .args(more);
        let child = program
            .current_dir(&suite.place)
            .env("OPENSSL_CONF", conf.unwrap_or(Path::new("/dev/null")))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| tool::cannot_start("openssl", &error))?;
        let server = Self { child, port };
        let began = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if began.elapsed() > Duration::from_secs(10) {
                return Err(format!("s_server does not listen on port {port}"));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const HYBRIDS: &str = "X25519MLKEM768:SecP256r1MLKEM768:SecP384r1MLKEM1024:X25519:P-256:P-384";
const TRIES: u32 = 3;
/// How long a script may take, which is ended then: `timeout` says so by its status.
const SECONDS_MAX: &str = "240";
const TIMED_OUT: i32 = 124;
const COLUMNS: &str = "conversations, failed of stock and under the provider";
const HEAD: &str = "\
# tlsfuzzer

`cargo xtask tlsfuzzer` runs conversations of [tlsfuzzer](https://github.com/tlsfuzzer/tlsfuzzer) with `openssl s_server`, stock and with everything of the
provider offered, and writes this page. It fails if a conversation is answered differently. Some fail both ways: a script may want another
certificate or option than the server has, or behaviour that OpenSSL does not show. A script that draws from
many conversations draws the same ones every time.
";
const TABLE: &str = "\
| script | conversations | fail with OpenSSL | fail with the provider |
|---|--:|--:|--:|
";
const CONFIGURATION: &str = "\
openssl_conf = a
[a]
providers = b
alg_section = e
[b]
default = c
oarlock = d
[c]
activate = 1
[d]
module = MODULE
options = offer=all
activate = 1
[e]
default_properties = ?oarlock.accelerated=yes,?oarlock.keys=no
";

/// Scripts with their options, first those without a client's certificate. A word after @ is a file.
const SCRIPTS: &str = include_str!("tlsfuzzer/scripts.txt");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_read() {
        let said = "sanity ...\nOK\n\nTest end\nTOTAL: 3\nSKIP: 0\nPASS: 1\nFAIL: 2\n====\nFAILED:\n\t'one'\n\t'two'\n";
        let verdict = Verdict::of(said, false).unwrap();
        assert_eq!((verdict.conversations, verdict.failed.len()), (3, 2));
        assert!(verdict.failed.contains("'two'"));
        let good = Verdict::of("Test end\nTOTAL: 3\nPASS: 3\n", true).unwrap();
        assert!(good.failed.is_empty() && good != verdict);
        assert_eq!(Verdict::of("Traceback", false), None);
    }

    #[test]
    fn different_verdicts_and_none_are_faults() {
        let verdict = |failed: &[&str]| {
            Some(Verdict {
                is_good: failed.is_empty(),
                conversations: 3,
                failed: failed.iter().map(|&name| name.to_owned()).collect(),
            })
        };
        let row = |theirs, ours| Row {
            line: "x -n 1",
            verdicts: [theirs, ours],
        };
        let alike = row(verdict(&["a"]), verdict(&["a"]));
        assert_eq!(alike.fault("3.0"), None);
        let rows = vec![
            row(verdict(&[]), verdict(&["a"])),
            row(verdict(&[]), None),
            row(None, None),
        ];
        assert!(rows.iter().all(|row| row.fault("3.0").is_some()));
        let page = page(
            &[("3.0", rows)],
            &["a day", "OpenSSL 3", "5"].map(str::to_owned),
        );
        for line in [
            "| x | 3 | 0 | 1 |",
            "| x | 3 | 0 | no end |",
            "| x | 0 | no end | no end |",
        ] {
            assert!(page.contains(line), "{page}");
        }
    }
}
