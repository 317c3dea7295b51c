//! The additions to a configuration.
//!
//! ```text
//! [default]                         if the user has it     otherwise
//! openssl_conf = INIT               is kept                oarlock_init
//! nodejs_conf = NODE                is kept                oarlock_node_init: node reads nothing else, and must not
//!                                                          get the user's settings for other programs
//! [INIT]
//! providers = P                     is kept                oarlock_providers
//! alg_section = A                   is kept                oarlock_algorithms
//! random = R                        is kept                oarlock_random
//! [P] oarlock = oarlock_sect        is added
//!     default = D, [D] activate = 1 is added unless the user activates a provider: OpenSSL loads its default by
//!                                   itself only while no other provider is activated. In [INIT] these two come after
//! oarlock = oarlock_sect            which loads the provider without changing how OpenSSL chooses the others, and
//!                                   disables the two (crates/provider/src/conf_module.rs). Node loads no providers
//!                                   by itself, and ends if a module is missing
//! [A] default_properties            gets ?oarlock.accelerated=yes after the user's own: a program's own query for
//!                                   a provider, such as provider!=fips, would replace ?provider=oarlock.
//!                                   Also gets ?oarlock.keys=no: keys stay in the provider that created them
//! [R] properties                    gets provider!=oarlock, so that the random numbers' own cipher stays
//! ssl_conf = S, [S]                 for post-quantum groups, is kept: oarlock_ssl
//! system_default = D                                   is kept: oarlock_tls
//! [D] Groups                                           is kept. Not for node, which has its own OpenSSL
//! ```

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::reader::{Conf, DEFAULT, is_name};

/// The provider, as the configuration names it.
#[derive(Clone, Debug)]
pub struct ProviderSection<'a> {
    /// The absolute path of its file.
    pub module: &'a [u8],
    /// Whether the file is also a configuration module, which leaves the choice of other providers to programs.
    pub leaves_choice: bool,
    /// The options in the engine's grammar; may be empty.
    pub options: &'a str,
    /// The environment variable that names the file in which the provider counts requests.
    pub stats: Option<&'static str>,
    /// The path of the file of measured ratios.
    pub calibration: Option<&'a [u8]>,
    /// The daemons of this machine that the provider may ask.
    pub daemons: Option<&'a Daemons>,
    /// Whether programs also agree on keys with ML-KEM.
    pub post_quantum: PostQuantum,
}

/// Whether programs that use TLS agree on keys with ML-KEM and a curve together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PostQuantum {
    /// Programs behave as they do without Oarlock.
    #[default]
    AsBefore,
    /// OpenSSL itself prefers such groups (release 3.5 and later). Its own list is better than any that would be written
    /// here: it says for which groups a client sends a key share, in a grammar that earlier releases do not parse. With a
    /// list of ours its clients would send X25519 alone.
    OfOpenSsl,
    /// OpenSSL has no such groups (3.0 to 3.4). The provider adds them, and the configuration lists them.
    Listed,
}

/// The sockets of daemons. The paths are absolute, because programs start in other folders, too.
#[derive(Clone, Debug, Default)]
pub struct Daemons {
    /// The socket of `oarlock local`, which brings processes together.
    pub local: Option<PathBuf>,
    /// The socket of the relay to a cryptoserver.
    pub relay: Option<PathBuf>,
}

/// The sections to open and the values to set in them, in this order.
#[derive(Debug, Default)]
pub struct Additions(Vec<Opened>);

