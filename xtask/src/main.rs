//! Maintenance commands of the workspace, run as `cargo xtask COMMAND`.

mod age_peers;
mod boringssl_peer;
mod ci;
mod circuits;
mod constant_time;
mod cpu_mask;
mod families;
mod fetch;
mod files;
mod go;
mod kernels;
mod offers;
mod openssl_peers;
mod packages;
mod peers;
mod performance;
mod plan;
mod processor;
mod proto;
mod shim;
mod structure;
mod tlsfuzzer;
mod tokens;
mod tool;
mod vectors;
mod words;

use std::process::ExitCode;

use self::tool::{Metadata, Result};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  ci             run every step of CI in order; stop at the first failure. With --long run the
                 steps of `make test-long`
  package        build the Debian package, install it into a root of its own, use and remove it; a
                 step of `ci --long`
  packages       run the tests of Debian's packages that use OpenSSL, without and with the provider, and
                 write docs/internals/packages.md; with names those packages alone, with --page
                 only the page, of the results that there are
  structure      check which crate uses which, that modules form no circle, which files hold unsafe,
                 intrinsics and threads, how long files are, and that generated files are up to date
  kernels        write the assembly of the kernels; with --check only compare it
  circuits       write the S-boxes of Triple DES and Serpent as code
  plan           measure this machine and write its costs, which the plan starts from
  offers         measure the OpenSSL provider against OpenSSL's ciphers, under the mask of each
                 CPU class, and write the ratios by which it offers them; `offers AC FILE` does it
                 for these classes and this libcrypto alone
  words          check the prose of documents, comments and messages
  wheel          build the Python package for every distribution with glibc 2.28; with --test pack what
                 `cargo build --workspace` made, and test it
  dist           build what a release publishes into target/dist; with --test pack the programs that
                 `wheel` has built, install each of the packages, and use it
  performance    write docs/performance.md, a summary of the records of the benchmark; with --all
                 print every record
  proto          write the code of the cryptoserver's protocol from its .proto file
  vectors        fetch published test vectors into the target folder
  peers          fetch and build the benchmark's optional peers into the target folder;
                 `peers age` builds age alone, which tests need too; `peers rage` builds rage
                 alone and `peers tokens` kryoptic alone, which tests use where they are present;
                 `peers boringssl` builds BoringSSL alone, and `peers openssl` OpenSSL 3.5 and
                 4.0, or with names those releases: 3.0.2, 3.0.7, 3.2, 3.5, 3.6, 4.0
  tlsfuzzer      compare what tlsfuzzer finds of `openssl s_server`, stock and under the provider,
                 with the machine's OpenSSL and 4.0; `tlsfuzzer FOLDER` takes its source from there
  constant-time  search the kernels for times that depend on secrets; passes its options on to
                 oarlock-timing, see `cargo xtask constant-time --help`";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<()> {
    if let [] | ["help" | "--help" | "-h"] = words {
        println!("{USAGE}");
        return Ok(());
    }
    let metadata = Metadata::load()?;
    let (root, target) = (&metadata.workspace_root, &metadata.target_directory);
    match *words {
        ["ci"] => ci::run(root, target),
        ["ci", "--long"] => ci::run_long(root, target),
        ["package"] => ci::package::check(root, target),
        ["structure"] => structure::run(),
        ["vectors"] => vectors::run(target),
        ["plan"] => plan::run(root, target),
        ["offers", ref arguments @ ..] => offers::run(root, target, arguments),
        ["words"] => words::run(root),
        ["packages", "--page"] => packages::write_page(root, target),
        ["packages", ref names @ ..] => packages::run(root, target, names),
        ["wheel"] => ci::wheel::build(root, target),
        ["wheel", "--test"] => ci::wheel::test_alone(root, target),
        ["dist"] => ci::dist::build(root, target),
        ["dist", "--test"] => ci::dist::check(root, target),
        ["performance"] => performance::run(root),
        ["performance", "--all"] => performance::print_all(root),
        ["kernels"] => kernels::run(root),
        ["kernels", "--check"] => kernels::check(root),
        ["circuits"] => circuits::run(root),
        ["proto"] => proto::run(root, target),
        ["peers"] => peers::run(root, target),
        ["peers", "age"] => peers::run_age(target),
        ["peers", "rage"] => peers::run_rage(target),
        ["peers", "boringssl"] => peers::run_boringssl(root, target),
        ["peers", "openssl", ref names @ ..] => openssl_peers::libraries(target, names).map(drop),
        ["peers", "tokens"] => peers::run_tokens(root, target),
        ["tlsfuzzer"] => tlsfuzzer::run(root, target, None),
        ["tlsfuzzer", folder] => tlsfuzzer::run(root, target, Some(folder)),
        ["constant-time", ref options @ ..] => constant_time::run(root, options),
        _ => Err(format!(
            "unknown command {:?}: see `cargo xtask help`",
            words.join(" ")
        )),
    }
}
