//! A server in this process, and its clients.

use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use prost::Message;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tonic::client::Grpc;
use tonic::codec::Codec;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status, Streaming};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_prost::ProstCodec;
use unlade_server::message::{
    Bundle, ExperimentalListPackageCustomSchemasRequest, GetAllProvidersRequest,
    GetAllReplacementsRequest, GetBundleRequest, GetPackageRequest, ListBundlesRequest, Package,
};
use unlade_server::{Options, ServeError, Server};

/// The time after which a test fails instead of waiting.
pub(crate) const WAIT: Duration = Duration::from_mins(1);

/// The number of bytes that the server may send before a narrow client reads them, as HTTP/2
/// defines it.
const WINDOW: u32 = 65_535;

/// Waits for the end of a future, and fails if it takes longer than [`WAIT`].
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(WAIT, future).await.unwrap()
}

/// Returns the number of messages until the end of a stream.
pub(crate) async fn count(stream: &mut Streaming<Bundle>) -> Result<usize, Status> {
    let mut count = 0;
    while within(stream.message()).await?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// Returns a catalog with one channel of bundles that have 200 bytes each.
pub(crate) fn catalog(n_bundles: usize) -> String {
    let entry = |n| format!("{{name: b{n}, replaces: b{}}}", n + 1);
    let entries: Vec<_> = (0..n_bundles).map(entry).collect();
    let bundle = |n| {
        format!(
            "---\n{{schema: olm.bundle, package: tea, name: b{n}, image: 'r.example/b:{n}', \
             properties: [{{type: olm.package, value: {{packageName: tea, version: 1.0.{n}}}}}]}}\n"
        )
    };
    let bundles: String = (0..n_bundles).map(bundle).collect();
    format!(
        "{{schema: olm.package, name: tea, defaultChannel: c}}\n---\n\
         {{schema: olm.channel, package: tea, name: c, entries: [{}]}}\n{bundles}",
        entries.join(",")
    )
}

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Result<(), ServeError>>,
}

impl Running {
    pub(crate) async fn start(catalog: &str, change: impl FnOnce(&mut Options)) -> Self {
        let directory = TempDir::new().unwrap();
        fs::write(directory.path().join("catalog.yaml"), catalog).unwrap();
        let mut options = Options::default();
        change(&mut options);
        let server = Server::load(directory.path(), &options).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(server.serve(listener, async {
            _ = stopped.await;
        }));
        Self { address, stop, serving }
    }

    /// Connects a client with a connection of its own.
    pub(crate) async fn client(&self) -> Client {
        Client::connect(endpoint(self.address)).await
    }

    /// Connects a client for which the server soon has to wait if it does not read.
    pub(crate) async fn narrow_client(&self) -> Client {
        let endpoint = endpoint(self.address).initial_stream_window_size(WINDOW);
        Client::connect(endpoint.initial_connection_window_size(WINDOW)).await
    }

    /// Connects a client for which the server soon has to wait with each stream that it does not
    /// read.
    pub(crate) async fn client_with_narrow_streams(&self) -> Client {
        Client::with_narrow_streams(self.address).await
    }

    pub(crate) async fn check_health(&self) {
        let channel = within(endpoint(self.address).connect()).await.unwrap();
        let mut client = HealthClient::new(channel);
        within(client.check(HealthCheckRequest { service: String::new() })).await.unwrap();
    }

    /// Stops the server, and returns its end.
    pub(crate) fn stop(self) -> JoinHandle<Result<(), ServeError>> {
        self.stop.send(()).unwrap();
        self.serving
    }
}

fn endpoint(address: SocketAddr) -> Endpoint {
    Channel::from_shared(format!("http://{address}")).unwrap()
}

/// A client, whose calls must be answered within [`WAIT`].
#[derive(Clone)]
pub(crate) struct Client(Grpc<Channel>);

impl Client {
    async fn connect(endpoint: Endpoint) -> Self {
        Self(Grpc::new(within(endpoint.connect()).await.unwrap()))
    }

    pub(crate) async fn with_narrow_streams(address: SocketAddr) -> Self {
        let endpoint = endpoint(address).initial_stream_window_size(WINDOW);
        // Streams that share a small window get frames so small that the client ends the
        // connection.
        Self::connect(endpoint.initial_connection_window_size(256 * WINDOW)).await
    }

    pub(crate) async fn list_bundles(&mut self) -> Result<Streaming<Bundle>, Status> {
        self.begin("/api.Registry/ListBundles", ListBundlesRequest {}).await
    }

