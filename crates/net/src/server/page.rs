//! Two pages over HTTP: `GET /metrics`, and `GET /healthz` for load balancers and probes that have no certificate for the
//! health service.
//!
//! They have their own thread with a lower priority, so that requests for pages take no time from the threads that move
//! requests.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::listener::{Bounds, Counts, Crowd, Member, Stage, are_out, share_of};
use super::service::Shared;

/// The thread of the pages. Dropping it ends the thread and closes the address.
pub(super) struct Pages {
    pub(super) address: SocketAddr,
    stop: Option<oneshot::Sender<Infallible>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Pages {
    /// Serves the pages on `address`.
    pub(super) async fn serve(
        address: SocketAddr,
        shared: Arc<Shared>,
        counts: Arc<Counts>,
    ) -> std::io::Result<Self> {
        // The address is bound before the thread starts, so that the caller gets the error.
        let listener = listen(address)?;
        let address = listener.local_addr()?;
        let listener = listener.into_std()?;
        let (stop, stopped) = oneshot::channel();
        let (started, is_started) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("oarlock-pages".to_owned())
            .spawn(move || {
                // If the priority cannot be lowered, the thread runs with that of the others.
                let _ = rustix::process::nice(NICE);
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build();
                let runtime = match runtime {
                    Ok(runtime) => runtime,
                    Err(error) => return drop(started.send(Err(error))),
                };
                runtime.block_on(async move {
                    let listener = match TcpListener::from_std(listener) {
                        Ok(listener) => listener,
                        Err(error) => return drop(started.send(Err(error))),
                    };
                    let _ = started.send(Ok(()));
                    tokio::select! {
                        _ = stopped => {}
                        () = accept(listener, shared, counts) => {}
                    }
                });
            })?;
        is_started.await.map_err(std::io::Error::other)??;
        Ok(Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has logged why.
            let _ = thread.join();
        }
    }
}

/// Listens with a longer backlog than the default: with a short one, a flood would make the system drop the connections of
/// others.
fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, counts: Arc<Counts>) {
    let crowd = Crowd::new(CONNECTIONS.at_most(share_of(CONNECTIONS_PART)));
    loop {
        let (socket, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Most likely no descriptor is left. Retry soon if a silent connection made room, otherwise later.
                let ms = if are_out(&error) && crowd.make_room() {
                    1
                } else {
                    100
                };
                sleep(Duration::from_millis(ms)).await;
                continue;
            }
        };
        let (place, displaced) = crowd.join(peer.ip());
        let (shared, counts) = (Arc::clone(&shared), Arc::clone(&counts));
        tokio::spawn(async move {
            tokio::select! {
                () = answer(socket, place, shared, counts) => {}
                _ = displaced => {}
            }
        });
    }
}

/// Answers one request.
async fn answer(socket: TcpStream, place: Member, shared: Arc<Shared>, counts: Arc<Counts>) {
    let begins = timeout(HEADER_TIME_MAX, place.begins(&socket)).await;
    if !matches!(begins, Ok(Ok(()))) {
        return;
    }
    let answer = service_fn(move |request: Request<Incoming>| {
        place.reaches(Stage::Heard);
        let response = respond(&request, &shared, &counts);
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME_MAX)
        .max_buf_size(HEADER_BYTES_MAX)
        .keep_alive(false)
        .serve_connection(TokioIo::new(socket), answer);
    // The box saves a silent connection the room for this future. A client that leaves early misses the page.
    let _ = timeout(TIME_MAX, Box::pin(connection)).await;
}

fn respond(request: &Request<Incoming>, shared: &Shared, counts: &Counts) -> Response<String> {
    let mut response = Response::new(String::new());
    match (request.uri().path(), request.method()) {
        ("/metrics", &Method::GET) => {
            *response.body_mut() =
                shared
                    .observer
                    .page(&shared.dispatcher, counts, &(shared.keys)());
            let form = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            let form = hyper::header::HeaderValue::from_static(form);
            response.headers_mut().insert(CONTENT_TYPE, form);
        }
        ("/healthz", &Method::GET | &Method::HEAD) => {
            let said = match shared.why_unwell() {
                None => "serving",
                Some(reason) => {
                    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                    reason
                }
            };
            *response.body_mut() = format!("{said}\n");
        }
        ("/metrics" | "/healthz", _) => *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED,
        _ => {
            *response.status_mut() = StatusCode::NOT_FOUND;
            *response.body_mut() = "the pages are /metrics and /healthz\n".to_owned();
        }
    }
    response
}

/// The most open connections in each stage; a further one displaces another. A begun connection takes 8 KiB, a heard one the
/// unread part of its page.
const CONNECTIONS: Bounds = Bounds {
    silent: 2048,
    begun: 512,
    heard: 64,
};
/// Each stage has at most a sixteenth of the descriptors.
const CONNECTIONS_PART: u64 = 16;
const BACKLOG: u32 = 1024;
const HEADER_TIME_MAX: Duration = Duration::from_secs(2);
const HEADER_BYTES_MAX: usize = 8 << 10;
/// The time limit of a whole connection.
const TIME_MAX: Duration = Duration::from_secs(30);
/// The nice value, which has about a tenth of the weight of other threads (sched(7)).
const NICE: i32 = 10;
