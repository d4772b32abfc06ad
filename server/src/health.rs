//! The service `grpc.health.v1.Health`.

use futures::stream::{self, BoxStream, StreamExt as _};
use tokio::sync::watch;
use tonic::{Request, Response, Status};
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::Health;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

/// Reports the health of the server. Like `opm`, it reports the same for every service name.
#[derive(Debug, Clone)]
pub(crate) struct ServerHealth {
    is_serving: watch::Receiver<bool>,
}

impl ServerHealth {
    pub(crate) fn new(is_serving: watch::Receiver<bool>) -> Self {
        Self { is_serving }
    }
}

fn response(is_serving: bool) -> HealthCheckResponse {
    let status = if is_serving { ServingStatus::Serving } else { ServingStatus::NotServing };
    HealthCheckResponse {
        status: tonic_health::pb::health_check_response::ServingStatus::from(status).into(),
    }
}

#[tonic::async_trait]
impl Health for ServerHealth {
    async fn check(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(response(*self.is_serving.borrow())))
    }

    type WatchStream = BoxStream<'static, Result<HealthCheckResponse, Status>>;

    async fn watch(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let mut receiver = self.is_serving.clone();
        receiver.mark_changed();
        let changes = stream::unfold(receiver, async |mut receiver| {
            receiver.changed().await.ok()?;
            let is_serving = *receiver.borrow_and_update();
            Some((Ok(response(is_serving)), receiver))
        });
        Ok(Response::new(changes.boxed()))
    }
}