#[derive(Debug)]
struct Opened {
    section: Vec<u8>,
    /// The names and values, as they are written.
    values: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The reason why nothing is added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Untouched {
    /// OpenSSL cannot parse the configuration.
    Broken(String),
    /// The configuration requires FIPS 140, which Oarlock is not.
    Fips,
    /// The configuration itself prefers a provider, by this property query.
    Prefers(String),
    /// A section has this name, which cannot be written again.
    Name(String),
}

impl fmt::Display for Untouched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(what) => write!(f, "the OpenSSL configuration is broken: {what}"),
            Self::Fips => f.write_str(
                "the OpenSSL configuration asks for FIPS 140 alone (fips=yes), which Oarlock is not",
            ),
            Self::Prefers(query) => write!(
                f,
                "the OpenSSL configuration already prefers a provider \
                 (default_properties = {query}): add ?oarlock.accelerated=yes there"
            ),
            Self::Name(name) => write!(
                f,
                "the OpenSSL configuration has a section called {name:?}, which cannot be opened again: \
                 rename it"
            ),
        }
    }
}

impl Additions {
    /// Returns the additions that `conf` lacks.
    pub fn to(conf: &Conf, provider: &ProviderSection<'_>) -> Result<Self, Untouched> {
        let mut additions = Self::default();
        for entry in &ENTRIES {
            additions.add_entry(conf, entry, provider.leaves_choice)?;
        }
        additions.set(SECTION, b"identity", b"oarlock");
        additions.set(SECTION, b"module", provider.module);
        if provider.leaves_choice {
            additions.set(SECTION, b"path", provider.module);
            additions.open(EMPTY);
        }
        if !provider.options.is_empty() || conf.value(SECTION, b"options").is_some() {
            additions.set(SECTION, b"options", provider.options.as_bytes());
        }
        if let Some(stats) = provider.stats {
            // This default is for programs without the variable.
            additions.set(DEFAULT, stats.as_bytes(), b"");
            let variable = format!("${{ENV::{stats}}}");
            additions.set_to(SECTION, b"stats", variable.into_bytes());
        }
        if let Some(calibration) = provider.calibration {
            additions.set(SECTION, b"calibration", calibration);
        }
        if let Some(Daemons { local, relay }) = provider.daemons {
            for (name, path) in [("local", local), ("relay", relay)] {
                if let Some(path) = path {
                    additions.set(SECTION, name.as_bytes(), path.as_os_str().as_bytes());
                }
            }
        }
        if provider.post_quantum != PostQuantum::AsBefore {
            additions.set(SECTION, b"post-quantum", b"yes");
        }
        if provider.post_quantum == PostQuantum::Listed {
            additions.add_groups(conf);
        }
        additions.set(SECTION, b"activate", b"1");
        let unfit = |opened: &&Opened| !opened.section.iter().all(|byte| is_name(*byte));
        match additions.0.iter().find(unfit) {
            Some(opened) => Err(Untouched::Name(lossy(&opened.section))),
            None => Ok(additions),
        }
    }

