use super::*;

const FLOORS: &Table = &[&["cipher", "aead"], &["plan"], &["device"], &["error"]];

#[test]
fn an_arrow_up_is_reported_with_its_place() {
    for (code, line) in [
        ("\nuse crate::cipher::Key;", 2),
        ("use crate::{error::Error, cipher::Key};", 1),
        ("use super::{\n cipher::{\n  self as c, Key}};", 3),
        ("use crate::cipher as c;\nfn f(k: c::Key) {}", 2),
        ("use crate::cipher;\nuse cipher::Key;", 2),
        ("use crate::cipher::*;\nfn f(k: Key) {}", 2),
        ("use crate::cipher::*;", 1),
        ("use crate::Key;", 1),         // which the root re-exports
        ("use crate::Renamed;", 1),     // under another name
        ("use crate::device::Key;", 1), // which a room below re-exports
        ("use super::*;\nfn f(k: Key) {}", 2),
        ("pub use crate::cipher::Key;", 1),
        ("fn f() {\n crate::cipher::Key::new() }", 2),
        ("fn f() {\n use crate::cipher::Key;\n}", 2),
        ("impl crate::cipher::Keyed for Plan {}", 1),
        ("mod inline { use super::super::cipher::Key; }", 1),
        ("macro_rules! m { () => { $crate::cipher::Key } }", 1),
        (
            "#[cfg(any(test, debug_assertions))] use crate::cipher::Key;",
            1,
        ),
        ("#[cfg(not(test))] use crate::cipher::Key;", 1),
        (
            "#[cfg(test)] use crate::error::Error;\nuse crate::cipher::Key;",
            2,
        ),
        (
            "#[cfg(test)] mod tests {}\nfn f() { crate::cipher::key() }",
            2,
        ),
        (
            "struct S { #[cfg(test)] a: u8,\n b: crate::cipher::Key }",
            2,
        ),
        ("const P: *const crate::cipher::Key = null();", 1),
        ("fn f<'a>() -> &'a crate::cipher::Key {}", 1),
        ("fn f() { \n crate::cipher::from_macro() }", 2),
    ] {
        let findings = house(code).judge();
        let place = format!("src/plan.rs:{line}: an upward arrow from plan to cipher");
        let ups = findings.iter().filter(|one| one.contains("an upward"));
        assert_eq!(ups.count(), 1, "{code}: {findings:?}");
        assert!(
            findings.iter().any(|one| one.starts_with(&place)),
            "{code}: {findings:?}"
        );
    }
}

#[test]
fn what_is_no_arrow_up_is_not_reported() {
    for code in [
        "use crate::device::Device;",
        "use crate::error::Error; use std::cipher::Key; use ::cipher::Key; use other::cipher;",
        "// crate::cipher::Key\n/* use crate::cipher::Key; */ const A: &str = \"crate::cipher::Key\";",
        "//! [`Key`](crate::cipher::Key)",
        "#[cfg(test)] use crate::cipher::Key;",
        "#[cfg(test)] mod tests { use crate::cipher::Key; }",
        "#[cfg(all(test, not(loom)))] fn f<A, B>() { crate::cipher::key() }",
        "#[test] fn f() { crate::cipher::key() }",
        "mod tests;",
        "struct S { #[cfg(test)] a: crate::cipher::Key, b: u8 }",
        "fn f() { #[cfg(test)] crate::cipher::key(); g() }",
        "pub(in crate::cipher) fn f() {}",
        "fn f(cipher: u8) { let key = cipher.key(); device::Device::cipher::<u8>(key) }",
        "use crate::*;", // of which nothing is used but the root itself
        "",
    ] {
        let graph = house(code);
        let up: Vec<String> = graph
            .up()
            .map(|(from, to)| format!("{} {}", graph.rooms[from].name, graph.rooms[to].name))
            .filter(|arrow| arrow != "plan crate")
            .collect();
        assert_eq!(up, [""; 0], "{code}");
        assert_eq!(graph.tangled(), 0, "{code}");
    }
}

#[test]
fn rooms_of_one_floor_see_nothing_of_each_other() {
    let graph = planted(
        &[
            ("src/lib.rs", "mod cipher; mod aead;"),
            ("src/cipher.rs", "pub struct Key;"),
            ("src/aead/mod.rs", "mod key;"),
            (
                "src/aead/key.rs",
                "use crate::cipher::Key;\nfn f() { crate::cipher::Key }",
            ),
        ],
        Some(&[&["cipher", "aead"]]),
    );
    let findings = graph.judge();
    assert_eq!(findings.len(), 1, "{findings:?}");
    let said = "src/aead/key.rs:1: a sideways arrow from aead to cipher, and in 1 more place – ";
    assert!(findings[0].starts_with(said), "{findings:?}");
}

