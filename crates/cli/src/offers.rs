//! The operations that the provider offers with one OpenSSL, those that it leaves to that OpenSSL, and the figures for this.

use oarlock::{Accelerator, Algorithm};
use oarlock_engine::costs::openssl::{Measured, RatioSource, SIZES};
use oarlock_engine::plan::{Provided, ProvidedPrimitive, provided, provided_primitives};
use serde::{Serialize, Serializer};

use crate::calibration::{self, Known, Measuring};
use crate::failure::Failure;
use crate::openssl::{self, Installed};
use crate::openssl_conf::UserConf;
use crate::options;
use crate::provider_file;

/// An operation, as `--json` shows it.
#[derive(Serialize)]
pub(crate) struct Offer {
    pub(crate) operation: &'static str,
    pub(crate) is_offered: bool,
    /// Whether an option offers it although OpenSSL is faster or no ratio is known.
    pub(crate) is_forced: bool,
    /// The reason why it is not offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
    /// Our rate over OpenSSL's, by bytes a request, or by call.
    ratios: Option<Rates>,
    source: Option<String>,
}

/// Ratios, in the order in which people read them.
struct Rates(Vec<(At, f64)>);

/// The request or call that a ratio was measured with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    /// Requests of this length in bytes.
    Bytes(usize),
    /// Calls of one kind.
    Call(&'static str),
}

/// Returns all operations, judged for the OpenSSL version `openssl`, as in "3.0.19".
pub(crate) fn all(
    accelerator: &Accelerator,
    openssl: &str,
    calibration: Option<&Measured>,
) -> Vec<Offer> {
    let (cpu, options) = (accelerator.cpu(), accelerator.options());
    let of_source = |source| match source {
        RatioSource::Table {
            class,
            version: (major, minor),
        } => format!("table of CPU class {class} and OpenSSL {major}.{minor}"),
        RatioSource::Calibration => {
            let made = calibration.map_or("", |calibration| &calibration.made);
            format!("calibration of {made}")
        }
    };
    let of_cipher = |one: Provided| Offer {
        operation: one.operation.name(),
        is_offered: one.withheld.is_none(),
        is_forced: one.is_forced(),
        why: one.withheld.map(|why| why.to_string()),
        ratios: one.ratios.map(|(ratios, _)| {
            let sizes = SIZES.into_iter().map(At::Bytes);
            Rates::of(sizes, &ratios.thousandths())
        }),
        source: one.ratios.map(|(_, source)| of_source(source)),
    };
    let of_primitive = |one: ProvidedPrimitive| Offer {
        operation: one.primitive.name(),
        is_offered: one.withheld.is_none(),
        is_forced: one.is_forced,
        why: one.withheld.map(|why| why.to_string()),
        ratios: one.ratios.map(|(ratios, _)| {
            let calls = one.primitive.calls().iter().copied().map(At::Call);
            Rates::of(calls, ratios.thousandths())
        }),
        source: one.ratios.map(|(_, source)| of_source(source)),
    };
    let ciphers = provided(cpu, &options, openssl, calibration).into_iter();
    let asks = UserConf::find().is_post_quantum();
    let primitives = provided_primitives(cpu, &options, openssl, calibration, asks).into_iter();
    ciphers
        .map(of_cipher)
        .chain(primitives.map(of_primitive))
        .collect()
}

/// Returns the version of the machine's OpenSSL and what the provider offers to programs with it, by the calibration that
/// they use, if there is one.
pub(crate) fn of_machine() -> Result<(String, Vec<Offer>), Failure> {
    let known = || {
        let library = calibration::library::of_machine().ok()??;
        let module = provider_file::find(None).ok()?;
        let file = calibration::in_configuration()?;
        Known::of(&library, &module, Some(&file), Measuring::Never).ok()
    };
    let known = known();
    let openssl = match &known {
        Some(known) => known.version().to_owned(),
        None => openssl::number(&Installed::find().version().unwrap_or_default()).to_owned(),
    };
    // As programs get it: a command's options apply to its own process.
    let of_provider = options::built(Accelerator::builder().environment())?;
    let measured = known.as_ref().and_then(|known| known.measured.as_ref());
    let offers = all(&of_provider, &openssl, measured);
    Ok((openssl, offers))
}

impl Offer {
    /// Returns a line such as "aes-128-ctr 1.02 1.40 2.00 2.17 2.24 2.24 2.24" or "x25519 generate 4.03, derive 1.29".
    pub(crate) fn to_text(&self) -> String {
        let mut text = self.operation.to_owned();
        let ratios = self.ratios.iter().flat_map(|ratios| &ratios.0);
        for (number, (at, ratio)) in ratios.enumerate() {
            match at {
                At::Bytes(_) => text.push_str(&format!(" {ratio:.2}")),
                At::Call(call) => {
                    let comma = if number == 0 { "" } else { "," };
                    text.push_str(&format!("{comma} {call} {ratio:.2}"));
                }
            }
        }
        text
    }

    pub(crate) fn is_cipher(&self) -> bool {
        Algorithm::named(self.operation).is_some()
    }

    pub(crate) fn is_measured(&self) -> bool {
        self.ratios.is_some()
    }

    /// Returns the ratio for requests of `bytes` bytes, if it is known.
    pub(crate) fn ratio(&self, bytes: usize) -> Option<f64> {
        let mut ratios = self.ratios.iter().flat_map(|ratios| &ratios.0);
        ratios
            .find(|(at, _)| *at == At::Bytes(bytes))
            .map(|(_, ratio)| *ratio)
    }

    /// Returns the lowest ratio, and the request or call that has it.
    pub(crate) fn slowest(&self) -> Option<(At, f64)> {
        let ratios = self.ratios.iter().flat_map(|ratios| &ratios.0);
        ratios
            .copied()
            .min_by(|one, other| one.1.total_cmp(&other.1))
    }
}

impl Rates {
    fn of(each: impl Iterator<Item = At>, thousandths: &[u32]) -> Self {
        let ratios = thousandths.iter().map(|it| f64::from(*it) / 1000.0);
        Self(each.zip(ratios).collect())
    }
}

impl Serialize for Rates {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pairs = self.0.iter().map(|(at, ratio)| match at {
            At::Bytes(bytes) => (bytes.to_string(), ratio),
            At::Call(call) => ((*call).to_owned(), ratio),
        });
        serializer.collect_map(pairs)
    }
}

/// Text such as "with 64 bytes" or "in derive".
impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "with {bytes} bytes"),
            Self::Call(call) => write!(f, "in {call}"),
        }
    }
}

/// Returns the sources of the figures, each once.
pub(crate) fn sources(offers: &[Offer]) -> String {
    let mut sources: Vec<&str> = Vec::new();
    for source in offers.iter().filter_map(|one| one.source.as_deref()) {
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    match sources.is_empty() {
        true => "no figures without a calibration".to_owned(),
        false => sources.join(", "),
    }
}

/// An explanation of the figures, for people.
pub(crate) const FIGURES: &str = "rate over OpenSSL's own, one thread; of ciphers with requests of 16, 64, 256, 1024, 16384, 32768 and 131072 bytes, of the rest by kind of call";