    /// Returns the additions as lines of a configuration.
    pub fn to_text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for opened in &self.0 {
            text.push(b'[');
            text.extend_from_slice(&opened.section);
            text.extend_from_slice(b"]\n");
            for (name, value) in &opened.values {
                text.extend_from_slice(name);
                text.extend_from_slice(b" = ");
                text.extend(value);
                text.push(b'\n');
            }
        }
        text
    }

    fn add_entry(
        &mut self,
        conf: &Conf,
        entry: &Entry,
        leaves_choice: bool,
    ) -> Result<(), Untouched> {
        let init = conf.value(DEFAULT, entry.key).unwrap_or(entry.init);
        // Repeat the user's value: an older library may have been given another.
        self.set(DEFAULT, entry.key, init);
        let activated = Activated::of(conf, init);
        let is_by_module = leaves_choice && entry.may_have_module && !activated.any;
        let mut section_of = |module: &[u8], ours: &'static [u8]| match conf.value(init, module) {
            Some(section) => section.to_vec(),
            None => {
                self.set(init, module, ours);
                ours.to_vec()
            }
        };
        let providers = match is_by_module {
            true => {
                section_of(MODULE, SECTION);
                section_of(PROVIDERS_OF_MODULE, entry.providers)
            }
            false => section_of(b"providers", entry.providers),
        };
        let algorithms = section_of(b"alg_section", entry.algorithms);
        let random = section_of(b"random", entry.random);

        if !activated.any {
            let own = conf.value(&providers, b"default");
            let default = own.unwrap_or(b"oarlock_default").to_vec();
            if own.is_none() {
                self.set(&providers, b"default", &default);
            }
            self.set(&default, b"activate", b"1");
        }
        self.set(&providers, b"oarlock", SECTION);
        if activated.fips && !activated.default || asks_for_fips(conf, &algorithms) {
            return Err(Untouched::Fips);
        }
        let properties = conf.value(&algorithms, b"default_properties");
        if let Some(properties) = preferring(properties.unwrap_or_default())? {
            self.set(&algorithms, b"default_properties", &properties);
        }
        let properties = conf.value(&random, b"properties").unwrap_or_default();
        if !Clause::all(properties).any(|clause| clause.name == "provider") {
            let properties = joined(properties, b"provider!=oarlock");
            self.set(&random, b"properties", &properties);
        }
        Ok(())
    }

    /// Lists the groups for all TLS contexts, unless the user's configuration has a list.
    fn add_groups(&mut self, conf: &Conf) {
        let mut section_of =
            |of: &[u8], name: &[u8], ours: &'static [u8]| match conf.value(of, name) {
                Some(section) => section.to_vec(),
                None => {
                    self.set(of, name, ours);
                    ours.to_vec()
                }
            };
        let init = conf
            .value(DEFAULT, ENTRIES[0].key)
            .unwrap_or(ENTRIES[0].init);
        let names = section_of(init, b"ssl_conf", b"oarlock_ssl");
        let commands = section_of(&names, b"system_default", b"oarlock_tls");
        if groups_of(conf).is_none() {
            self.set(&commands, b"Groups", GROUPS);
        }
    }

    fn set(&mut self, section: &[u8], name: &[u8], value: &[u8]) {
        self.set_to(section, name, quoted(value));
    }

    /// Sets a value unless it is set already: two entries may share a section, and set the same value in it.
    fn set_to(&mut self, section: &[u8], name: &[u8], value: Vec<u8>) {
        let values = self.open(section);
        if !values.iter().any(|(it, _)| it == name) {
            values.push((name.to_vec(), value));
        }
    }

    /// Returns the values to set in a section, which is added if it is new.
    fn open(&mut self, section: &[u8]) -> &mut Vec<(Vec<u8>, Vec<u8>)> {
        let at = self.0.iter().position(|it| it.section == section);
        let at = at.unwrap_or_else(|| {
            self.0.push(Opened {
                section: section.to_vec(),
                values: Vec::new(),
            });
            self.0.len() - 1
        });
        &mut self.0[at].values
    }
}

/// A name that programs look for in a configuration, and the names of our sections for it.
struct Entry {
    key: &'static [u8],
    may_have_module: bool,
    init: &'static [u8],
    providers: &'static [u8],
    algorithms: &'static [u8],
    random: &'static [u8],
}

const ENTRIES: [Entry; 2] = [
    Entry {
        key: b"openssl_conf",
        may_have_module: true,
        init: b"oarlock_init",
        providers: b"oarlock_providers",
        algorithms: b"oarlock_algorithms",
        random: b"oarlock_random",
    },
    Entry {
        key: b"nodejs_conf",
        may_have_module: false,
        init: b"oarlock_node_init",
        providers: b"oarlock_node_providers",
        algorithms: b"oarlock_algorithms",
        random: b"oarlock_random",
    },
];

/// Returns the names under which programs look for their section.
pub(super) fn keys() -> impl Iterator<Item = &'static [u8]> {
    ENTRIES.iter().map(|entry| entry.key)
}

