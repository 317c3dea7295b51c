//! The fields of messages that repeat below the top level, for the codec's bounds.

use super::{
    ListKeysReply, ListKeysRequest, ManageKeyReply, ManageKeyRequest, Reply, ReplyBatch, Request,
    RequestBatch,
};
use crate::codec::{Inside, Nested};

impl Nested for RequestBatch {
    const INSIDE: Inside = Inside(&[(1, &REQUEST)]);
}

impl Nested for Request {
    const INSIDE: Inside = REQUEST;
}

impl Nested for ReplyBatch {
    const INSIDE: Inside = Inside(&[(1, &REPLY)]);
}

impl Nested for Reply {
    const INSIDE: Inside = REPLY;
}

impl Nested for ListKeysRequest {
    const INSIDE: Inside = NOTHING;
}

impl Nested for ListKeysReply {
    const INSIDE: Inside = Inside(&[(1, &KEY)]);
}

impl Nested for ManageKeyRequest {
    const INSIDE: Inside = NOTHING;
}

impl Nested for ManageKeyReply {
    const INSIDE: Inside = Inside(&[(1, &KEY)]);
}

const NOTHING: Inside = Inside(&[]);
/// `unwrap` with its stanzas and their arguments; `mac`, `verify_mac`, `seal` and `open` with their items.
const REQUEST: Inside = Inside(&[
    (9, &Inside(&[(2, &Inside(&[(2, &NOTHING)]))])),
    (10, &ITEMS),
    (11, &ITEMS),
    (12, &ITEMS),
    (13, &ITEMS),
]);
const ITEMS: Inside = Inside(&[(2, &NOTHING)]);
/// `items`, and each of them.
const REPLY: Inside = Inside(&[(4, &Inside(&[(1, &NOTHING)]))]);
/// The older versions of a key.
const KEY: Inside = Inside(&[(10, &NOTHING)]);
