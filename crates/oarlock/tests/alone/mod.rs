//! Tests that need a process to themselves: each starts its own program again with only itself
//! selected.
#![allow(dead_code)] // Not every test file uses all of it.

use std::process::Command;

const CHILD: &str = "OARLOCK_TEST_CHILD";

/// Runs test `name` again in a child, behind the words of `wrapper`; false in that child.
pub fn alone(name: &str, wrapper: &[&str]) -> bool {
    let program = std::env::current_exe().unwrap();
    let mut words = wrapper
        .iter()
        .map(|word| word.as_ref())
        .chain([program.as_os_str()]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    alone_as(name, command)
}

pub fn alone_as(name: &str, mut command: Command) -> bool {
    if is_child() {
        return false;
    }
    let output = as_child(&mut command, name)
        .args(["--nocapture", "--test-threads=1"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{}\n{text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    true
}

/// Makes `command`, this program, run test `name` as the child would.
pub fn as_child<'a>(command: &'a mut Command, name: &str) -> &'a mut Command {
    command.args(["--exact", name]).env(CHILD, "1")
}

pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}
