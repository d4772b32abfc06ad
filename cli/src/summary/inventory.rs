//! The table of `unlade get`.

use unlade_launcher::inventory::Item;

use crate::{
    age,
    screen::Screen,
    table::{Align, Table},
};

/// Formats one row for each ConfigMap. As in kubectl, nothing is cut, so that users can copy names.
pub(crate) fn format_inventory(
    items: &[Item],
    has_namespaces: bool,
    is_wide: bool,
    has_no_headers: bool,
    screen: &Screen,
) -> String {
    let mut table = Table::new([
        ("NAMESPACE", Align::Left),
        ("NAME", Align::Left),
        ("PACKAGE", Align::Left),
        ("STATUS", Align::Left),
        ("FILES", Align::Left),
        ("AGE", Align::Left),
        ("IMAGE", Align::Left),
        ("DIGEST", Align::Left),
        ("JOB", Align::Left),
    ]);
    for item in items {
        let files = item.files.unwrap_or_default().to_string();
        table.push([
            &item.namespace,
            &item.name,
            or_none(item.package.as_deref()),
            &item.status(),
            &files,
            &age::since(item.created.as_ref()),
            or_none(item.image.as_deref()),
            or_none(item.image_digest.as_deref()),
            or_none(item.job()),
        ]);
    }
    if !has_namespaces {
        table.hide("NAMESPACE");
    }
    if !is_wide {
        for column in ["IMAGE", "DIGEST", "JOB"] {
            table.hide(column);
        }
    }
    if has_no_headers {
        table.hide_names();
    }
    let mut text = String::new();
    table.write(&mut text, None, &screen.out);
    text
}

/// Returns `text`, or `<none>` as in kubectl.
pub(super) fn or_none(text: Option<&str>) -> &str {
    text.filter(|text| !text.is_empty()).unwrap_or("<none>")
}
