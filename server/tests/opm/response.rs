//! Compares the responses to all calls with recorded ones.

use std::time::Duration;

use futures::TryStreamExt as _;
use prost::Message;
use prost_types::value::Kind;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;
use unlade_server::message::{
    Bundle, ChannelEntry, ExperimentalListPackageCustomSchemasRequest, GetAllProvidersRequest,
    GetAllReplacementsRequest, GetBundleInChannelRequest, GetBundleRequest, GetPackageRequest,
    GetReplacementRequest, ListBundlesRequest, ListPackageRequest, Package, PackageName,
};
use unlade_text::hex;

/// The time after which a call fails instead of waiting.
const WAIT: Duration = Duration::from_mins(2);

/// A client of the API.
struct Client(Grpc<Channel>);

impl Client {
    async fn call<I, O>(&mut self, method: &str, message: I) -> Result<Vec<O>, Status>
    where
        I: Message + Default + 'static,
        O: Message + Default + 'static,
    {
        self.send(method, Request::new(message)).await
    }

    async fn send<I, O>(&mut self, method: &str, request: Request<I>) -> Result<Vec<O>, Status>
    where
        I: Message + Default + 'static,
        O: Message + Default + 'static,
    {
        let path: PathAndQuery = format!("/api.{method}").parse().unwrap();
        let codec = ProstCodec::<I, O>::default();
        let response = async {
            self.0.ready().await.unwrap();
            // A unary method sends a stream of one message.
            let stream = self.0.server_streaming(request, path, codec).await?.into_inner();
            stream.try_collect().await
        };
        timeout(WAIT, response).await.unwrap()
    }
}

/// Removes empty fields, as the JSON of protobuf does.
fn without_empty(value: Value) -> Value {
    let Value::Object(fields) = value else { return value };
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    fields.into_iter().filter(|(_, value)| !is_empty(value)).collect::<Map<_, _>>().into()
}

fn error(status: &Status) -> Value {
    let code = match status.code() {
        Code::Unknown => "Unknown".to_owned(),
        Code::InvalidArgument => "InvalidArgument".to_owned(),
        code => format!("{code:?}"),
    };
    json!({"error": {"code": code, "message": status.message()}})
}

fn digest(bytes: &[u8]) -> Value {
    json!({"size": bytes.len(), "sha256": hex(&Sha256::digest(bytes))})
}

