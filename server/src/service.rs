//! The services `api.Registry` and `api.ExperimentalRegistry`.

use std::io;
use std::sync::Arc;

use futures::channel::mpsc;
use futures::stream::{self, BoxStream, StreamExt as _};
use futures::{SinkExt as _, future};
use prost_types::Struct;
use tonic::{Request, Response, Status};
use unlade_bundle::property::Gvk;

use self::edge::Wanted;
use crate::bundle;
use crate::codec::Message;
use crate::index::{Index, Key, Located, Missing};
use crate::message::{
    self, Channel, ExperimentalListPackageCustomSchemasRequest, GetAllProvidersRequest,
    GetAllReplacementsRequest, GetBundleInChannelRequest, GetBundleRequest,
    GetDefaultProviderRequest, GetLatestProvidersRequest, GetPackageRequest, GetReplacementRequest,
    ListBundlesRequest, ListPackageRequest, Package, PackageName,
};

pub(crate) mod custom;
mod edge;

/// The generated traits and servers.
#[allow(missing_docs, unreachable_pub, reason = "generated code")]
#[allow(clippy::pedantic, reason = "generated code")]
pub(crate) mod generated {
    include!(concat!(env!("OUT_DIR"), "/api.Registry.rs"));
    include!(concat!(env!("OUT_DIR"), "/api.ExperimentalRegistry.rs"));
}

/// The responses of a method that sends a stream.
type Responses = BoxStream<'static, Result<Message, Status>>;

/// Sends the messages of a stream.
struct Sender(mpsc::Sender<Result<Message, Status>>);

/// Serves an index.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    index: Arc<Index>,
}

impl From<Missing> for Status {
    fn from(missing: Missing) -> Self {
        Self::unknown(missing.to_string())
    }
}

impl Service {
    pub(crate) fn new(index: Arc<Index>) -> Self {
        Self { index }
    }

    fn whole(&self, found: Result<Located<'_>, Missing>) -> Result<Response<Message>, Status> {
        let Located { package_name, channel_name, name, .. } = found?;
        let [package, channel, name] = [package_name, channel_name, name].map(str::to_owned);
        let index = Arc::clone(&self.index);
        Ok(Response::new(Message::new(move || {
            let located = index.entry(&package, &channel, Some(&name))?;
            bundle::encode_whole(&index, &located).map_err(|error| failed(&error))
        })))
    }
}

/// Returns the status of a failure to read the texts of the catalog.
fn failed(error: &io::Error) -> Status {
    Status::internal(format!("failed to read the catalog: {error}"))
}

/// Sends the messages that `make` passes on. It waits until the client has room for each, so a call
/// holds one message, and not all of them.
fn send<F: Future<Output = Option<()>> + Send + 'static>(
    make: impl FnOnce(Sender) -> F,
) -> Response<Responses> {
    let (sender, receiver) = mpsc::channel(0);
    let making = stream::once(make(Sender(sender))).filter_map(|_| future::ready(None));
    Response::new(stream::select(receiver, making).boxed())
}

impl Sender {
    /// Waits for the client. Returns `None` if it no longer wants messages.
    async fn send(&mut self, message: Message) -> Option<()> {
        self.0.send(Ok(message)).await.ok()
    }
}

#[tonic::async_trait]
impl generated::registry_server::Registry for Service {
    type ListPackagesStream = Responses;

    async fn list_packages(
        &self,
        _: Request<ListPackageRequest>,
    ) -> Result<Response<Responses>, Status> {
        let index = Arc::clone(&self.index);
        Ok(send(async move |mut sender| {
            for name in index.records.packages.keys() {
                sender.send(Message::from(&PackageName { name: name.clone() })).await?;
            }
            Some(())
        }))
    }

    async fn get_package(
        &self,
        request: Request<GetPackageRequest>,
    ) -> Result<Response<Message>, Status> {
        let name = request.into_inner().name;
        let package = self.index.package(&name)?;
        let channels = package.channels.iter().map(|(name, channel)| Channel {
            name: name.clone(),
            csv_name: channel.head.clone(),
            deprecation: message::deprecation(channel.deprecation.as_ref()),
        });
        let package = Package {
            channels: channels.collect(),
            default_channel_name: package.default_channel.clone(),
            deprecation: message::deprecation(package.deprecation.as_ref()),
            name,
        };
        Ok(Response::new(Message::from(&package)))
    }

    async fn get_bundle(
        &self,
        request: Request<GetBundleRequest>,
    ) -> Result<Response<Message>, Status> {
        let GetBundleRequest { pkg_name, channel_name, csv_name } = request.into_inner();
        self.whole(self.index.entry(&pkg_name, &channel_name, Some(&csv_name)))
    }

