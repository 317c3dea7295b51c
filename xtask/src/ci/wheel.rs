//! The Python package: packed as a wheel, installed into an environment of its own, and tested there.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::report::{Ended, Report};
use crate::files;
use crate::tool::{self, Result};

/// Debian 11, 12 and 13, with Python 3.9, 3.11 and 3.13, and OpenSSL 1.1, 3.0 and 3.5.
const SUITES: [&str; 3] = ["bullseye", "bookworm", "trixie"];
/// What the wheel for other distributions may have.
const BYTES_MAX: u64 = 25 << 20;

/// Packs what the workspace's build made, and tests it.
pub fn check(root: &Path, target: &Path, report: &mut Report) -> Result<()> {
    test(root, target, "--debug", report).map(drop)
}

/// Builds the wheel for other distributions, and tests it.
pub fn check_portable(root: &Path, target: &Path, report: &mut Report) -> Result<()> {
    let wheel = test(root, target, "--portable", report)?;
    let bytes = std::fs::metadata(&wheel).map_or(0, |it| it.len());
    println!("{}: {bytes} bytes", wheel.display());
    if bytes > BYTES_MAX {
        return Err(format!(
            "the wheel has {bytes} bytes, more than {BYTES_MAX}"
        ));
    }
    if !tool::is_root() {
        println!("not tried in other distributions, which needs root");
        return Ok(());
    }
    tool::status(Command::new(root.join("scripts/system-packages")).arg("packages"))?;
    for suite in SUITES {
        let mut script = Command::new("sh");
        script.arg(root.join("xtask/src/ci/root.sh")).arg(suite);
        tool::status(script.arg(&wheel).arg(target.join("wheel/roots")))?;
        println!("{suite}: installed and used");
    }
    Ok(())
}

/// `cargo xtask wheel --test`: what [`check`] does, alone.
pub fn test_alone(root: &Path, target: &Path) -> Result<()> {
    let mut report = Report::default();
    check(root, target, &mut report)?;
    report.check()?;
    println!("{}", report.totals());
    Ok(())
}

/// `make wheel`: builds the wheel for other distributions below `target/wheel/dist`, and installs it into
/// `target/wheel/measured` for the benchmark.
pub fn build(root: &Path, target: &Path) -> Result<()> {
    let tools = tools(root, target)?;
    let wheel = wheel(root, target, &tools, "--portable")?;
    install(&tools, &wheel, &target.join("wheel/measured"))?;
    println!("{}", wheel.display());
    Ok(())
}

/// Returns the wheel that was tested.
fn test(root: &Path, target: &Path, kind: &str, report: &mut Report) -> Result<PathBuf> {
    let tools = tools(root, target)?;
    let wheel = wheel(root, target, &tools, kind)?;
    let python = install(&tools, &wheel, &target.join("wheel/environment"))?;
    lints(root, &tools, &python)?;

    let mut tests = Command::new(&python);
    if kind == "--portable" {
        tests.env("OARLOCK_TEST_PYTHON_CALLS", "1000000");
    }
    tests.args([
        "-m",
        "pytest",
        "--quiet",
        "-rs",
        "--tb=short",
        "--durations=8",
    ]);
    tests.args(["-p", "no:cacheprovider"]);
    tests.arg(root.join("python/tests")).current_dir(target);
    let start = Instant::now();
    let done = tests
        .output()
        .map_err(|error| tool::cannot_start("python", &error))?;
    report.add_pytest(
        "python",
        Ended {
            text: String::from_utf8_lossy(&done.stdout).into_owned(),
            seconds: start.elapsed().as_secs_f64(),
            fault: (!done.status.success()).then(|| done.status.to_string()),
        },
    );
    report.verdict()?;
    Ok(wheel)
}

/// Returns Python with what builds the package: arguments are to follow.
pub fn python(root: &Path, target: &Path) -> Result<Command> {
    tools(root, target).map(|tools| python_of(&tools))
}

fn python_of(tools: &Path) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut python = Command::new(tools.join("bin/python"));
    python.env("PATH", format!("{}:{path}", tools.join("bin").display()));
    // Nothing of Python's in the folder of the sources.
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    python
}

/// Makes an environment with the wheel, and returns its interpreter.
fn install(tools: &Path, wheel: &Path, environment: &Path) -> Result<PathBuf> {
    files::remove_dir(environment)?;
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--without-pip"]).arg(environment);
    tool::status(&mut make)?;
    let python = environment.join("bin/python");
    let mut pip = Command::new(tools.join("bin/python"));
    pip.args(["-m", "pip", "--quiet", "--python"]).arg(&python);
    pip.args(["install", "--no-index", "--no-deps"]).arg(wheel);
    tool::status(&mut pip)?;
    share_packages(tools, &python)?;
    Ok(python)
}

/// Checks the Python code, its types, and that the type stubs describe what is installed.
fn lints(root: &Path, tools: &Path, python: &Path) -> Result<()> {
    let run = |program: &Path, arguments: &[&str]| {
        tool::status(Command::new(program).args(arguments).current_dir(root))
    };
    run(
        &tools.join("bin/ruff"),
        &["check", "--quiet", "--no-cache", "python"],
    )?;
    run(
        &tools.join("bin/ruff"),
        &["format", "--quiet", "--no-cache", "--check", "python"],
    )?;
    let types = ["-m", "mypy", "--cache-dir=/dev/null", "python/oarlock"];
    run(python, &types)?;
    // Its own folder would be found before the installed package.
    let mut stubs = Command::new(python);
    stubs.args([
        "-m",
        "mypy.stubtest",
        "--concise",
        "oarlock",
        "--mypy-config-file",
    ]);
    tool::status(stubs.arg(root.join("pyproject.toml")).current_dir(tools))
}

/// Returns the environment with what builds and tests the package. It is made again when the list changes.
fn tools(root: &Path, target: &Path) -> Result<PathBuf> {
    let tools = target.join("wheel/tools");
    let list = root.join("python/tests/requirements.txt");
    let text = files::read(&list)?;
    let installed = tools.join("installed.txt");
    if files::holds(&installed, &text) {
        return Ok(tools);
    }
    files::remove_dir(&tools)?;
    tool::status(Command::new("python3").args(["-m", "venv"]).arg(&tools))?;
    let mut pip = Command::new(tools.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--requirement"]);
    tool::status(pip.arg(&list))?;
    files::write(&installed, text)?;
    Ok(tools)
}

fn wheel(root: &Path, target: &Path, tools: &Path, kind: &str) -> Result<PathBuf> {
    let dist = target.join("wheel/dist");
    files::remove_dir(&dist)?;
    let mut build = python_of(tools);
    build.arg(root.join("python/build/oarlock_build.py"));
    tool::status(build.arg(kind).arg(&dist))?;
    let first = files::entries(&dist)?.into_iter().next();
    first.ok_or_else(|| format!("no wheel in {}", dist.display()))
}

/// Has an environment find the packages of the tools, which take a minute to install.
fn share_packages(tools: &Path, python: &Path) -> Result<()> {
    let folder = |python: &Path| {
        let code = "import sysconfig; print(sysconfig.get_path('purelib'))";
        tool::output(Command::new(python).args(["-c", code]))
    };
    let place = PathBuf::from(folder(python)?.trim()).join("tools.pth");
    let shared = folder(&tools.join("bin/python"))?;
    files::write(&place, shared)
}
