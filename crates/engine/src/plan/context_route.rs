//! The route of a context, opened after the work that its [`FirstLook`](super::first_look::FirstLook) leaves to the
//! kernel.

use super::long::LongRequest;
use super::route::Route;
use super::shared_key::SharedKey;
use crate::work::algorithm::Algorithm;

/// The route of a context that computes by its own kernel, once it is open.
pub(crate) struct ContextRoute {
    /// The bytes of long requests that the kernel may still serve before there is a route.
    kernel_bytes_left: usize,
    opened: Option<Box<Opened>>,
}

struct Opened {
    route: Route,
    algorithm: Algorithm,
}

impl ContextRoute {
    #[inline(always)]
    pub(crate) fn new(kernel_bytes: usize) -> Self {
        Self {
            kernel_bytes_left: kernel_bytes,
            opened: None,
        }
    }

    /// Opens the route for a request of `bytes`, unless the kernel may still serve that alone. If no threads are free,
    /// as under `reservation=exclusive`, the kernel goes on, and the next request tries again.
    pub(crate) fn open<K>(&mut self, key: &SharedKey<K>, bytes: usize) {
        if self.opened.is_some() {
            return;
        }
        if let Some(left) = self.kernel_bytes_left.checked_sub(bytes) {
            self.kernel_bytes_left = left;
            return;
        }
        let (engine, algorithm) = (key.engine(), key.algorithm());
        if let Ok(reserved) = engine.reserve() {
            let cost = engine.kernel_cost(algorithm);
            let route = Route::new(Some(reserved), cost, STRIPE_BYTES_MIN);
            self.opened = Some(Box::new(Opened { route, algorithm }));
        }
    }

    /// Serves a request of `bytes` by `inline` or, once there is a route and stripes should be faster, by `striped`.
    pub(crate) fn run<D, T>(
        &self,
        bytes: usize,
        data: D,
        inline: impl Fn(D) -> T,
        striped: impl FnOnce(D, &LongRequest<'_>) -> T,
    ) -> T {
        let Some(opened) = &self.opened else {
            return inline(data);
        };
        let route = &opened.route;
        route.count_unshown(bytes);
        route.follow_options();
        let done = route.run(
            bytes,
            LongRequest::helpers_max,
            data,
            &inline,
            |data, request| match bytes > request.stripe_bytes() {
                true => striped(data, request),
                false => inline(data),
            },
        );
        if route.has_shared() {
            opened.hand_in();
        }
        done
    }
}

impl Opened {
    fn hand_in(&self) {
        self.route.hand_in("cpu", self.algorithm);
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.hand_in();
    }
}

/// Half the length from which on `strategy=stripe` samples requests.
const STRIPE_BYTES_MIN: usize = 64;
