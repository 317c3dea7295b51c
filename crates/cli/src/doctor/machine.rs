//! The state of this machine.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use oarlock::device::{Cpu, Feature};
use oarlock_engine::cipher::{AesBackend, ChaCha20Backend};

use super::finding::Finding;
use crate::failure::Failure;
use crate::openssl::{self, Installed};
use crate::openssl_conf::{PostQuantum, ProviderSection, UserConf};
use crate::{calibration, cpu, options};

pub(super) fn findings(provider: &Result<PathBuf, Failure>) -> Vec<Finding> {
    let mut findings = of_cpu();
    let version = Installed::find().version();
    findings.push(of_openssl(version.as_deref()));
    let user = UserConf::find();
    let path = match &user.path {
        Some(path) => path.display().to_string(),
        None => "none".into(),
    };
    findings.push(Finding::ok("configuration", path));
    match provider {
        Ok(module) => {
            findings.push(Finding::ok("provider", module.display().to_string()));
            findings.push(at_work(module, &user, version.is_some()));
        }
        Err(unfit) => findings.push(Finding::no("provider", unfit.to_string())),
    }
    findings
}

fn of_cpu() -> Vec<Finding> {
    let cpu = match (options::of_provider(""), cpu::visible()) {
        (Ok(()), Ok(cpu)) => cpu,
        (Err(wrong), _) | (_, Err(wrong)) => {
            let text = format!("{wrong}: with this the provider offers nothing");
            return vec![Finding::no("options", text)];
        }
    };
    let features: Vec<_> = cpu.features().map(Feature::name).collect();
    let text = format!("{}: {}", cpu::model(), features.join(" "));
    let mut findings = vec![Finding::ok("CPU", text), of_kernels(cpu)];
    findings.push(match cpu::count() {
        1 => Finding::note("CPUs", "1: no work can be spread over cores"),
        many => Finding::ok("CPUs", many.to_string()),
    });
    findings
}

fn of_kernels(cpu: Cpu) -> Finding {
    let (aes, chacha20) = (AesBackend::preferred(cpu), ChaCha20Backend::preferred(cpu));
    let text = format!("AES by {}, ChaCha20 by {}", aes.name(), chacha20.name());
    match (aes, chacha20) {
        (AesBackend::Portable, ChaCha20Backend::Portable) => Finding::no(
            "kernels",
            "none is faster than OpenSSL's on this CPU: only Camellia gains, from more cores",
        ),
        (AesBackend::Portable, _) => Finding::note(
            "kernels",
            format!("{text}: without AES instructions, AES is left to OpenSSL"),
        ),
        (_, ChaCha20Backend::Portable) => Finding::note("kernels", text),
        _ => Finding::ok("kernels", text),
    }
}

fn of_openssl(version: Option<&str>) -> Finding {
    match version {
        None => Finding::note(
            "OpenSSL",
            "no openssl command: the programs' OpenSSL was not checked",
        ),
        Some(version) if openssl::has_providers(version) => Finding::ok("OpenSSL", version),
        Some(version) => Finding::no(
            "OpenSSL",
            format!("{version} has no providers: OpenSSL 3.0 or newer is needed"),
        ),
    }
}

/// Lists the providers of the openssl command, with the configuration that `oarlock run` writes.
fn at_work(module: &Path, user: &UserConf, has_command: bool) -> Finding {
    let calibration = calibration::in_configuration();
    let provider = ProviderSection {
        module: module.as_os_str().as_bytes(),
        leaves_choice: false,
        options: "",
        stats: None,
        calibration: calibration.as_deref().map(|it| it.as_os_str().as_bytes()),
        daemons: None,
        post_quantum: PostQuantum::AsBefore,
    };
    let additions = match user.additions(&provider) {
        Ok(additions) => additions,
        Err(untouched) => return Finding::no("at work", untouched.to_string()),
    };
    if !has_command {
        return Finding::note("at work", "not tried: no openssl command");
    }
    let written = tempfile::tempdir()
        .map_err(|error| error.to_string())
        .and_then(|folder| {
            let conf = user.write_with(&additions, folder.path());
            Ok((conf.map_err(|failure| failure.to_string())?, folder))
        });
    let (conf, _folder) = match written {
        Ok(written) => written,
        Err(why) => return Finding::no("at work", why),
    };
    let listed = match openssl::providers(&conf) {
        Ok(listed) => listed,
        Err(why) => return Finding::no("at work", why),
    };
    match listed.iter().find(|provider| provider.name == "oarlock") {
        Some(provider) if provider.is_active => Finding::ok(
            "at work",
            "openssl loads the provider, and it offers ciphers",
        ),
        Some(_) => Finding::no("at work", "the provider loads and offers nothing"),
        None => Finding::no("at work", why_not_loaded(&conf, module)),
    }
}

/// Returns why the provider was not loaded. Programs ignore errors in a configuration unless it asks for diagnostics.
fn why_not_loaded(conf: &Path, module: &Path) -> String {
    let told = fs::read(conf).and_then(|text| {
        fs::write(
            conf,
            [&text[..], b"[default]\nconfig_diagnostics = 1\n"].concat(),
        )
    });
    if let Ok(Err(why)) = told.map(|()| openssl::providers(conf)) {
        return why;
    }
    let name = module.display();
    format!("{name}: openssl does not load it as a provider with this configuration")
}
