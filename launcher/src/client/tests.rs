use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube::{Api, Config};
use unlade_api_server::{Canned, Disturbance, Served, Server};

use super::*;
use crate::Failure;

/// Returns a client as users have it: the whole stack of kube, without its retries.
pub(crate) fn connect(served: Served) -> kube::Client {
    from_config(Config::new(served.url().parse().unwrap())).unwrap()
}

async fn list(client: &kube::Client) -> Result<(), Failure> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let response = api.list(&ListParams::default()).await;
    response.map(drop).map_err(|error| classify_request_error(&error, "list ConfigMaps"))
}

#[tokio::test]
async fn a_server_that_never_was_an_api_server_is_not_waited_for() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let config = Config::new(url.parse().unwrap());
    let client = observe(kube::Client::try_from(config).unwrap(), "https://a (context \"b\")");
    let failure = list(&client).await.unwrap_err();
    assert_eq!(
        failure.message,
        "failed to reach the API server https://a (context \"b\"): connection refused"
    );
    assert_eq!((failure.reason, failure.is_transient), (Reason::ApiUnreachable, false));
    assert!(failure.hint.is_some());

    let page = || Canned::text(502, "<html>\n<h1>Bad\u{1b} Gateway</h1></html>");
    let server = Server::new(|_, _| {});
    let server = server.disturbed(move |_| Some(Disturbance::Respond(page())));
    let failure = list(&connect(server.serve())).await.unwrap_err();
    assert!(!failure.is_transient, "{failure:?}");
    let message = "the response 502 Bad Gateway does not come from an API server: \"<html>";
    assert!(failure.message.contains(message), "{failure:?}");
}

#[tokio::test]
async fn a_timeout_of_the_server_is_reported_in_plain_words() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let config = Config::new(format!("http://{}", silent.local_addr().unwrap()).parse().unwrap());
    let limit = tower::timeout::TimeoutLayer::new(std::time::Duration::from_millis(1));
    let builder = kube::client::ClientBuilder::try_from(config).unwrap();
    let client = observe(builder.with_layer(&limit).build(), "https://a");
    let failure = list(&client).await.unwrap_err();
    assert_eq!(failure.message, "failed to reach the API server https://a: no response in time");
}

#[tokio::test]
async fn an_api_server_that_has_answered_is_waited_for() {
    let server = Server::new(|_, _| {}).disturbed(|request| match request.nth {
        0 => Some(Disturbance::status(403, "Forbidden", "no")),
        1 => Some(Disturbance::Respond(Canned::text(502, "<html>Bad Gateway</html>"))),
        _ => None,
    });
    let client = connect(server.serve());
    assert_eq!(list(&client).await.unwrap_err().reason, Reason::Forbidden);
    let failure = list(&client).await.unwrap_err();
    assert!(failure.is_transient, "{failure:?}");
    list(&client).await.unwrap();
}

#[tokio::test]
async fn an_api_server_that_starts_or_is_busy_is_waited_for_from_the_beginning() {
    for canned in [
        Canned::status(503, "ServiceUnavailable", "starting"),
        Canned::text(429, "Too many requests, please try again later."),
        Canned::text(500, "This request caused apiserver to panic.").with_header("audit-id", "x"),
    ] {
        let mut canned = Some(canned);
        let server = Server::new(|_, _| {});
        let server = server.disturbed(move |_| canned.take().map(Disturbance::Respond));
        let failure = list(&connect(server.serve())).await.unwrap_err();
        assert!(failure.is_transient, "{failure:?}");
    }
}

#[tokio::test]
async fn the_message_and_the_retry_time_of_a_rejection_are_kept() {
    let busy = "Too many requests, please try again later.";
    for canned in [Canned::text(429, busy), Canned::status(429, "TooManyRequests", busy)] {
        let mut canned = Some(canned.with_header("retry-after", "7"));
        let server = Server::new(|_, _| {});
        let server = server.disturbed(move |_| canned.take().map(Disturbance::Respond));
        let api: Api<ConfigMap> = Api::namespaced(connect(server.serve()), "default");
        let error = api.list(&ListParams::default()).await.unwrap_err();
        let kube::Error::Api(status) = error else { panic!("{error:?}") };
        assert_eq!((status.code, status.message.as_str()), (429, busy));
        assert_eq!(status.details.unwrap().retry_after_seconds, 7);
    }
}
