//! Generates the messages and the services of `proto/registry.proto`, without `protoc`.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use tonic_build::manual::{Builder, Method, Service};

/// The methods of `api.Registry`: the name, the type of the request, and whether the response is a
/// stream.
const REGISTRY: [(&str, &str, bool); 10] = [
    ("ListPackages", "ListPackageRequest", true),
    ("GetPackage", "GetPackageRequest", false),
    ("GetBundle", "GetBundleRequest", false),
    ("GetBundleForChannel", "GetBundleInChannelRequest", false),
    ("GetChannelEntriesThatReplace", "GetAllReplacementsRequest", true),
    ("GetBundleThatReplaces", "GetReplacementRequest", false),
    ("GetChannelEntriesThatProvide", "GetAllProvidersRequest", true),
    ("GetLatestChannelEntriesThatProvide", "GetLatestProvidersRequest", true),
    ("GetDefaultBundleThatProvides", "GetDefaultProviderRequest", false),
    ("ListBundles", "ListBundlesRequest", true),
];
/// The methods of `api.ExperimentalRegistry`.
const EXPERIMENTAL: [(&str, &str, bool); 1] =
    [("ExperimentalListPackageCustomSchemas", "ExperimentalListPackageCustomSchemasRequest", true)];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let descriptors = protox::compile(["proto/registry.proto"], ["proto"])?;
    fs::write(out.join("descriptors.bin"), protox_bytes(&descriptors))?;
    let mut messages = prost_build::Config::new();
    // The cache for opm contains bundles as JSON.
    for name in ["Bundle", "GroupVersionKind", "Dependency", "Property", "Deprecation"] {
        let serialize = "#[derive(serde::Serialize)] #[serde(rename_all = \"camelCase\")]";
        messages.type_attribute(format!("api.{name}"), serialize);
    }
    messages.compile_fds(descriptors)?;
    // The responses are written by hand, so the methods do not have the types of their responses.
    let services = [service("Registry", &REGISTRY), service("ExperimentalRegistry", &EXPERIMENTAL)];
    Builder::new().build_client(false).compile(&services);
    Ok(())
}

fn protox_bytes(descriptors: &impl prost::Message) -> Vec<u8> {
    descriptors.encode_to_vec()
}

fn service(name: &str, methods: &[(&str, &str, bool)]) -> Service {
    let mut service = Service::builder().package("api").name(name);
    for (name, input, is_stream) in methods {
        let mut method = Method::builder()
            .name(to_snake_case(name))
            .route_name(*name)
            .input_type(format!("crate::message::{input}"))
            .output_type("crate::codec::Message")
            .codec_path("crate::codec::Codec");
        if *is_stream {
            method = method.server_streaming();
        }
        service = service.method(method.build());
    }
    service.build()
}

/// Converts the name of a method to that of a function.
fn to_snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