/// The module that loads the provider, and the list of providers that it then disables.
const MODULE: &[u8] = b"oarlock";
const PROVIDERS_OF_MODULE: &[u8] = b"providers.oarlock";
/// The empty section to which the module truncates the names of their sections, which disables them.
const EMPTY: &[u8] = b"oarlock_";
/// The groups of OpenSSL 3.0 to 3.4 in its own order, with hybrids among them.
///
/// A server takes the first of the client's key shares that is in the list, at any place, so it agrees on a hybrid with each
/// client that sends one. A client sends a share of the first group, and that stays X25519: a server that insists on a
/// hybrid asks for another. OpenSSL ignores a whole list if it does not know one of the names, as is the case without the
/// provider.
const GROUPS: &[u8] = b"X25519:X25519MLKEM768:P-256:SecP256r1MLKEM768:X448:P-521:P-384:SecP384r1MLKEM1024:ffdhe2048:ffdhe3072:ffdhe4096:ffdhe6144:ffdhe8192";

/// The provider's own section.
pub const SECTION: &[u8] = b"oarlock_sect";

/// The providers other than Oarlock that a configuration activates.
#[derive(Default)]
struct Activated {
    any: bool,
    default: bool,
    fips: bool,
}

impl Activated {
    /// Every module of the init section counts if its name before a dot is `providers`; for the names in it, the part behind
    /// the first dot counts (crypto/conf/conf_mod.c, crypto/provider_conf.c).
    fn of(conf: &Conf, init: &[u8]) -> Self {
        let mut activated = Self::default();
        let modules = conf.section(init).unwrap_or_default().iter();
        let is_list = |name: &[u8]| before_last_dot(name) == b"providers";
        // The list is of an earlier run, not the user's choice.
        let lists = modules.filter(|(name, _)| is_list(name) && name != PROVIDERS_OF_MODULE);
        for (name, section) in lists.flat_map(|(_, list)| conf.section(list).unwrap_or_default()) {
            let values = conf.section(section).unwrap_or_default();
            let value = |asked: &[u8]| {
                let found = values.iter().rfind(|(name, _)| behind_dot(name) == asked);
                found.map(|(_, value)| &value[..])
            };
            // OpenSSL 3.0 treats any value as yes; later versions know a no.
            let is_active = value(b"activate").is_some_and(|value| !NO.contains(&value));
            let identity = value(b"identity").unwrap_or(behind_dot(name));
            if is_active && identity != b"oarlock" {
                activated.any = true;
                activated.default |= identity == b"default";
                activated.fips |= identity == b"fips";
            }
        }
        activated
    }
}

fn asks_for_fips(conf: &Conf, algorithms: &[u8]) -> bool {
    let value = |name: &[u8]| conf.value(algorithms, name).unwrap_or_default();
    let mode = value(b"fips_mode");
    YES.iter().any(|yes| mode.eq_ignore_ascii_case(yes))
        || Clause::all(value(b"default_properties"))
            .any(|clause| clause.name == "fips" && clause.asks && clause.value != "no")
}

/// Returns `properties` with the preference for Oarlock, or `None` if they have it already.
fn preferring(properties: &[u8]) -> Result<Option<Vec<u8>>, Untouched> {
    let asks_for = |name: &str, value: &str| {
        Clause::all(properties).any(|it| it.name == name && it.asks && it.value == value)
    };
    let is_preferred = asks_for("oarlock.accelerated", "yes");
    let mut preferring = properties.to_vec();
    if !is_preferred {
        let names_another = Clause::all(properties).any(|clause| clause.name == "provider")
            && !asks_for("provider", "oarlock");
        if names_another {
            return Err(Untouched::Prefers(lossy(properties)));
        }
        preferring = joined(&preferring, b"?oarlock.accelerated=yes");
    }
    if !asks_for("oarlock.keys", "no") {
        preferring = joined(&preferring, b"?oarlock.keys=no");
    }
    Ok((preferring != properties).then_some(preferring))
}

