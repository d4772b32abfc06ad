//! `--dry-run`: prints the objects without creating them.

use serde_json::{Value, json};
use unlade_launcher::{Launcher, Options, Request, plan_objects};

use crate::{
    args::Output,
    error::Error,
    output::{self, Documents, Form},
};

/// Prints the objects as far as they are known without contacting the cluster.
pub(super) fn client(
    requests: &[Request],
    options: &Options,
    output: Option<Output>,
) -> Result<(), Error> {
    let mut all = Vec::new();
    for request in requests {
        let created = plan_objects(request, options);
        all.extend(created.map_err(|failure| Error::launch(&request.image, failure))?);
    }
    print(&all, output)
}

/// Prints the objects as the API server would store them.
pub(super) async fn server(
    launcher: &Launcher,
    requests: &[Request],
    output: Option<Output>,
) -> Result<(), Error> {
    let mut all = Vec::new();
    for request in requests {
        let created = launcher.dry_run(request).await;
        all.extend(created.map_err(|failure| Error::launch(&request.image, failure))?);
    }
    print(&all, output)
}

/// Prints the objects as YAML documents, as a JSON List, or by their names. `kubectl create -f -`
/// accepts YAML and JSON.
fn print(objects: &[Value], output: Option<Output>) -> Result<(), Error> {
    match output {
        Some(Output::Name) => output::print_lines(objects.iter().map(name)),
        Some(Output::Json) => {
            let list = json!({"apiVersion": "v1", "items": objects, "kind": "List"});
            let mut documents = Documents::new(Form::Json, output::stdout());
            documents.write(&list).and_then(|()| documents.finish())
        }
        Some(Output::Yaml | Output::Summary) | None => {
            let mut documents = Documents::new(Form::Yaml, output::stdout());
            let written = objects.iter().try_for_each(|object| documents.write(object));
            written.and_then(|()| documents.finish())
        }
    }
    .map_err(Error::Output)
}

/// Formats the name of an object as kubectl does: `role.rbac.authorization.k8s.io/NAME`.
fn name(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let kind = text("/kind").to_lowercase();
    let group = text("/apiVersion").split_once('/').map(|(group, _)| format!(".{group}"));
    format!("{kind}{}/{}", group.unwrap_or_default(), text("/metadata/name"))
}
