//! The memory that a call holds from its first byte until its response has been sent: its stream, and the buffer of its
//! messages. Both are taken from its client's allowance.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Frame, SizeHint};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{Bytes, http};
use tower::{Layer, Service};

use super::allowance::{Allowance, STREAM_BYTES, Taken};
use super::listener::{ConnectionInfo, Debt};
use super::outbox::Reserved;

/// A layer around all services that refuses a call if its client has no bytes left for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounded {
    pub(super) message_bytes_max: usize,
}

impl<S> Layer<S> for Bounded {
    type Service = BoundedService<S>;

    fn layer(&self, inner: S) -> BoundedService<S> {
        BoundedService {
            inner,
            message_bytes_max: self.message_bytes_max,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct BoundedService<S> {
    inner: S,
    message_bytes_max: usize,
}

impl<S> Service<http::Request<Body>> for BoundedService<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let info = request.extensions().get::<ConnectionInfo>();
        let info = info.map(|info| (Arc::clone(&info.allowance), Arc::clone(&info.debt)));
        let Some((allowance, debt)) = info else {
            let status = Status::internal("a connection without a peer");
            return Box::pin(async move { Ok(status.into_http()) });
        };
        debt.charge(CALL_COST);
        let Some(stream) = allowance.try_take(STREAM_BYTES) else {
            let status = Status::resource_exhausted(
                "too many calls of this client are open: let some end, then try again",
            );
            return Box::pin(async move { Ok(status.into_http()) });
        };
        let message_bytes_max = self.message_bytes_max;
        let response = self.inner.call(request.map(|body| {
            Body::new(Inbound {
                body,
                allowance,
                message_bytes_max,
                message: Message::default(),
                taken: None,
            })
        }));
        Box::pin(async move {
            let response = debt.timed(response).await?;
            Ok(keep_until_sent(response, stream, debt))
        })
    }
}

/// The body of a request. It takes the bytes of its buffer from the client's allowance: tonic keeps a buffer for the longest
/// message of a stream until the stream ends.
struct Inbound {
    body: Body,
    allowance: Arc<Allowance>,
    message_bytes_max: usize,
    message: Message,
    taken: Option<Taken>,
}

impl hyper::body::Body for Inbound {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(bytes) = frame.data_ref()
        {
            let before = self.message.longest;
            self.message.follow(bytes);
            // The reader refuses longer messages at once.
            let longest = self.message.longest.min(self.message_bytes_max);
            if longest > before.max(SHORT_BYTES) {
                self.taken = None;
                self.taken = self.allowance.try_take(longest);
                if self.taken.is_none() {
                    return Poll::Ready(Some(Err(Status::resource_exhausted(
                        "the buffers of this client's streams are full (a stream keeps room for its longest message until it ends): use fewer streams or shorter messages",
                    ))));
                }
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The position in a stream of messages. Each message has a flag, its length in four bytes, and that many bytes of content
/// (gRPC over HTTP/2, "Length-Prefixed-Message").
#[derive(Default)]
struct Message {
    prefix: [u8; 5],
    of_prefix: usize,
    number: u64,
    /// The length of the longest message so far, complete or not.
    longest: usize,
    left: usize,
}

impl Message {
    fn follow(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.left > 0 {
                let some = self.left.min(bytes.len());
                self.left -= some;
                bytes = &bytes[some..];
                continue;
            }
            self.prefix[self.of_prefix] = bytes[0];
            self.of_prefix += 1;
            bytes = &bytes[1..];
            if self.of_prefix == self.prefix.len() {
                let [_, length @ ..] = self.prefix;
                self.of_prefix = 0;
                self.number += 1;
                self.left = u32::from_be_bytes(length) as usize;
                self.longest = self.longest.max(self.left);
            }
        }
    }
}

/// A reservation that lasts until the reply's body has been handed to the connection. Put it into the extensions of the
/// response.
#[derive(Clone)]
pub(super) struct Kept(#[expect(dead_code, reason = "kept, not read")] pub(super) Arc<Reserved>);

/// Moves [`Kept`] from the response to its body.
fn keep_until_sent(
    response: http::Response<Body>,
    stream: Taken,
    debt: Arc<Debt>,
) -> http::Response<Body> {
    let (mut parts, body) = response.into_parts();
    let reply = parts.extensions.remove::<Kept>();
    let body = Body::new(Outbound {
        body,
        _reply: reply,
        _stream: stream,
        debt,
    });
    http::Response::from_parts(parts, body)
}

struct Outbound {
    body: Body,
    _reply: Option<Kept>,
    _stream: Taken,
    debt: Arc<Debt>,
}

impl hyper::body::Body for Outbound {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let began = self.debt.moment();
        let poll = Pin::new(&mut self.body).poll_frame(context);
        self.debt.charge(began.elapsed());
        poll
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The estimated time that a call takes of a thread outside the part that is measured.
const CALL_COST: Duration = Duration::from_micros(30);
/// The longest message that fits into the buffer that a stream has from its beginning.
const SHORT_BYTES: usize = 8 << 10;

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use hyper::body::Body as _;
    use tokio::sync::Semaphore;

    use super::*;

    #[test]
    fn messages_are_followed_wherever_they_are_cut() {
        let text = [
            &[0, 0, 0, 0, 3, 1, 2, 3][..],
            &[0, 0, 0, 0, 0],
            &[0, 0, 0, 1, 0],
            &[7; 256],
        ]
        .concat();
        for size in 1..text.len() {
            let mut message = Message::default();
            text.chunks(size).for_each(|part| message.follow(part));
            assert_eq!((message.number, message.left), (3, 0), "{size}");
            message.follow(&[0, 0, 0, 0, 9, 1]);
            assert_eq!((message.longest, message.left), (256, 8));
        }
    }

    /// A body that does not end: after its bytes it stays pending.
    struct Once(Option<&'static [u8]>);

    impl hyper::body::Body for Once {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            match self.0.take() {
                Some(bytes) => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(bytes))))),
                None => Poll::Pending,
            }
        }
    }

