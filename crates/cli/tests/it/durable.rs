//! The order in which an output reaches the disk and its input is removed, as strace sees it.

use std::fs;
use std::process::Command;

use crate::common::age::{Home, succeeded};
use crate::common::oarlock;

#[test]
fn an_input_goes_after_all_that_leads_to_its_output_is_on_the_disk() {
    let home = Home::new();
    fs::create_dir_all(home.path("photos/b")).unwrap();
    home.write("photos/a", b"a");
    home.write("photos/b/c", b"c");
    let encrypt = [
        "encrypt",
        "--rm",
        "--recursive",
        "-T",
        "1",
        "-o",
        "new/deep",
        "photos",
    ];
    let calls = traced(&home, &encrypt);
    for (input, folders) in [
        ("photos/a", &["new", "new/deep", "new/deep/photos"][..]),
        (
            "photos/b/c",
            &["new", "new/deep", "new/deep/photos", "new/deep/photos/b"],
        ),
    ] {
        let removed = calls.place("unlinkat", input);
        let output = format!("new/deep/{input}.age");
        let named = calls.place("renameat2", &output);
        assert!(named < removed, "{calls:#?}");
        // The data is on disk before the name, and the name before the input is removed.
        assert!(
            calls.0[..named]
                .iter()
                .any(|call| call.is("fsync", ".oarlock-")),
            "{calls:#?}"
        );
        let (parent, _) = output.rsplit_once('/').unwrap();
        assert!(calls.has(named..removed, "fsync", parent), "{calls:#?}");
        for folder in folders {
            let made = calls
                .0
                .iter()
                .position(|call| call.name.starts_with("mkdir") && call.makes(folder));
            let parent = folder.rsplit_once('/').map_or("", |(parent, _)| parent);
            assert!(
                calls.has(made.unwrap()..removed, "fsync", parent),
                "{folder}: {calls:#?}"
            );
        }
    }
}

#[test]
fn a_single_input_goes_after_its_outputs_name_is_on_the_disk() {
    let home = Home::new();
    home.write("plain", b"plain");
    fs::create_dir(home.path("folder")).unwrap();
    let calls = traced(&home, &["encrypt", "--rm", "-o", "folder/out", "plain"]);
    let named = calls.place("renameat2", "folder/out");
    let removed = calls.place("unlinkat", "plain");
    assert!(calls.has(named..removed, "fsync", "folder"), "{calls:#?}");
}

/// A system call that succeeded, and the path of its last path argument, relative to the test's folder.
#[derive(Debug)]
struct Call {
    name: String,
    path: String,
}

#[derive(Debug)]
struct Calls(Vec<Call>);

impl Call {
    fn is(&self, name: &str, part: &str) -> bool {
        self.name == name && self.path.contains(part)
    }

    fn makes(&self, folder: &str) -> bool {
        self.path == folder
    }
}

impl Calls {
    fn place(&self, name: &str, path: &str) -> usize {
        let found = self
            .0
            .iter()
            .position(|call| call.name == name && call.path == path);
        found.unwrap_or_else(|| panic!("no {name} of {path}: {self:#?}"))
    }

    fn has(&self, range: std::ops::Range<usize>, name: &str, path: &str) -> bool {
        self.0[range]
            .iter()
            .any(|call| call.name == name && call.path == path)
    }
}

fn traced(home: &Home, arguments: &[&str]) -> Calls {
    let log = home.path("log");
    let mut strace = Command::new("strace");
    let calls = "trace=mkdir,mkdirat,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat";
    strace.args(["-f", "-y", "-e", calls, "-o"]).arg(&log);
    strace.arg(oarlock().get_program()).args(arguments);
    strace
        .args(["-r", &home.recipient])
        .current_dir(home.folder());
    succeeded(strace.env("XDG_CACHE_HOME", "/nonexistent"));
    let root = home.folder().canonicalize().unwrap();
    let root = root.to_str().unwrap();
    let log = fs::read_to_string(log).unwrap();
    let calls = log
        .lines()
        .filter(|line| line.contains(") ") && line.ends_with("= 0"));
    let calls = calls.filter_map(|line| {
        // NUMBER name(7</folder>, "name", ...) = 0
        let (name, arguments) = line.split_once(' ')?.1.trim_start().split_once('(')?;
        let (mut folder, mut path) = ("", String::new());
        for argument in arguments.split(", ") {
            if let Some((_, opened)) = argument.split_once('<') {
                folder = opened.split('>').next()?;
                path = folder.to_owned();
            } else if let Some(named) = argument.strip_prefix('"') {
                path = [folder, named.split('"').next()?].join("/");
            }
        }
        let path = path.trim_start_matches(root).trim_start_matches('/');
        Some(Call {
            name: name.to_owned(),
            path: path.to_owned(),
        })
    });
    Calls(calls.collect())
}