/// Converts a bundle, in the form of `expected`: long texts may be digests there.
fn bundle(bundle: &Bundle, expected: &Value) -> Value {
    let short = expected.get("_protobuf").is_some();
    let text = |text: &String| {
        if short && !text.is_empty() { digest(text.as_bytes()) } else { json!(text) }
    };
    let pair = |kind: &String, value: &String| without_empty(json!({"type": kind, "value": value}));
    let apis = |apis: &[unlade_server::message::GroupVersionKind]| -> Vec<_> {
        let api = |it: &unlade_server::message::GroupVersionKind| {
            without_empty(json!({
                "group": it.group, "version": it.version, "kind": it.kind, "plural": it.plural,
            }))
        };
        apis.iter().map(api).collect()
    };
    without_empty(json!({
        "_protobuf": short.then(|| digest(&bundle.encode_to_vec())),
        "csvName": bundle.csv_name,
        "packageName": bundle.package_name,
        "channelName": bundle.channel_name,
        "csvJson": text(&bundle.csv_json),
        "object": bundle.object.iter().map(text).collect::<Vec<_>>(),
        "bundlePath": bundle.bundle_path,
        "providedApis": apis(&bundle.provided_apis),
        "requiredApis": apis(&bundle.required_apis),
        "version": bundle.version,
        "skipRange": bundle.skip_range,
        "dependencies":
            bundle.dependencies.iter().map(|it| pair(&it.r#type, &it.value)).collect::<Vec<_>>(),
        "properties":
            bundle.properties.iter().map(|it| pair(&it.r#type, &it.value)).collect::<Vec<_>>(),
        "replaces": bundle.replaces,
        "skips": bundle.skips,
        "deprecation": bundle.deprecation.as_ref().map(|it| without_empty(json!({"message": it.message}))),
    }))
}

/// Sorts entries. Theirs are in random order, and ours by package, channel and name.
fn sorted(mut entries: Vec<Value>) -> Value {
    entries.sort_by_cached_key(Value::to_string);
    entries.into()
}

fn entries(entries: Result<Vec<ChannelEntry>, Status>) -> Value {
    match entries {
        Err(status) => error(&status),
        Ok(entries) => {
            let entry = |it: ChannelEntry| {
                without_empty(json!({
                    "packageName": it.package_name,
                    "channelName": it.channel_name,
                    "bundleName": it.bundle_name,
                    "replaces": it.replaces,
                }))
            };
            sorted(entries.into_iter().map(entry).collect())
        }
    }
}

fn package(package: &Package) -> Value {
    let message = |it: &Option<unlade_server::message::Deprecation>| {
        it.as_ref().map(|it| without_empty(json!({"message": it.message})))
    };
    let channel = |it: &unlade_server::message::Channel| {
        without_empty(json!({
            "name": it.name, "csvName": it.csv_name, "deprecation": message(&it.deprecation),
        }))
    };
    without_empty(json!({
        "name": package.name,
        "channels": package.channels.iter().map(channel).collect::<Vec<_>>(),
        "defaultChannelName": package.default_channel_name,
        "deprecation": message(&package.deprecation),
    }))
}

fn value(value: &prost_types::Value) -> Value {
    match value.kind.as_ref().unwrap() {
        Kind::NullValue(_) => Value::Null,
        // The answers of opm are JSON, in which a number without a fraction is an integer.
        Kind::NumberValue(number) => serde_json::from_str(&format!("{number}")).unwrap(),
        Kind::StringValue(text) => json!(text),
        Kind::BoolValue(is_true) => json!(is_true),
        Kind::StructValue(fields) => structure(fields),
        Kind::ListValue(list) => list.values.iter().map(self::value).collect(),
    }
}

fn structure(fields: &prost_types::Struct) -> Value {
    fields.fields.iter().map(|(name, it)| (name.clone(), value(it))).collect::<Map<_, _>>().into()
}

/// Splits a key of a response into three names, of which the second one may contain a slash if it
/// is that of a channel.
fn names(key: &str, golden: &Value) -> [String; 3] {
    let (first, rest) = key.split_once('/').unwrap_or((key, ""));
    let channels = golden["GetPackage"][first]["channels"].as_array();
    let channels = channels.into_iter().flatten().filter_map(|it| it["name"].as_str());
    let known = channels.filter_map(|it| Some((it, rest.strip_prefix(it)?)));
    let mut known = known.filter(|(_, rest)| rest.is_empty() || rest.starts_with('/'));
    let (second, third) = match known.next() {
        Some((channel, rest)) => (channel, rest.trim_start_matches('/')),
        None => rest.split_once('/').unwrap_or((rest, "")),
    };
    [first, second, third].map(str::to_owned)
}

/// Checks whether a bundle of the channel replaces or skips another one. Of several bundles, opm
/// returns any.
fn is_replacement(golden: &Value, channel: &str, name: &str, replaced: &str) -> bool {
    golden["ListBundles"].as_array().into_iter().flatten().any(|it| {
        let skips = it["skips"].as_array().into_iter().flatten();
        it["channelName"] == channel
            && it["csvName"] == name
            && skips.chain([&it["replaces"]]).any(|it| it == replaced)
    })
}

/// Returns the response to the call of `method` with the arguments in `key`.
async fn respond(
    client: &mut Client,
    method: &str,
    key: &str,
    expected: &Value,
    golden: &Value,
) -> Value {
    let [first, second, third] = names(key, golden);
    let one = |bundles: Result<Vec<Bundle>, Status>| match bundles {
        Err(status) => error(&status),
        Ok(bundles) => bundle(bundles.first().unwrap(), expected),
    };
    let path = format!("Registry/{method}");
    match method {
        "GetPackage" => {
            let request = GetPackageRequest { name: key.to_owned() };
            match client.call::<_, Package>(&path, request).await {
                Err(status) => error(&status),
                Ok(packages) => package(packages.first().unwrap()),
            }
        }
        "GetBundle" => {
            let request =
                GetBundleRequest { pkg_name: first, channel_name: second, csv_name: third };
            one(client.call(&path, request).await)
        }
        "GetBundleForChannel" => {
            let request = GetBundleInChannelRequest { pkg_name: first, channel_name: second };
            one(client.call(&path, request).await)
        }
        "GetBundleThatReplaces" => {
            let request = GetReplacementRequest {
                csv_name: third.clone(),
                pkg_name: first,
                channel_name: second.clone(),
            };
            match client.call::<_, Bundle>(&path, request).await {
                Err(status) => error(&status),
                Ok(bundles) => {
                    let name = &bundles.first().unwrap().csv_name;
                    let is_valid = is_replacement(golden, &second, name, &third);
                    if is_valid && expected.get("error").is_none() {
                        expected.clone()
                    } else {
                        json!(name)
                    }
                }
            }
        }
        "GetChannelEntriesThatReplace" => {
            let request = GetAllReplacementsRequest { csv_name: key.to_owned() };
            entries(client.call(&path, request).await)
        }
        "GetChannelEntriesThatProvide" | "GetLatestChannelEntriesThatProvide" => {
            let request = GetAllProvidersRequest {
                group: first,
                version: second,
                kind: third,
                plural: String::new(),
            };
            entries(client.call(&path, request).await)
        }
        "GetDefaultBundleThatProvides" => {
            let request = GetAllProvidersRequest {
                group: first,
                version: second,
                kind: third,
                plural: String::new(),
            };
            match client.call::<_, Bundle>(&path, request).await {
                Err(status) => error(&status),
                Ok(bundles) => {
                    let found = bundles.first().unwrap();
                    json!({
                        "csvName": found.csv_name,
                        "packageName": found.package_name,
                        "channelName": found.channel_name,
                    })
                }
            }
        }
        "ExperimentalListPackageCustomSchemas" => {
            let (key, has_header) = match key.strip_suffix(" (no header)") {
                Some(key) => (key, false),
                None => (key, true),
            };
            let (schema, package_name) = key.split_once(':').unwrap();
            let (schema, package_name) = (schema.to_owned(), package_name.to_owned());
            let mut request =
                Request::new(ExperimentalListPackageCustomSchemasRequest { schema, package_name });
            if has_header {
                let value = "true".parse().unwrap();
                request.metadata_mut().insert("x-acknowledge-experimental", value);
            }
            let path = format!("ExperimentalRegistry/{method}");
            match client.send::<_, prost_types::Struct>(&path, request).await {
                Err(status) => error(&status),
                Ok(metas) => sorted(metas.iter().map(structure).collect()),
            }
        }
        _ => panic!("{method}"),
    }
}

/// Compares all responses of the server at `address`. Returns the calls with another response.
pub(crate) async fn compare(address: String, golden: &Value) -> Vec<String> {
    let channel = Channel::from_shared(address).unwrap().connect().await.unwrap();
    let mut client = Client(Grpc::new(channel).max_decoding_message_size(64 << 20));
    let mut different = Vec::new();
    let mut differ = |call: String, expected: &Value, found: &Value| {
        if expected != found {
            different.push(format!("{call}:\n  opm    {expected}\n  unlade {found}"));
        }
    };
    for (method, expected) in golden.as_object().unwrap() {
        match method.as_str() {
            "health" | "reflection" => {}
            "ListPackages" => {
                let found = client
                    .call::<_, PackageName>("Registry/ListPackages", ListPackageRequest {})
                    .await
                    .unwrap();
                // opm returns them in a random order, and the recorded responses are sorted.
                let mut found: Vec<_> = found.into_iter().map(|package| package.name).collect();
                found.sort_unstable();
                let found = Value::from(found);
                let expected = if expected.is_null() { &json!([]) } else { expected };
                differ(method.clone(), expected, &found);
            }
            "ListBundles" => {
                let found = client
                    .call::<_, Bundle>("Registry/ListBundles", ListBundlesRequest {})
                    .await
                    .unwrap();
                let expected = expected.as_array().map_or(&[][..], Vec::as_slice);
                assert_eq!(found.len(), expected.len());
                for (index, (expected, found)) in expected.iter().zip(&found).enumerate() {
                    differ(format!("{method} {index}"), expected, &bundle(found, expected));
                }
            }
            _ => {
                for (key, expected) in expected.as_object().unwrap() {
                    let expected = match expected {
                        Value::Array(entries) => &sorted(entries.clone()),
                        expected => expected,
                    };
                    let found = respond(&mut client, method, key, expected, golden).await;
                    differ(format!("{method} {key}"), expected, &found);
                }
            }
        }
    }
    different
}
