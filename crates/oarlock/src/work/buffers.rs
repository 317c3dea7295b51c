//! The data of a request that is submitted: it owns them.

use std::fmt;

/// Data in one piece or many, changed where they are or written elsewhere.
///
/// A request takes them, and its answer gives them back: also one that was refused or has failed.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Buffers {
    from: Segments,
    to: Option<Segments>,
}

#[derive(Clone, PartialEq, Eq)]
enum Segments {
    One(Vec<u8>),
    Many(Vec<Vec<u8>>),
}

impl Default for Segments {
    fn default() -> Self {
        Self::One(Vec::new())
    }
}

impl Buffers {
    /// Changed in place.
    pub fn in_place(data: Vec<u8>) -> Self {
        Self {
            from: Segments::One(data),
            to: None,
        }
    }

    /// Segments, changed in place. Their lengths may be any, also 0.
    pub fn scattered(segments: Vec<Vec<u8>>) -> Self {
        Self {
            from: Segments::Many(segments),
            to: None,
        }
    }

    /// Read from `from` and written to `to`, segment by segment; together they are as long. The bytes
    /// that no range of the layout names are copied.
    pub fn separate(from: Vec<Vec<u8>>, to: Vec<Vec<u8>>) -> Self {
        Self {
            from: Segments::Many(from),
            to: Some(Segments::Many(to)),
        }
    }

    /// Bytes of all segments that are read.
    pub fn len(&self) -> usize {
        self.from.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The segments that are read.
    pub fn input(&self) -> impl Iterator<Item = &[u8]> {
        self.from.iter()
    }

    /// The segments with the result: those that were read, if it is in place.
    pub fn output(&self) -> impl Iterator<Item = &[u8]> {
        self.to.as_ref().unwrap_or(&self.from).iter()
    }

    /// The result in one piece.
    pub fn into_output(self) -> Vec<u8> {
        match self.to.unwrap_or(self.from) {
            Segments::One(data) => data,
            Segments::Many(segments) => segments.concat(),
        }
    }

    /// What was given, with the result in it.
    pub fn into_segments(self) -> (Vec<Vec<u8>>, Option<Vec<Vec<u8>>>) {
        (self.from.into_vec(), self.to.map(Segments::into_vec))
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        match &self.to {
            Some(to) if to.len() != self.from.len() => Err(format!(
                "{} bytes to write to, and {} to read",
                to.len(),
                self.from.len()
            )),
            _ => Ok(()),
        }
    }

    /// The data, where they lie in one piece that is changed in place.
    pub(crate) fn only(&mut self) -> Option<&mut [u8]> {
        match (&mut self.from, &self.to) {
            (Segments::One(data), None) => Some(data),
            (Segments::Many(segments), None) => match &mut segments[..] {
                [data] => Some(data),
                _ => None,
            },
            _ => None,
        }
    }

    /// All that is read, copied to the front of `into`.
    pub(crate) fn gather(&self, into: &mut [u8]) {
        let mut at = 0;
        for segment in self.from.iter() {
            into[at..at + segment.len()].copy_from_slice(segment);
            at += segment.len();
        }
    }

    /// Takes a result, as long as what was read.
    pub(crate) fn scatter(&mut self, result: &[u8]) {
        let mut at = 0;
        for segment in self.to.as_mut().unwrap_or(&mut self.from).iter_mut() {
            segment.copy_from_slice(&result[at..at + segment.len()]);
            at += segment.len();
        }
    }
}

impl Segments {
    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let segments = match self {
            Self::One(data) => std::slice::from_ref(data),
            Self::Many(segments) => segments,
        };
        segments.iter().map(Vec::as_slice)
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let segments = match self {
            Self::One(data) => std::slice::from_mut(data),
            Self::Many(segments) => segments,
        };
        segments.iter_mut().map(Vec::as_mut_slice)
    }

    fn len(&self) -> usize {
        self.iter().map(<[u8]>::len).sum()
    }

    fn into_vec(self) -> Vec<Vec<u8>> {
        match self {
            Self::One(data) => vec![data],
            Self::Many(segments) => segments,
        }
    }
}

impl From<Vec<u8>> for Buffers {
    fn from(data: Vec<u8>) -> Self {
        Self::in_place(data)
    }
}

/// Does not show the data.
impl fmt::Debug for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffers")
            .field("bytes", &self.len())
            .field("segments", &self.from.iter().count())
            .field("is_in_place", &self.to.is_none())
            .finish()
    }
}
