//! Compares rendered templates with those of opm.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tempfile::TempDir;
use unlade_catalog::graph::{
    Selection,
    mermaid::{self, Style},
};
use unlade_catalog::render::{Migration, Rendered, Source, bundle};
use unlade_catalog::{Form, template};
use unlade_catalog_directory::{Limits, Renderer};
use unlade_loader::load;
use unlade_tests::corpus;

/// The number of templates.
const N_TEMPLATES: usize = 30;

#[derive(Debug, Deserialize)]
struct Golden {
    json: Answer,
    yaml: Answer,
    migrated: Answer,
    mermaid: Answer,
}

#[derive(Debug, Deserialize)]
struct Answer {
    text: Option<String>,
}

/// Renders the bundle whose image was built from a directory below `bundles`: the image
/// `registry.example/foo/bundle:v1.0.0` is that of `foo/v1.0.0`.
fn render_bundle(bundles: &Path, image: &str, migration: Migration) -> io::Result<Rendered> {
    let directory = image.strip_prefix("registry.example/").map(|it| it.replace("/bundle:", "/"));
    let directory: PathBuf = bundles.join(directory.unwrap_or_default());
    let limits = unlade_bundle::Limits::default();
    let reading = unlade_directory::read(&directory, &limits).map_err(io::Error::other)?;
    let loaded = load(&reading, &unlade_loader::Options::default()).map_err(io::Error::other)?;
    let decode = |file: &unlade_bundle::File| {
        unlade_yaml::decode_unstructured(&file.bytes, &unlade_yaml::Limits::default()).ok()?.object
    };
    let manifests = reading
        .content
        .files()
        .iter()
        .filter(|file| file.directory == unlade_bundle::Directory::Manifests);
    let objects: Vec<_> = manifests.filter_map(decode).collect();
    let source = Source {
        package: &loaded.bundle.package_name,
        image,
        properties: &loaded.bundle.catalog_properties,
        objects: &objects,
    };
    bundle(&source, migration).map_err(io::Error::other)
}

#[test]
fn every_template_is_rendered_as_by_opm() {
    let directory = TempDir::new().unwrap();
    corpus::unpack("catalogs/templates.tar.zst", directory.path());
    let directory = directory.path().join("templates");
    let (mut different, mut different_graphs, mut n_templates) = (Vec::new(), Vec::new(), 0);
    for entry in fs::read_dir(directory.join("templates")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let golden = fs::read(directory.join("golden").join(format!("{name}.json"))).unwrap();
        let golden: Golden = serde_json::from_slice(&golden).unwrap();
        n_templates += 1;
        let limits = Limits::default();
        let render =
            |image: &str| render_bundle(&directory.join("bundles"), image, Migration::default());
        let metas = template::render(fs::File::open(&path).unwrap(), None, &limits.catalog, render);
        let graph = metas.ok().map(|metas| {
            let style = Style { v0_semantics: true, ..Style::default() };
            let catalog = template::catalog(&metas, name, &limits.catalog).unwrap();
            mermaid::write(&catalog, &Selection::default(), &style).unwrap()
        });
        if graph != golden.mermaid.text {
            different_graphs.push((name.to_owned(), graph, golden.mermaid.text));
        }
        for (form, migration, answer) in [
            (Form::Json, Migration::None, golden.json),
            (Form::Yaml, Migration::None, golden.yaml),
            (Form::Json, Migration::CsvMetadata, golden.migrated),
        ] {
            let limits = Limits::default();
            let render = |image: &str| render_bundle(&directory.join("bundles"), image, migration);
            let text = fs::File::open(&path).unwrap();
            let metas = template::render(text, None, &limits.catalog, render);
            let ours = metas.map(|metas| {
                let mut renderer = Renderer::new(form, migration, &limits);
                for meta in &metas {
                    assert_eq!(renderer.add_json(name, meta).unwrap(), []);
                }
                renderer.finish().unwrap().map(|text| text.unwrap().1).collect::<String>()
            });
            if ours.as_ref().ok() != answer.text.as_ref() {
                different.push((name.to_owned(), form, migration, ours, answer.text));
            }
        }
    }
    assert_eq!(n_templates, N_TEMPLATES);
    assert!(different_graphs.is_empty(), "{different_graphs:#?}");
    assert!(different.is_empty(), "{} differ: {:#?}", different.len(), different.first());
}
