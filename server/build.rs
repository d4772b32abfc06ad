//! Generates the messages and the services of `proto/registry.proto`, without `protoc`.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use prost_types::ServiceDescriptorProto;
use tonic_build::manual::{Builder, Method, Service, ServiceBuilder};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let descriptors = protox::compile(["proto/registry.proto"], ["proto"])?;
    fs::write(out.join("descriptors.bin"), encode(&descriptors))?;
    let services: Vec<_> = descriptors
        .file
        .iter()
        .flat_map(|file| file.service.iter().map(|it| service(file.package(), it)))
        .collect();
    let mut messages = prost_build::Config::new();
    // The cache for opm contains bundles as JSON.
    for name in ["Bundle", "GroupVersionKind", "Dependency", "Property", "Deprecation"] {
        let serialize = "#[derive(serde::Serialize)] #[serde(rename_all = \"camelCase\")]";
        messages.type_attribute(format!("api.{name}"), serialize);
    }
    messages.compile_fds(descriptors)?;
    Builder::new().build_client(false).compile(&services);
    Ok(())
}

fn encode(descriptors: &impl prost::Message) -> Vec<u8> {
    descriptors.encode_to_vec()
}

/// Describes a service. The responses are written by hand, so its methods do not have the types of
/// their responses.
fn service(package: &str, service: &ServiceDescriptorProto) -> Service {
    let methods = service.method.iter().map(|method| {
        let input = method.input_type().rsplit('.').next().unwrap_or_default();
        let built = Method::builder()
            .name(to_snake_case(method.name()))
            .route_name(method.name())
            .input_type(format!("crate::message::{input}"))
            .output_type("crate::codec::Message")
            .codec_path("crate::codec::Codec");
        if method.server_streaming() { built.server_streaming() } else { built }.build()
    });
    let described = Service::builder().package(package).name(service.name());
    methods.fold(described, ServiceBuilder::method).build()
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
