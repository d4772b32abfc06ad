//! The server as a whole: health, reflection, its shutdown, and what it refuses.

#![expect(clippy::unwrap_used, reason = "a test: what fails here fails the test")]

#[path = "load/tea.rs"]
mod tea;

use std::fs;
use std::time::Duration;

use futures::stream;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use unlade_catalog::Rule;
use unlade_server::{LoadError, Options, ServeError, Server};

use crate::tea::CATALOG;

/// The time after which a test fails instead of waiting.
const WAIT: Duration = Duration::from_mins(1);

fn load(text: &str) -> Result<Server, LoadError> {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("catalog.yaml"), text).unwrap();
    Server::load(directory.path(), &Options::default())
}

struct Running {
    channel: Channel,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Result<(), ServeError>>,
}

async fn start() -> Running {
    let server = load(CATALOG).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (stop, stopped) = oneshot::channel();
    let serving = tokio::spawn(server.serve(listener, async {
        _ = stopped.await;
    }));
    let channel = Channel::from_shared(address).unwrap().connect().await.unwrap();
    Running { channel, stop, serving }
}

fn request(service: &str) -> HealthCheckRequest {
    HealthCheckRequest { service: service.to_owned() }
}

#[tokio::test]
async fn a_client_that_watches_the_health_learns_of_the_end_and_does_not_prevent_it() {
    let Running { channel, stop, serving } = start().await;
    let mut client = HealthClient::new(channel);
    let mut states = client.watch(request("Registry")).await.unwrap().into_inner();
    let mut next = async || {
        let state = timeout(WAIT, states.message()).await.unwrap().unwrap();
        state.map(|state| state.status())
    };
    assert_eq!(next().await, Some(ServingStatus::Serving));
    stop.send(()).unwrap();
    assert_eq!(next().await, Some(ServingStatus::NotServing));
    assert_eq!(next().await, None);
    drop(client);
    timeout(WAIT, serving).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn every_service_is_healthy() {
    let running = start().await;
    let mut client = HealthClient::new(running.channel);
    for service in ["", "api.Registry", "Registry", "nonsense"] {
        let response = timeout(WAIT, client.check(request(service))).await.unwrap();
        let response = response.unwrap().into_inner();
        assert_eq!(response.status(), ServingStatus::Serving, "{service}");
    }
}

#[tokio::test]
async fn reflection_lists_the_services() {
    let running = start().await;
    let mut client = ServerReflectionClient::new(running.channel);
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let list = async {
        let responses = client.server_reflection_info(stream::iter([request])).await?;
        responses.into_inner().message().await
    };
    let response = timeout(WAIT, list).await.unwrap().unwrap().unwrap();
    let Some(MessageResponse::ListServicesResponse(list)) = response.message_response else {
        panic!("{response:?}");
    };
    let names: Vec<_> = list.service.into_iter().map(|service| service.name).collect();
    for name in ["api.ExperimentalRegistry", "api.Registry", "grpc.health.v1.Health"] {
        assert!(names.iter().any(|it| it == name), "{names:?}");
    }
}

#[test]
fn an_invalid_catalog_is_not_served() {
    let error = load(&CATALOG.replace("version: 1.0.0", "version: v1")).unwrap_err();
    let LoadError::Invalid { problems } = &error else { panic!("{error:?}") };
    assert_eq!(problems[0].rule, Rule::Version);
    assert!(error.to_string().starts_with("the catalog is invalid: catalog.yaml:15: "), "{error}");
}
