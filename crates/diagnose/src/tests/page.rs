use std::collections::BTreeMap;

use crate::Reason;

const PAGE: &str = include_str!("../../../../docs/reference/exit-codes.md");

/// Returns the rows of the table of launches: the reason, its exit code and whether another launch
/// helps.
fn rows() -> BTreeMap<String, (u8, String)> {
    let (_, launches) = PAGE.split_once("## `unlade launch`").unwrap();
    let rows = launches.lines().filter_map(|line| {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let [_, code, reason, _, helps, _] = cells[..] else { return None };
        let reason = reason.strip_prefix('`')?.strip_suffix('`')?;
        Some((reason.to_owned(), (code.parse().ok()?, helps.to_owned())))
    });
    rows.collect()
}

#[test]
fn every_reason_is_documented_with_its_exit_code_and_nothing_else_is() {
    let name = |reason: Reason| serde_json::to_value(reason).unwrap().as_str().unwrap().to_owned();
    let documented = rows().into_iter().map(|(reason, (code, _))| (reason, code));
    let ours = Reason::ALL.into_iter().map(|reason| (name(reason), reason.exit_code()));
    assert_eq!(documented.collect::<BTreeMap<_, _>>(), ours.collect());
}

#[test]
fn the_page_and_the_reasons_agree_on_whether_another_launch_helps() {
    for reason in Reason::ALL {
        let name = serde_json::to_value(reason).unwrap();
        let (_, helps) = &rows()[name.as_str().unwrap()];
        let is_as_promised = match helps.split([' ', ':']).next() {
            Some("yes") => reason.is_transient(),
            Some("no" | "when") => !reason.is_transient(),
            Some("perhaps") => true,
            _ => false,
        };
        assert!(is_as_promised, "{name}: {helps}");
    }
}

#[test]
fn the_name_of_a_reason_is_its_json_with_a_capital_letter() {
    for reason in Reason::ALL {
        let json = serde_json::to_value(reason).unwrap();
        let (first, rest) = json.as_str().unwrap().split_at(1);
        assert_eq!(reason.name(), first.to_uppercase() + rest);
    }
}
