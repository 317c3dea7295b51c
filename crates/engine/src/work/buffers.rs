//! Data that a submitted request owns.

use std::fmt;
use std::ops::Range;

use inout::InOutBuf;

use oarlock_threads::wiped::Wiped;

/// Data in one piece or many, changed in place or written to other segments.
///
/// A request owns its buffers, and the answer returns them, even if the request was refused or has failed. Dropping them
/// wipes all data that was not taken out.
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

impl Drop for Segments {
    fn drop(&mut self) {
        match self {
            Self::One(data) => drop(Wiped::from(std::mem::take(data))),
            Self::Many(segments) => segments.drain(..).map(Wiped::from).for_each(drop),
        }
    }
}

impl Default for Segments {
    fn default() -> Self {
        Self::One(Vec::new())
    }
}

impl Buffers {
    /// Creates buffers of one piece that is changed in place.
    pub fn in_place(data: Vec<u8>) -> Self {
        Self {
            from: Segments::One(data),
            to: None,
        }
    }

    /// Creates buffers of segments that are changed in place. Segments may have any length, including 0.
    pub fn scattered(segments: Vec<Vec<u8>>) -> Self {
        Self {
            from: Segments::Many(segments),
            to: None,
        }
    }

    /// Creates buffers that are read from `from` and written to `to`. Both must have the same total length, but their
    /// segments may differ. Bytes outside the layout's ranges are copied.
    pub fn separate(from: Vec<Vec<u8>>, to: Vec<Vec<u8>>) -> Self {
        Self {
            from: Segments::Many(from),
            to: Some(Segments::Many(to)),
        }
    }

    /// Returns the total length of the input segments in bytes.
    pub fn len(&self) -> usize {
        self.from.len()
    }

    /// Whether the input is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the input segments.
    pub fn input(&self) -> impl Iterator<Item = &[u8]> {
        self.from.iter()
    }

    /// Returns the segments with the result, which are the input's if it is changed in place.
    pub fn output(&self) -> impl Iterator<Item = &[u8]> {
        self.to.as_ref().unwrap_or(&self.from).iter()
    }

    /// Returns the result in one piece.
    pub fn into_output(self) -> Vec<u8> {
        match &mut self.to.unwrap_or(self.from) {
            Segments::One(data) => std::mem::take(data),
            Segments::Many(segments) => segments.concat(),
        }
    }

    /// Returns the segments that were passed in, with the result in them.
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

    /// Returns the data if they lie in one piece that is changed in place.
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

    /// Copies all input to the front of `into`.
    pub(crate) fn gather(&self, into: &mut [u8]) {
        let mut at = 0;
        for segment in self.from.iter() {
            into[at..at + segment.len()].copy_from_slice(segment);
            at += segment.len();
        }
    }

    /// Returns the number of input segments.
    pub(crate) fn segments(&self) -> usize {
        self.from.iter().count()
    }

    pub(crate) fn is_in_place(&self) -> bool {
        self.to.is_none()
    }

    /// Visits the input in `range` in order, in non-empty pieces of one segment each.
    pub(crate) fn each_input(&self, range: Range<usize>, visit: &mut dyn FnMut(&[u8])) {
        let mut end = 0;
        for segment in self.from.iter() {
            let place = next_place(&mut end, segment.len());
            let part = within(&place, &range);
            if !part.is_empty() {
                visit(&segment[part]);
            }
        }
    }

    /// Visits the input in `range` as [`each_input`](Self::each_input) does, each piece with the place of its result.
    pub(crate) fn each(
        &mut self,
        range: Range<usize>,
        visit: &mut dyn FnMut(InOutBuf<'_, '_, u8>),
    ) {
        let mut end = 0;
        let Some(to) = &mut self.to else {
            for segment in self.from.iter_mut() {
                let part = within(&next_place(&mut end, segment.len()), &range);
                if !part.is_empty() {
                    visit((&mut segment[part]).into());
                }
            }
            return;
        };
        let mut inputs = self.from.iter();
        let mut input: &[u8] = &[];
        let mut input_place = 0..0;
        let mut to_end = 0;
        for output in to.iter_mut() {
            let place = next_place(&mut to_end, output.len());
            let part = within(&place, &range);
            let (mut at, end_here) = (place.start + part.start, place.start + part.end);
            while at < end_here {
                while input_place.end <= at {
                    // Input and output have the same total length.
                    let Some(next) = inputs.next() else { return };
                    input = next;
                    input_place = next_place(&mut end, input.len());
                }
                let until = input_place.end.min(end_here);
                let from = &input[at - input_place.start..until - input_place.start];
                let into = &mut output[at - place.start..until - place.start];
                if let Ok(piece) = InOutBuf::new(from, into) {
                    visit(piece);
                }
                at = until;
            }
        }
    }

    /// Copies input from offset `at` to `into`.
    pub(crate) fn take(&self, at: usize, into: &mut [u8]) {
        let mut rest = &mut into[..];
        self.each_input(at..at + rest.len(), &mut |piece| {
            let (front, behind) = std::mem::take(&mut rest).split_at_mut(piece.len());
            front.copy_from_slice(piece);
            rest = behind;
        });
    }

