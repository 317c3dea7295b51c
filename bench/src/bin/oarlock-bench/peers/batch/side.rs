//! The side that computes a batch, and the outcome of the batch.

/// A side that computes a batch, with its keys set up and buffers of its own.
pub(crate) trait Side {
    /// Computes every packet once more, in place on the previous call's output.
    fn run(&mut self);

    /// Returns the packets' current contents.
    fn outcome(&mut self) -> Vec<Done>;
}

/// The outcome of a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Done {
    pub(crate) data: Vec<u8>,
    /// `None` without a tag, or if this side's tag legitimately differs.
    pub(crate) tag: Option<Vec<u8>>,
}

impl Done {
    /// Returns outcomes without tags.
    pub(crate) fn without_tags(data: Vec<Vec<u8>>) -> Vec<Self> {
        let all = data.into_iter();
        all.map(|data| Self { data, tag: None }).collect()
    }

    /// Returns outcomes with a tag each.
    pub(crate) fn with_tags(data: Vec<Vec<u8>>, tags: &[impl AsRef<[u8]>]) -> Vec<Self> {
        let all = data.into_iter().zip(tags);
        all.map(|(data, tag)| Self {
            data,
            tag: Some(tag.as_ref().to_vec()),
        })
        .collect()
    }
}