    async fn get_bundle_for_channel(
        &self,
        request: Request<GetBundleInChannelRequest>,
    ) -> Result<Response<Message>, Status> {
        let GetBundleInChannelRequest { pkg_name, channel_name } = request.into_inner();
        self.whole(self.index.entry(&pkg_name, &channel_name, None))
    }

    type GetChannelEntriesThatReplaceStream = Responses;

    async fn get_channel_entries_that_replace(
        &self,
        request: Request<GetAllReplacementsRequest>,
    ) -> Result<Response<Responses>, Status> {
        Wanted::Replacing(request.into_inner().csv_name).send(Arc::clone(&self.index))
    }

    async fn get_bundle_that_replaces(
        &self,
        request: Request<GetReplacementRequest>,
    ) -> Result<Response<Message>, Status> {
        let GetReplacementRequest { csv_name, pkg_name, channel_name } = request.into_inner();
        self.whole(self.index.replacement(&pkg_name, &channel_name, &csv_name))
    }

    type GetChannelEntriesThatProvideStream = Responses;

    async fn get_channel_entries_that_provide(
        &self,
        request: Request<GetAllProvidersRequest>,
    ) -> Result<Response<Responses>, Status> {
        let GetAllProvidersRequest { group, version, kind, .. } = request.into_inner();
        let api = Gvk { group, version, kind };
        Wanted::Providing(api).send(Arc::clone(&self.index))
    }

    type GetLatestChannelEntriesThatProvideStream = Responses;

    async fn get_latest_channel_entries_that_provide(
        &self,
        request: Request<GetLatestProvidersRequest>,
    ) -> Result<Response<Responses>, Status> {
        let GetLatestProvidersRequest { group, version, kind, .. } = request.into_inner();
        let api = Gvk { group, version, kind };
        Wanted::LatestProviding(api).send(Arc::clone(&self.index))
    }

    async fn get_default_bundle_that_provides(
        &self,
        request: Request<GetDefaultProviderRequest>,
    ) -> Result<Response<Message>, Status> {
        let GetDefaultProviderRequest { group, version, kind, .. } = request.into_inner();
        self.whole(self.index.default_provider(&Gvk { group, version, kind }))
    }

    type ListBundlesStream = Responses;

    /// Lists the bundles in the order of `opm`: by channel, then by package, then by name.
    async fn list_bundles(
        &self,
        _: Request<ListBundlesRequest>,
    ) -> Result<Response<Responses>, Status> {
        let (index, keys) = (Arc::clone(&self.index), Arc::clone(&self.index.listed));
        // Each message is made when the client has room for it.
        let messages = stream::iter(0..keys.len()).map(move |at| {
            let Some(Key { channel, package, name }) = keys.get(at) else {
                return Err(Status::internal("the index is damaged"));
            };
            let located = index.entry(package, channel, Some(name))?;
            let bytes = bundle::encode_listed(&index, &located).map_err(|error| failed(&error))?;
            Ok(Message::new(|| Ok(bytes)))
        });
        Ok(Response::new(messages.boxed()))
    }
}

#[tonic::async_trait]
impl generated::experimental_registry_server::ExperimentalRegistry for Service {
    type ExperimentalListPackageCustomSchemasStream = Responses;

    async fn experimental_list_package_custom_schemas(
        &self,
        request: Request<ExperimentalListPackageCustomSchemasRequest>,
    ) -> Result<Response<Responses>, Status> {
        let is_acknowledged = request.metadata().get("x-acknowledge-experimental");
        if is_acknowledged.is_none_or(|value| value != "true") {
            return Ok(Response::new(stream::empty().boxed()));
        }
        let ExperimentalListPackageCustomSchemasRequest { schema, package_name } =
            request.into_inner();
        custom::check(&schema, &package_name)?;
        let index = Arc::clone(&self.index);
        let n_metas = index.others(&schema, &package_name).len();
        // A copy of the list would be as large as the catalog, for each call.
        let messages = stream::iter(0..n_metas).map(move |at| {
            let Some(span) = index.others(&schema, &package_name).get(at) else {
                return Err(Status::internal("the index is damaged"));
            };
            let mut json = Vec::new();
            index.content.read(*span, &mut json).map_err(|error| failed(&error))?;
            let message: Struct = custom::to_struct(&json)?;
            Ok(Message::from(&message))
        });
        Ok(Response::new(messages.boxed()))
    }
}
