//! Tests that need a process to themselves: each starts its own program again with only itself
//! selected.

use std::process::Command;

use crate::name::test_name;
use crate::skip::repeat_skips;

/// Runs the running test again in a child, behind the words of `wrapper`; false in that child.
///
/// # Panics
/// Where the child fails.
#[must_use]
pub fn alone(wrapper: &[&str]) -> bool {
    let program = std::env::current_exe().unwrap();
    let mut words = wrapper
        .iter()
        .map(|word| word.as_ref())
        .chain([program.as_os_str()]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    alone_as(command)
}

/// The same by `command`, which runs this program.
///
/// # Panics
/// Where the child fails.
#[must_use]
pub fn alone_as(mut command: Command) -> bool {
    if is_child() {
        return false;
    }
    let output = as_child(&mut command)
        .args(["--nocapture", "--test-threads=1"])
        .output()
        .unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|text| crate::lossy(&text));
    repeat_skips(&stderr);
    assert!(
        output.status.success() && stdout.contains("1 passed"),
        "{}\n{stdout}\n{stderr}",
        output.status,
    );
    true
}

/// The example program `name` of the package under test.
///
/// # Panics
/// Where it has not been built: `--test` alone builds no example.
#[must_use]
pub fn example(name: &str) -> Command {
    let program = std::env::current_exe().unwrap();
    // Next to `deps`, the folder of this program.
    let folder = program.ancestors().nth(2).unwrap().join("examples");
    let file = folder.join(name);
    assert!(
        file.exists(),
        "{} is missing: build it with `cargo build --examples --package PACKAGE`",
        file.display()
    );
    Command::new(file)
}

/// Makes `command`, this program, run the running test as the child would.
pub fn as_child(command: &mut Command) -> &mut Command {
    command.args(["--exact", &test_name()]).env(CHILD, "1")
}

/// Whether this process is such a child.
pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

const CHILD: &str = "OARLOCK_TEST_CHILD";
