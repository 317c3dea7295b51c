//! The state of a context, without its keys, for moving it.

use super::keys::Keys;
use super::streams::Streams;
use super::{MasterKey, Policy, Protocol, Suite};
use crate::ReplayWindow;
use oarlock_engine::Error;

/// The state of a context: the roll-over counter, highest index and window of each source, and how many packets each
/// key has served. It contains no key.
#[derive(Clone, Debug)]
pub struct State {
    suite: Suite,
    keys: Vec<KeyState>,
    streams: Vec<StreamState>,
}

#[derive(Clone, Debug)]
struct KeyState {
    mki: Box<[u8]>,
    used: [u64; 2],
}

#[derive(Clone, Debug)]
struct StreamState {
    ssrc: u32,
    first_roc: u32,
    windows: [ReplayWindow; 2],
}

impl State {
    pub(super) fn of(keys: &Keys, streams: &Streams) -> Self {
        Self {
            suite: keys.suite,
            keys: (keys.all().iter())
                .map(|key| KeyState {
                    mki: key.mki.clone(),
                    used: PROTOCOLS.map(|protocol| key.of(protocol).used),
                })
                .collect(),
            streams: (streams.all().iter())
                .map(|stream| StreamState {
                    ssrc: stream.ssrc,
                    first_roc: stream.first_roc,
                    windows: [stream.rtp.clone(), stream.rtcp.clone()],
                })
                .collect(),
        }
    }

    pub(super) fn put(&self, keys: &mut Keys, streams: &mut Streams) -> Result<(), Error> {
        if self.suite != keys.suite {
            return Err(Error::InvalidInput(format!(
                "the state is one of {:?}, the context is one of {:?}",
                self.suite, keys.suite
            )));
        }
        if self.keys.iter().any(|key| keys.find(&key.mki).is_none()) {
            return Err(Error::InvalidInput(
                "the state has a master key that the context lacks".into(),
            ));
        }
        if self.streams.len() > streams.max() {
            return Err(Error::InvalidInput(format!(
                "the state has {} sources, the context takes {}",
                self.streams.len(),
                streams.max()
            )));
        }
        for KeyState { mki, used } in &self.keys {
            keys.set_used(mki, *used);
        }
        streams.clear();
        for state in &self.streams {
            // The check above ensures that there is room.
            if let Ok(place) = streams.find_or_add(state.ssrc) {
                let stream = streams.get(place);
                stream.first_roc = state.first_roc;
                for (protocol, from) in PROTOCOLS.into_iter().zip(&state.windows) {
                    let window = stream.window(protocol);
                    let size = window.size();
                    *window = rebuilt(size, from.highest(), |number| !from.accepts(number));
                }
            }
        }
        Ok(())
    }

    /// Encodes the state, to be stored or sent. [`from_bytes`](Self::from_bytes) decodes it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.push(
            Suite::ALL
                .iter()
                .position(|it| *it == self.suite)
                .unwrap_or(0) as u8,
        );
        bytes.push(self.keys.len() as u8);
        for KeyState { mki, used } in &self.keys {
            bytes.push(mki.len() as u8);
            bytes.extend_from_slice(mki);
            used.iter()
                .for_each(|used| bytes.extend(used.to_be_bytes()));
        }
        bytes.extend((self.streams.len() as u32).to_be_bytes());
        for stream in &self.streams {
            bytes.extend(stream.ssrc.to_be_bytes());
            bytes.extend(stream.first_roc.to_be_bytes());
            for window in &stream.windows {
                let (highest, size) = (window.highest(), window.size());
                bytes.extend(highest.to_be_bytes());
                bytes.extend((size as u16).to_be_bytes());
                for first in (0..size).step_by(8) {
                    let seen = |i: u64| highest > i && !window.accepts(highest - i);
                    bytes.push((0..8).fold(0, |byte, i| byte << 1 | u8::from(seen(first + i))));
                }
            }
        }
        bytes
    }

    /// Decodes a state encoded by [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader(bytes);
        let state = reader.state();
        (state.filter(|_| reader.0.is_empty()))
            .ok_or_else(|| Error::InvalidInput("this is not the state of an SRTP context".into()))
    }
}

/// Returns a window of `size` numbers up to `highest` in which those that satisfy `is_seen` are marked.
fn rebuilt(size: u64, highest: u64, is_seen: impl Fn(u64) -> bool) -> ReplayWindow {
    let mut window = ReplayWindow::new(size as usize);
    (highest.saturating_sub(window.size() - 1).max(1)..=highest)
        .filter(|number| is_seen(*number))
        .for_each(|number| window.insert(number));
    window
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn state(&mut self) -> Option<State> {
        if self.take(MAGIC.len())? != MAGIC {
            return None;
        }
        let suite = *Suite::ALL.get(usize::from(self.number::<1>()? as u8))?;
        let mut keys = Vec::new();
        let count = self.number::<1>()?;
        if count > Policy::KEYS_MAX as u64 {
            return None;
        }
        for _ in 0..count {
            let bytes = self.number::<1>()? as usize;
            let mki: Box<[u8]> = self.take(bytes)?.into();
            if bytes > MasterKey::MKI_BYTES_MAX || keys.iter().any(|it: &KeyState| it.mki == mki) {
                return None;
            }
            let used = [self.number::<8>()?, self.number::<8>()?];
            keys.push(KeyState { mki, used });
        }
        let count = self.number::<4>()?;
        let mut streams = Vec::new();
        let mut known = std::collections::HashSet::new();
        for _ in 0..count {
            let ssrc = self.number::<4>()? as u32;
            let first_roc = self.number::<4>()? as u32;
            let windows = [self.window(1 << 48)?, self.window(1 << 31)?];
            if !known.insert(ssrc) {
                return None;
            }
            streams.push(StreamState {
                ssrc,
                first_roc,
                windows,
            });
        }
        Some(State {
            suite,
            keys,
            streams,
        })
    }

    fn window(&mut self, highest_max: u64) -> Option<ReplayWindow> {
        let highest = self.number::<8>()?;
        let size = self.number::<2>()?;
        let is_size =
            (64..=ReplayWindow::SIZE_MAX as u64).contains(&size) && size.is_multiple_of(64);
        if !is_size || highest > highest_max {
            return None;
        }
        let bits = self.take(size as usize / 8)?;
        let is_set = |back: u64| bits[back as usize / 8] >> (7 - back % 8) & 1 == 1;
        // The highest number, if there is one, must have been seen, and none before the first.
        let is_whole = highest == 0 || is_set(0);
        let is_window = is_whole && !(highest..size).any(is_set);
        is_window.then(|| rebuilt(size, highest, |number| is_set(highest - number)))
    }

    fn number<const N: usize>(&mut self) -> Option<u64> {
        let number = |number, byte: &u8| number << 8 | u64::from(*byte);
        Some(self.take(N)?.iter().fold(0, number))
    }

    fn take(&mut self, bytes: usize) -> Option<&[u8]> {
        let (taken, left) = self.0.split_at_checked(bytes)?;
        self.0 = left;
        Some(taken)
    }
}

const PROTOCOLS: [Protocol; 2] = [Protocol::Rtp, Protocol::Rtcp];
const MAGIC: &[u8] = b"oarlock srtp 1\n";
