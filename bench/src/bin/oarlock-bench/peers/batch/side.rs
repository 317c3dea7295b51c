//! The side that computes a batch, and what has become of the batch.

/// One that does a batch, with its keys set up and buffers of its own.
pub(crate) trait Side {
    /// Does every packet once more, in place of what the call before has left.
    fn run(&mut self);

    /// What the packets are now.
    fn outcome(&mut self) -> Vec<Done>;
}

/// What has become of a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Done {
    pub(crate) data: Vec<u8>,
    /// `None` where there is none, or where this side makes another one by its nature.
    pub(crate) tag: Option<Vec<u8>>,
}

impl Done {
    /// Data without tags.
    pub(crate) fn without_tags(data: Vec<Vec<u8>>) -> Vec<Self> {
        let all = data.into_iter();
        all.map(|data| Self { data, tag: None }).collect()
    }

    /// Data and the tag of each.
    pub(crate) fn with_tags(data: Vec<Vec<u8>>, tags: &[impl AsRef<[u8]>]) -> Vec<Self> {
        let all = data.into_iter().zip(tags);
        all.map(|(data, tag)| Self {
            data,
            tag: Some(tag.as_ref().to_vec()),
        })
        .collect()
    }
}