    /// Calls `GetBundle`, and does not read the response after its headers.
    pub(crate) async fn begin_bundle(&mut self) -> Result<Streaming<Bundle>, Status> {
        let (pkg_name, channel_name) = ("tea".to_owned(), "c".to_owned());
        let csv_name = "b0".to_owned();
        let request = GetBundleRequest { pkg_name, channel_name, csv_name };
        self.begin("/api.Registry/GetBundle", request).await
    }

    /// Calls `GetChannelEntriesThatReplace`, and does not read the response after its headers.
    pub(crate) async fn begin_replacing(
        &mut self,
        name: &str,
    ) -> Result<Streaming<Bundle>, Status> {
        let request = GetAllReplacementsRequest { csv_name: name.to_owned() };
        self.begin("/api.Registry/GetChannelEntriesThatReplace", request).await
    }

    /// Calls `GetChannelEntriesThatProvide` with the kind `Tea`, and does not read the response
    /// after its headers.
    pub(crate) async fn begin_providing(&mut self) -> Result<Streaming<Bundle>, Status> {
        let request = GetAllProvidersRequest { kind: "Tea".to_owned(), ..Default::default() };
        self.begin("/api.Registry/GetChannelEntriesThatProvide", request).await
    }

    /// Calls `ExperimentalListPackageCustomSchemas`, and does not read the response after its
    /// headers.
    pub(crate) async fn begin_others(&mut self, schema: &str) -> Result<Streaming<Bundle>, Status> {
        let request = ExperimentalListPackageCustomSchemasRequest {
            schema: schema.to_owned(),
            package_name: String::new(),
        };
        let path = "/api.ExperimentalRegistry/ExperimentalListPackageCustomSchemas";
        self.begin(path, request).await
    }

    pub(crate) async fn package(&mut self, name: &str) -> Result<Package, Status> {
        let codec = ProstCodec::<GetPackageRequest, Package>::default();
        let request = GetPackageRequest { name: name.to_owned() };
        self.unary("/api.Registry/GetPackage", request, codec).await
    }

    /// Calls a method with the bytes of a message.
    pub(crate) async fn raw(&mut self, method: &str, message: &[u8]) -> Result<(), Status> {
        self.unary(&format!("/api.{method}"), message.to_vec(), RawCodec).await
    }

    /// Calls a method, and returns its response as a stream, which is not yet read.
    async fn begin<I>(
        &mut self,
        path: &'static str,
        message: I,
    ) -> Result<Streaming<Bundle>, Status>
    where
        I: Message + 'static,
    {
        let codec = ProstCodec::<I, Bundle>::default();
        let path = PathAndQuery::from_static(path);
        within(self.ready()).await?;
        let mut request = Request::new(message);
        // The experimental method requires this header, and the others ignore it.
        request
            .metadata_mut()
            .insert("x-acknowledge-experimental", MetadataValue::from_static("true"));
        let call = self.0.server_streaming(request, path, codec);
        Ok(within(call).await?.into_inner())
    }

    async fn unary<C>(
        &mut self,
        path: &str,
        message: C::Encode,
        codec: C,
    ) -> Result<C::Decode, Status>
    where
        C: Codec<Encode: Send + Sync + 'static, Decode: Send + Sync + 'static>,
    {
        within(self.ready()).await?;
        let call = self.0.unary(Request::new(message), path.parse().unwrap(), codec);
        Ok(within(call).await?.into_inner())
    }

    async fn ready(&mut self) -> Result<(), Status> {
        self.0.ready().await.map_err(|error| Status::unavailable(error.to_string()))
    }
}

/// Sends bytes as they are, and ignores the response.
#[derive(Default)]
struct RawCodec;

impl Codec for RawCodec {
    type Encode = Vec<u8>;
    type Decode = ();
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl tonic::codec::Encoder for RawCodec {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(
        &mut self,
        bytes: Vec<u8>,
        buffer: &mut tonic::codec::EncodeBuf<'_>,
    ) -> Result<(), Status> {
        bytes::BufMut::put_slice(buffer, &bytes);
        Ok(())
    }
}

impl tonic::codec::Decoder for RawCodec {
    type Item = ();
    type Error = Status;

    fn decode(&mut self, _: &mut tonic::codec::DecodeBuf<'_>) -> Result<Option<()>, Status> {
        Ok(Some(()))
    }
}
