//! Two pages over HTTP: `GET /metrics`, and `GET /healthz` for balancers and probes that have no
//! certificate for the health service.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::listener::Counts;
use super::service::Shared;

/// Serves on `address`. Returns the address with the port the system chose.
pub(super) async fn serve(
    address: SocketAddr,
    shared: Arc<Shared>,
    counts: Arc<Counts>,
) -> std::io::Result<(SocketAddr, JoinHandle<()>)> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let task = tokio::spawn(async move {
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            let socket = match listener.accept().await {
                Ok((socket, _)) => socket,
                Err(_) => {
                    // Most likely no descriptor is left; later there may be.
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let (shared, counts) = (Arc::clone(&shared), Arc::clone(&counts));
            tokio::spawn(async move {
                let _place = place;
                let answer = service_fn(move |request: Request<Incoming>| {
                    let response = respond(&request, &shared, &counts);
                    async move { Ok::<_, Infallible>(response) }
                });
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(TIME_MAX)
                    .serve_connection(TokioIo::new(socket), answer);
                // A client that leaves early misses the page.
                let _ = timeout(10 * TIME_MAX, connection).await;
            });
        }
    });
    Ok((address, task))
}

fn respond(request: &Request<Incoming>, shared: &Shared, counts: &Counts) -> Response<String> {
    let mut response = Response::new(String::new());
    match (request.uri().path(), request.method()) {
        ("/metrics", &Method::GET) => {
            *response.body_mut() = shared.observer.page(&shared.dispatcher, counts);
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

const CONNECTIONS_MAX: usize = 16;
const TIME_MAX: Duration = Duration::from_secs(5);