    /// Writes a part of the result at offset `at`.
    pub(crate) fn put(&mut self, at: usize, bytes: &[u8]) {
        let mut rest = bytes;
        self.each(at..at + bytes.len(), &mut |mut piece| {
            let (front, behind) = rest.split_at(piece.len());
            piece.get_out().copy_from_slice(front);
            rest = behind;
        });
    }

    /// Copies the input outside both ranges to the result, if that is not in place.
    pub(crate) fn copy_all_but(&mut self, one: Range<usize>, other: Range<usize>) {
        if self.is_in_place() {
            return;
        }
        let end = self.len();
        let [one, other] = [one, other].map(|range| match range.is_empty() {
            true => end..end,
            false => range,
        });
        let (first, second) = if one.start <= other.start {
            (one, other)
        } else {
            (other, one)
        };
        for range in [0..first.start, first.end..second.start, second.end..end] {
            self.each(range, &mut |piece| {
                let _ = piece.into_out_with_copied_in();
            });
        }
    }

    /// Writes a whole result, which is as long as the input.
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

    fn into_vec(mut self) -> Vec<Vec<u8>> {
        match &mut self {
            Self::One(data) => vec![std::mem::take(data)],
            Self::Many(segments) => std::mem::take(segments),
        }
    }
}

/// Returns the range of a segment that begins at `end`, and advances `end` past it.
fn next_place(end: &mut usize, bytes: usize) -> Range<usize> {
    let begin = *end;
    *end += bytes;
    begin..*end
}

/// Returns the part of a segment that is in `range`, as offsets in the segment.
fn within(place: &Range<usize>, range: &Range<usize>) -> Range<usize> {
    let (start, end) = (place.start.max(range.start), place.end.min(range.end));
    start.min(end).saturating_sub(place.start)..end.saturating_sub(place.start)
}

impl From<Vec<u8>> for Buffers {
    fn from(data: Vec<u8>) -> Self {
        Self::in_place(data)
    }
}

/// Hides the data.
impl fmt::Debug for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffers")
            .field("bytes", &self.len())
            .field("segments", &self.from.iter().count())
            .field("is_in_place", &self.to.is_none())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns all ways to cut 4 bytes, each with an empty segment somewhere.
    fn cuts(data: [u8; 4]) -> Vec<Vec<Vec<u8>>> {
        let mut all = Vec::new();
        for cut in 0..8_u8 {
            for empty_at in 0..3 {
                let mut segments = vec![vec![data[0]]];
                for (at, byte) in data.iter().enumerate().skip(1) {
                    if cut & (1 << (at - 1)) != 0 {
                        segments.push(Vec::new());
                    }
                    segments.last_mut().unwrap().push(*byte);
                }
                segments.insert(empty_at.min(segments.len()), Vec::new());
                all.push(segments);
            }
        }
        all
    }

    #[test]
    fn pieces_of_every_range_are_in_order_whole_and_beside_their_results() {
        for from in cuts([1, 2, 3, 4]) {
            for to in cuts([0; 4]) {
                let mut both = [
                    Buffers::scattered(from.clone()),
                    Buffers::separate(from.clone(), to.clone()),
                ];
                for buffers in &mut both {
                    assert_eq!(buffers.segments(), from.len());
                    for (start, end) in
                        (0..=4).flat_map(|start| (start..=4).map(move |end| (start, end)))
                    {
                        let given: Vec<u8> = (1..=4).collect();
                        let expected = &given[start..end];
                        let mut read: Vec<u8> = Vec::new();
                        buffers.each_input(start..end, &mut |piece| {
                            assert!(!piece.is_empty());
                            read.extend(piece);
                        });
                        assert_eq!(read, expected);
                        let mut taken = vec![9; end - start];
                        buffers.take(start, &mut taken);
                        assert_eq!(taken, expected);
                        let mut seen: Vec<u8> = Vec::new();
                        buffers.each(start..end, &mut |mut piece| {
                            seen.extend(piece.get_in());
                            piece.get_out().fill(7);
                        });
                        assert_eq!(seen, expected);
                        let output: Vec<u8> = buffers.output().flatten().copied().collect();
                        assert!(output[start..end].iter().all(|byte| *byte == 7));
                        buffers.put(start, expected);
                        let output: Vec<u8> = buffers.output().flatten().copied().collect();
                        assert_eq!(&output[start..end], expected);
                    }
                }
                for (one, other, expected) in [
                    (1..2, 3..4, [1, 0, 3, 0]),
                    (3..4, 1..2, [1, 0, 3, 0]),
                    (0..2, 0..0, [0, 0, 3, 4]),
                    (0..0, 2..3, [1, 2, 0, 4]),
                    (0..0, 0..0, [1, 2, 3, 4]),
                    (0..4, 0..0, [0; 4]),
                ] {
                    let mut buffers = Buffers::separate(from.clone(), to.clone());
                    buffers.copy_all_but(one, other);
                    assert_eq!(buffers.into_output(), expected);
                }
            }
        }
    }
}