/// Returns the groups that a configuration lists for all TLS contexts (SSL_CONF_cmd(3), "Groups" and "Curves").
pub fn groups_of(conf: &Conf) -> Option<&[u8]> {
    let init = conf.value(DEFAULT, ENTRIES[0].key)?;
    let names = conf.value(init, b"ssl_conf")?;
    let commands = conf.section(conf.value(names, b"system_default")?)?;
    let is_list = |name: &[u8]| {
        let name = behind_dot(name);
        [&b"groups"[..], b"curves"]
            .iter()
            .any(|it| name.eq_ignore_ascii_case(it))
    };
    let list = commands.iter().rfind(|(name, _)| is_list(name));
    list.map(|(_, list)| &list[..])
}

/// Whether a program with its own `query` never gets Oarlock, whatever the default query prefers.
pub fn excludes_oarlock(query: &str) -> bool {
    let excludes = |clause: &Clause| match (&*clause.name, &*clause.value) {
        ("provider", value) => clause.asks != (value == "oarlock"),
        ("fips", value) => clause.asks && value == "yes",
        _ => false,
    };
    Clause::all(query.as_bytes()).any(|clause| clause.demands && excludes(&clause))
}

fn joined(properties: &[u8], more: &[u8]) -> Vec<u8> {
    if properties.trim_ascii().is_empty() {
        return more.to_vec();
    }
    [properties, more].join(&b","[..])
}

/// A clause of a property query, as in property(7).
struct Clause {
    name: String,
    value: String,
    /// Whether it asks for that value, rather than for another or none.
    asks: bool,
    /// Whether an implementation that does not match is excluded, rather than only less preferred.
    demands: bool,
}

impl Clause {
    fn all(query: &[u8]) -> impl Iterator<Item = Self> {
        let query = lossy(query).to_ascii_lowercase();
        let clauses: Vec<_> = query.split(',').map(Self::of).collect();
        clauses.into_iter()
    }

    fn of(text: &str) -> Self {
        let text = text.trim();
        let (is_removed, is_optional) = (text.starts_with('-'), text.starts_with('?'));
        let text = text.trim_start_matches(['?', '-']).trim_start();
        let (name, value) = text.split_once('=').unwrap_or((text, "yes"));
        let (name, is_unequal) = match name.strip_suffix('!') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let value = value.trim().trim_matches(['"', '\'']);
        Self {
            name: name.trim().into(),
            value: value.into(),
            asks: !is_removed && !is_unequal,
            demands: !is_removed && !is_optional,
        }
    }
}

/// Whether the command line and OpenSSL's configuration can contain the text: it has no control characters.
pub fn fits_a_line(text: &OsStr) -> bool {
    !text.as_bytes().iter().any(u8::is_ascii_control)
}

/// Returns a value as a configuration parses it back: in quotes if one of its characters has a meaning.
pub fn quoted(value: &[u8]) -> Vec<u8> {
    let is_plain = |byte: &u8| is_name(*byte) || b"=:".contains(byte) || *byte >= 0x80;
    if value.iter().all(is_plain) {
        return value.to_vec();
    }
    let mut quoted = vec![b'"'];
    for byte in value {
        if b"\"\\".contains(byte) {
            quoted.push(b'\\');
        }
        quoted.push(*byte);
    }
    quoted.push(b'"');
    quoted
}

pub(super) fn before_last_dot(name: &[u8]) -> &[u8] {
    let dot = name.iter().rposition(|byte| *byte == b'.');
    &name[..dot.unwrap_or(name.len())]
}

fn behind_dot(name: &[u8]) -> &[u8] {
    let dot = name.iter().position(|byte| *byte == b'.');
    dot.map_or(name, |at| &name[at + 1..])
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const YES: [&[u8]; 5] = [b"yes", b"y", b"true", b"t", b"1"];
const NO: [&[u8]; 5] = [b"0", b"no", b"false", b"off", b"disable"];
