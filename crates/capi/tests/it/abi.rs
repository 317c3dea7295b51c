//! Symbols and their versions, and the layout of structures: programs were compiled against them, so they must not change.

use std::collections::BTreeSet;
use std::process::Command;

use oarlock_testing::lossy;

use crate::library::{compiled, here, prefix, started, succeeds};

fn declared() -> BTreeSet<String> {
    let header = std::fs::read_to_string(here("include/oarlock.h")).unwrap();
    let is_name = |byte: char| byte.is_ascii_alphanumeric() || byte == '_';
    // Only functions have an argument list right after their name at the start of a declaration.
    let lines = header
        .lines()
        .filter(|line| line.starts_with("int ") || line.starts_with("const char *"));
    let names = lines.filter_map(|line| {
        let name = line
            .split_once('(')?
            .0
            .rsplit(|byte| !is_name(byte))
            .next()?;
        Some(name.to_owned())
    });
    names.collect()
}

#[test]
fn the_library_shows_what_the_header_declares_and_nothing_else() {
    let library = prefix().join("lib/liboarlock.so.1");
    let output = succeeds(
        Command::new("nm")
            .args(["-D", "--defined-only"])
            .arg(library),
    );
    let shown: BTreeSet<_> = lossy(&output.stdout)
        .lines()
        .filter_map(|line| line.rsplit(' ').next().map(str::to_owned))
        .filter(|symbol| symbol != "OARLOCK_1")
        .collect();
    let wanted = declared()
        .into_iter()
        .map(|name| format!("{name}@@OARLOCK_1"));
    assert_eq!(shown, wanted.collect());
}

/// The list has the symbols and layouts of the first version: names and bytes may be added, but none may change.
#[test]
fn symbols_and_layouts_are_those_of_the_list() {
    let listed = std::fs::read_to_string(here("abi.txt")).unwrap();
    let program = compiled("gcc", &[], &here("tests/c/layout.c"), &[]);
    let mut now = lossy(&succeeds(&mut started(&program)).stdout);
    for name in declared() {
        now.push_str(&format!("{name}\n"));
    }
    assert_eq!(now, listed, "add to abi.txt what is new, and nothing else");
}

#[test]
fn every_function_has_its_words() {
    let header = std::fs::read_to_string(here("include/oarlock.h")).unwrap();
    for name in declared() {
        let begins = [format!("/* {name}() "), format!(" * {name}() ")];
        let words = begins
            .iter()
            .find_map(|begin| header.split_once(begin.as_str()));
        let words = words
            .unwrap_or_else(|| panic!("no words of {name} begin with it"))
            .1;
        let words = words.split("*/").next().unwrap();
        let may_fail = words.contains("fail")
            || words.contains("otherwise")
            || words.contains("Past the last");
        assert!(may_fail, "how {name} fails");
    }
}