#[test]
fn a_table_names_every_room_and_no_other() {
    let files = [
        ("src/lib.rs", "mod a; mod b; struct Shared;"),
        ("src/a/mod.rs", "mod deep; use crate::b; fn f() { b::g() }"),
        ("src/a/deep.rs", "pub struct Deep;"),
        ("src/b.rs", "use crate::Shared; use crate::a::deep::Deep;"),
    ];
    let of = |table: &'static Table| planted(&files, Some(table)).judge();
    assert_eq!(of(&[&["a"], &["b"], &["a::deep"], &["crate"]]), [""; 0]);
    let findings = of(&[&["a"], &["a::deep"], &["gone"], &["crate"]]).join("\n");
    assert!(findings.contains("no module \"gone\""), "{findings}");
    assert!(
        findings.contains("src/b.rs:1: b has no floor"),
        "{findings}"
    );
    // The root stands above all, where no line says else.
    let findings = of(&[&["a"], &["b"], &["a::deep"]]).join("\n");
    assert!(
        findings.contains("src/b.rs:1: an upward arrow from b to crate"),
        "{findings}"
    );
}

#[test]
fn a_circle_of_rooms_is_reported_with_an_import_for_each_arrow() {
    let graph = planted(
        &[
            ("src/main.rs", "mod a; mod b; mod c; fn main() { a::f() }"),
            ("src/a.rs", "\nuse crate::b;\npub fn f() { b::f() }"),
            ("src/b.rs", "pub fn f() { crate::c::f() }"),
            ("src/c.rs", "\n\npub fn f() { super::a::f() }"),
        ],
        None,
    );
    let findings = graph.judge();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(
        findings[0],
        "src/a.rs:3: a circle of 3 rooms: a, b, c – cut one of these: a uses b (src/a.rs:3), \
         b uses c (src/b.rs:1), c uses a (src/c.rs:3)"
    );
    assert_eq!(graph.tangled(), 3);
    let described = graph.describe();
    assert!(described.contains("shortest: a → b → c → a"), "{described}");
    assert!(
        described.contains("c → a\n      src/c.rs:3: super::a::f"),
        "{described}"
    );
}

#[test]
fn a_parent_and_a_child_that_use_each_other_are_a_circle() {
    for (parent, child) in [
        (
            "mod b; pub struct Thing; fn f() { b::g() }",
            "use super::Thing;",
        ),
        (
            "mod b; use b::B; pub struct Thing;",
            "pub struct B; use super::Thing;",
        ),
        (
            "mod b; pub use b::B; pub struct Thing; fn f(b: B) {}",
            "pub struct B; use super::Thing;",
        ),
        (
            "mod b; pub use b::*; pub struct Thing; fn f(b: B) {}",
            "pub struct B; use super::*; fn f(t: Thing) {}",
        ),
        (
            "macro_rules! table { () => {} } mod b; fn f() { b::g() }",
            "pub fn g() {} table!();",
        ),
    ] {
        let graph = room_of_two(parent, child);
        assert_eq!(graph.tangled(), 2, "{parent} {child}");
        let findings = graph.judge();
        let said =
            "a circle of 2 files in a: a, a::b – cut one of these: a uses a::b (src/a/mod.rs:1)";
        assert!(findings[0].contains(said), "{findings:?}");
    }
}

#[test]
fn a_parent_that_declares_and_hands_on_is_no_circle() {
    for (parent, child) in [
        (
            "mod b; pub use b::B; pub struct Thing;",
            "use super::Thing;",
        ),
        (
            "pub mod b; pub(crate) use self::b::{B, C as D}; pub struct Thing;",
            "use super::Thing;",
        ),
        (
            "mod b; pub use b::*; pub struct Thing;",
            "use super::*; fn f(t: Thing) {}",
        ),
        (
            "mod b; fn f() { b::g() }",
            "pub fn g() {} use crate::other::Other;",
        ),
        (
            "mod b; fn f() { b::g() }",
            "#[cfg(test)] mod tests { use super::super::f; }",
        ),
        (
            "mod b; pub struct B; mod inline { pub struct I; } fn f() { inline::I }",
            "use super::inline::I;",
        ),
    ] {
        let graph = room_of_two(parent, child);
        assert_eq!(graph.tangled(), 0, "{parent} {child}");
        assert_eq!(graph.judge(), [""; 0]);
    }
}