    /// Polls the body once.
    fn poll(body: &mut Inbound) -> Option<Result<Frame<Bytes>, Status>> {
        let mut context = Context::from_waker(std::task::Waker::noop());
        match Pin::new(body).poll_frame(&mut context) {
            Poll::Ready(some) => some,
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_stream_takes_the_bytes_of_its_longest_message_until_it_ends() {
        let all = Arc::new(Semaphore::new(1_000_000));
        let allowance = Arc::new(Allowance::new(100_000, &all));
        let inbound = |bytes: &'static [u8]| Inbound {
            body: Body::new(Once(Some(bytes))),
            allowance: Arc::clone(&allowance),
            message_bytes_max: 80_000,
            message: Message::default(),
            taken: None,
        };
        let mut short = inbound(&[0, 0, 0, 0, 1, 1]);
        assert!(poll(&mut short).unwrap().is_ok());
        assert!(allowance.is_whole());
        // Another message has begun behind the long one, which is complete.
        static LONG: LazyLock<Vec<u8>> =
            LazyLock::new(|| [&[0, 0, 0, 0xea, 0x60][..], &[7; 60_000], &[0, 0, 0, 0, 9]].concat());
        let mut one = inbound(&LONG);
        assert!(poll(&mut one).unwrap().is_ok());
        assert_eq!(one.message.number, 2);
        assert!(!allowance.is_whole());
        let mut other = inbound(&LONG);
        let refused = poll(&mut other).unwrap().unwrap_err();
        assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
        drop(one);
        let mut too_long = inbound(&[0, 255, 255, 255, 255, 1]);
        assert!(poll(&mut too_long).unwrap().is_ok());
        drop((too_long, other));
        assert!(allowance.is_whole());
    }
}
