//! The calls of OLM's clients.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use prost::Message;
use tonic::Request;
use tonic::client::Grpc;
use tonic::transport::Channel;
use tonic_prost::ProstCodec;
use unlade_server::message::{
    Bundle, GetBundleInChannelRequest, GetBundleRequest, GetPackageRequest, ListBundlesRequest,
    ListPackageRequest, Package, PackageName,
};

/// The maximum size of a message, in bytes.
const MAX_MESSAGE: usize = 64 << 20;
/// The calls per second of [`Client::steady`].
const RATE: u32 = 1_000;

#[derive(Clone)]
pub(crate) struct Client(Grpc<Channel>);

/// The names of a bundle.
#[derive(Clone)]
pub(crate) struct Names {
    package: String,
    channel: String,
    name: String,
}

impl Client {
    pub(crate) async fn connect(address: &str) -> Self {
        let channel = Channel::from_shared(address.to_owned()).unwrap().connect().await.unwrap();
        Self(Grpc::new(channel).max_decoding_message_size(MAX_MESSAGE))
    }

    /// Calls a method, and passes each message to `visit`.
    async fn call<I, O>(&self, method: &'static str, request: I, mut visit: impl AsyncFnMut(O))
    where
        I: Message + Default + 'static,
        O: Message + Default + 'static,
    {
        let mut client = self.0.clone();
        client.ready().await.unwrap();
        let path = format!("/api.Registry/{method}").parse().unwrap();
        let codec = ProstCodec::<I, O>::default();
        let responses = client.server_streaming(Request::new(request), path, codec).await.unwrap();
        let mut responses = responses.into_inner();
        while let Some(message) = responses.message().await.unwrap() {
            visit(message).await;
        }
    }

    /// Lists all bundles, and returns their names.
    pub(crate) async fn list_bundles(&mut self) -> Vec<Names> {
        let mut names = Vec::new();
        self.call("ListBundles", ListBundlesRequest {}, async |bundle: Bundle| {
            let (package, channel) = (bundle.package_name, bundle.channel_name);
            names.push(Names { package, channel, name: bundle.csv_name });
        })
        .await;
        names
    }

    /// Lists all bundles and, while they arrive, gets each package, as the catalog-operator does.
    pub(crate) async fn snapshot(&mut self) {
        let mut packages = BTreeSet::new();
        self.call("ListBundles", ListBundlesRequest {}, async |bundle: Bundle| {
            if packages.insert(bundle.package_name.clone()) {
                self.package(bundle.package_name).await;
            }
        })
        .await;
    }

    async fn package(&self, name: String) -> Vec<(String, String)> {
        let mut channels = Vec::new();
        self.call("GetPackage", GetPackageRequest { name }, async |package: Package| {
            let name = package.name.clone();
            channels.extend(package.channels.into_iter().map(|it| (name.clone(), it.name)));
        })
        .await;
        channels
    }

    /// Gets all packages at once, and the head of each of their channels, as the package server
    /// does.
    pub(crate) async fn burst(&mut self) {
        let mut names = Vec::new();
        self.call("ListPackages", ListPackageRequest {}, async |package: PackageName| {
            names.push(package.name);
        })
        .await;
        let package = async |name: String| {
            for (pkg_name, channel_name) in self.package(name).await {
                let request = GetBundleInChannelRequest { pkg_name, channel_name };
                self.call("GetBundleForChannel", request, async |_: Bundle| {}).await;
            }
        };
        join_all(names.into_iter().map(package)).await;
    }

    /// Gets bundles at a constant rate. Returns the 99th percentile of the latency, which begins
    /// when a call should have been sent.
    pub(crate) async fn steady(&mut self, names: &[Names], n_seconds: u32) -> Duration {
        let start = tokio::time::Instant::now();
        let mut calls = Vec::new();
        for (at, names) in (0..n_seconds * RATE).zip(names.iter().cycle()) {
            let wanted = start + Duration::from_secs(1) / RATE * at;
            tokio::time::sleep_until(wanted).await;
            let (client, names) = (self.clone(), names.clone());
            calls.push(tokio::spawn(async move {
                let request = GetBundleRequest {
                    pkg_name: names.package,
                    channel_name: names.channel,
                    csv_name: names.name,
                };
                client.call("GetBundle", request, async |_: Bundle| {}).await;
                wanted.into_std().elapsed()
            }));
        }
        let mut latencies = Vec::new();
        for call in calls {
            latencies.push(call.await.unwrap());
        }
        latencies.sort();
        latencies.get(latencies.len() * 99 / 100).copied().unwrap_or_default()
    }
}