#[test]
fn circles_and_arrows_up_are_both_reported() {
    let graph = planted(
        &[
            ("src/lib.rs", "mod a; mod b; mod c;"),
            ("src/a.rs", "use crate::b::B; pub struct A;"),
            ("src/b.rs", "use crate::a::A; pub struct B;"),
            ("src/c.rs", "use crate::a::A;"),
        ],
        Some(&[&["a"], &["b"], &["c"]]),
    );
    let findings = graph.judge();
    let said = [
        "a circle of 2 rooms: a, b",
        "an upward arrow from b to a",
        "an upward arrow from c to a",
    ];
    assert_eq!(findings.len(), said.len(), "{findings:?}");
    for (finding, said) in findings.iter().zip(said) {
        assert!(finding.contains(said), "{findings:?}");
    }
}

#[test]
fn what_cannot_be_read_is_an_error_with_its_place() {
    let load = |text: &str| {
        let read = |name: &str| (name == "src/lib.rs").then(|| text.to_owned());
        Source::load("src/lib.rs", &read).err().unwrap()
    };
    let error = load("\nmod gone;");
    assert!(
        error.starts_with("src/lib.rs:2: no file for `mod gone`"),
        "{error}"
    );
    assert!(error.contains("src/gone.rs nor src/gone/mod.rs"), "{error}");
    let error = load("\n#[path = \"x.rs\"] mod a;");
    assert!(
        error.starts_with("src/lib.rs:2: a module with `#[path]`"),
        "{error}"
    );
    assert!(load("fn f( {").starts_with("src/lib.rs:"));
    assert!(
        Source::load("src/lib.rs", &|_| None)
            .err()
            .unwrap()
            .contains("cannot read the root")
    );
}

#[test]
fn nothing_to_look_at_is_an_error() {
    let mut metadata = Metadata {
        packages: Vec::new(),
        target_directory: "/nowhere".into(),
        workspace_root: "/nowhere".into(),
    };
    assert!(
        check(&metadata)
            .err()
            .unwrap()
            .contains("found no modules to check")
    );
    metadata.packages.push(crate::tool::Package {
        name: "oarlock".into(),
        manifest_path: "/nowhere/Cargo.toml".into(),
        dependencies: Vec::new(),
        targets: vec![Target {
            name: "it".into(),
            kind: vec!["example".into()],
            src_path: "/nowhere/examples/it.rs".into(),
        }],
    });
    let error = check(&metadata).err().unwrap();
    assert!(
        error.contains("neither a library nor a program nor a test"),
        "{error}"
    );
}

/// A crate whose rooms are in order but for what `plan` says.
fn house(plan: &str) -> Graph {
    planted(
        &[
            (
                "src/lib.rs",
                "mod cipher; mod aead; mod plan; mod device; mod error;
                 pub use cipher::{Key, Key as Renamed}; pub use plan::Plan; pub struct Own;",
            ),
            (
                "src/cipher/mod.rs",
                "mod key; pub use self::key::Key; pub fn key() {}",
            ),
            ("src/cipher/key.rs", "pub struct Key; pub trait Keyed {}"),
            ("src/aead.rs", ""),
            ("src/plan.rs", plan),
            (
                "src/device.rs",
                "pub struct Device; pub use crate::error::Error;",
            ),
            ("src/error.rs", "pub enum Error { Key }"),
        ]
        .map(|(path, text)| match path {
            // An arrow up of its own, which only one of the cases needs.
            "src/device.rs" if plan.contains("device::Key") => (path, "pub use crate::Key;"),
            _ => (path, text),
        }),
        Some(FLOORS),
    )
    .without("device")
}

fn room_of_two(parent: &str, child: &str) -> Graph {
    planted(
        &[
            ("src/lib.rs", "mod a; mod other;"),
            ("src/a/mod.rs", parent),
            ("src/a/b.rs", child),
            ("src/other.rs", "pub struct Other;"),
        ],
        None,
    )
}

fn planted(files: &[(&str, &str)], table: Option<&Table>) -> Graph {
    let read = |name: &str| {
        let file = files.iter().find(|(path, _)| *path == name);
        file.map(|(_, text)| (*text).to_owned())
    };
    let source = Source::load(files[0].0, &read).unwrap();
    Graph::new("planted", source, table)
}

impl Graph {
    /// Without the arrows that begin in `room`.
    fn without(mut self, room: &str) -> Self {
        let rooms = &self.rooms;
        self.between_rooms
            .retain(|(from, _)| rooms[*from].name != room);
        self
    }
}
