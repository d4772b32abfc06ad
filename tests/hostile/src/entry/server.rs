//! The server of catalogs: what it reads from a catalog, and what clients send.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroUsize;

use unlade_catalog::{Catalog, File, Limits};
use unlade_server::{Options, Server, fuzz};

use super::{CHECKED_AGAIN, explain, image::scratch};

/// A catalog with everything that a request can ask for.
const CATALOG: &str = "\
schema: olm.package
name: tea
defaultChannel: stable
description: hot
icon: {base64data: AAAA, mediatype: image/png}
---
schema: olm.channel
package: tea
name: stable
entries:
- {name: tea.v1}
- {name: tea.v2, replaces: tea.v1, skips: [tea.v0], skipRange: <2.0.0}
---
schema: olm.bundle
package: tea
name: tea.v1
image: registry.example/tea:1
properties:
- {type: olm.package, value: {packageName: tea, version: 1.0.0}}
- {type: olm.gvk, value: {group: g.example, version: v1, kind: K}}
- {type: olm.csv.metadata, value: {displayName: Tea}}
---
schema: olm.bundle
package: tea
name: tea.v2
properties:
- {type: olm.package, value: {packageName: tea, version: 2.0.0}}
- {type: olm.gvk, value: {group: g.example, version: v1, kind: K}}
- {type: olm.bundle.object, value: {data: e30=}}
---
schema: olm.deprecations
package: tea
entries:
- {reference: {schema: olm.bundle, name: tea.v1}, message: old}
---
schema: example.com/x
package: tea
name: x
value: [1, {a: b}]
";

/// Loads a catalog, and asks for a part of it.
pub(super) fn served(input: &[u8]) {
    let served = load(input, |server| {
        let size = fuzz::call(server, "/api.Registry/ListPackages", b"\0\0\0\0\0");
        if input.len() <= CHECKED_AGAIN {
            let mut catalog = Catalog::default();
            catalog.add(File::read("catalog.yaml", input, &Limits::default()));
            let names: BTreeSet<_> = catalog.packages.iter().map(|it| it.name.as_str()).collect();
            // A message has 5 bytes before it, and a name has its number and its length before it.
            let length = |name: &str| 7 + usize::from(name.len() > 127) + name.len();
            let expected: usize = names.into_iter().map(length).sum();
            assert_eq!(size, expected, "other packages are served");
        }
    });
    if let Err(error) = served {
        explain(&error);
    }
}

/// Answers a request to a small catalog. The first line of the input is the path of the method, and
/// the rest is the body.
pub(super) fn call(input: &[u8]) {
    thread_local! {
        static SERVER: Option<Server> = {
            let mut server = None;
            let loaded = load(CATALOG.as_bytes(), |loaded| server = Some(loaded.clone()));
            assert!(loaded.is_ok(), "{loaded:?}");
            server
        };
    }
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (path, body) = input.split_at(end);
    let body = body.get(1..).unwrap_or_default();
    SERVER.with(|server| {
        let Some(server) = server else { return };
        let size = fuzz::call(server, &String::from_utf8_lossy(path), body);
        // A client may ask for all descriptors in each message of one stream.
        assert!(size <= (64 << 10) + body.len() * (4 << 10), "{size} bytes of a response");
    });
}

fn load(catalog: &[u8], visit: impl FnOnce(&Server)) -> Result<(), unlade_server::LoadError> {
    let mut result = Ok(());
    scratch(|directory| {
        let path = directory.join("catalog.yaml");
        let written = fs::write(&path, catalog);
        assert!(written.is_ok(), "{written:?}");
        let mut options = Options::default();
        directory.clone_into(&mut options.temporary);
        options.limits.threads = NonZeroUsize::MIN;
        result = Server::load(&path, &options).map(|server| visit(&server));
    });
    result
}
