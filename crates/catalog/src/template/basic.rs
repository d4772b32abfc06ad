//! Renders `olm.template.basic`.

use unlade_yaml::json::Value;

use super::{Error, RenderBundle, check, entries};
use crate::{
    BUNDLE, Limits,
    meta::{items, text},
    shape,
};

pub(super) fn render(
    root: Value<'_>,
    limits: &Limits,
    render: RenderBundle<'_>,
) -> Result<Vec<String>, Error> {
    check(root, &shape::BASIC, false)?;
    let mut rendered = Vec::new();
    for meta in entries(root, limits)? {
        if meta.schema != BUNDLE {
            rendered.push(meta.to_json());
            continue;
        }
        let value = meta.value();
        let image = text(value, "image");
        if image.is_empty() {
            return Err(Error::NoImage(meta.name));
        }
        let has_more = !meta.package.is_empty()
            || items(value, "properties").next().is_some()
            || items(value, "relatedImages").next().is_some();
        if has_more {
            return Err(Error::BundleFields(meta.name));
        }
        rendered.push(render(&image)?.json);
    }
    Ok(rendered)
}
