//! The mark [`FINDINGS`]: the findings of the reader of a bundle.
//!
//! The loader repeats the findings about the files in the ConfigMap. Without this mark, a user of
//! the ConfigMap would never learn what was dropped before, such as a reserved annotation.

use std::collections::BTreeMap;

use super::FINDINGS;
use unlade_bundle::{
    annotation,
    finding::{self, Finding, Findings, Reason},
};
use unlade_text::excerpt;

/// The maximum number of findings in the mark; the others are counted.
const MAX_FINDINGS: usize = 100;
/// The maximum size of the mark in bytes: a sixteenth of what Kubernetes allows for all
/// annotations.
const SIZE: usize = 16 << 10;
/// The maximum size in bytes of the entry that counts the others.
const REST: usize = 128;

/// Adds the mark to `annotations`, with as many findings as fit. The annotations never become too
/// large.
pub(crate) fn write(findings: &[Finding], annotations: &mut BTreeMap<String, String>) {
    let used = annotation::size(annotations) + FINDINGS.len();
    let room = annotation::SIZE.saturating_sub(used).min(SIZE);
    if let Some(text) = to_json(findings, room) {
        annotations.insert(FINDINGS.to_owned(), text);
    }
}

/// Returns the findings in the mark. Anyone who may write the ConfigMap can write it, so the
/// findings are only shown, or refused by a strict caller.
///
/// An unreadable mark becomes a finding itself, because what it said is unknown.
pub(crate) fn read(annotations: &BTreeMap<String, String>) -> Findings {
    let Some(text) = annotations.get(FINDINGS) else { return Findings::default() };
    // The size is checked first, because a list of empty objects takes many times its size in
    // memory.
    let list = (text.len() <= SIZE).then(|| serde_json::from_str::<Vec<Finding>>(text));
    let Some(Ok(list)) = list else {
        let message =
            "the annotation is not a list of findings, so the findings of the unpacker are unknown";
        return vec![Finding::new(Reason::Omitted, FINDINGS, message)].into();
    };
    let is_cut = |Finding { subject, message, .. }: &Finding| {
        subject.len() <= excerpt::SIZE + excerpt::SUFFIX_SIZE
            && message.len() <= excerpt::MESSAGE_SIZE + excerpt::SUFFIX_SIZE
    };
    let cut = |finding: Finding| match finding.omitted {
        0 if is_cut(&finding) => finding,
        0 => Finding::new(finding.reason, finding.subject, finding.message),
        number => Finding::omitted(number),
    };
    list.into_iter().map(cut).collect::<Vec<_>>().into()
}

/// Encodes as many of `findings` as fit into `room` bytes, and the number of the others. Returns
/// `None` without findings, or if not even their number fits.
fn to_json(findings: &[Finding], room: usize) -> Option<String> {
    let number = finding::count(findings);
    if number == 0 {
        return None;
    }
    let mut entries = Vec::new();
    let mut used = "[]".len() + REST;
    for finding in findings.iter().filter(|finding| finding.omitted == 0).take(MAX_FINDINGS) {
        let entry = serde_json::to_string(finding).ok()?;
        used += entry.len() + ",".len();
        if used > room {
            break;
        }
        entries.push(entry);
    }
    if entries.len() < number {
        entries.push(serde_json::to_string(&Finding::omitted(number - entries.len())).ok()?);
    }
    let text = format!("[{}]", entries.join(","));
    (text.len() <= room).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(number: usize, message: &str) -> Vec<Finding> {
        let finding = |at| Finding::new(Reason::ReservedAnnotation, format!("a{at}"), message);
        (0..number).map(finding).collect()
    }

    fn around(findings: &[Finding], annotations: &mut BTreeMap<String, String>) -> Vec<Finding> {
        write(findings, annotations);
        read(annotations).into_vec()
    }

    #[test]
    fn findings_come_back_and_those_without_room_are_counted() {
        let mut none = BTreeMap::new();
        assert_eq!(around(&[], &mut none), []);
        assert!(none.is_empty());

        let few = found(3, "left out");
        assert_eq!(around(&few, &mut BTreeMap::new()), few);

        for (number, message, least) in [(1_000, "short", 100), (90, &*"\u{1}é".repeat(300), 2)] {
            let mut annotations = BTreeMap::new();
            let findings = found(number, message);
            let back = around(&findings, &mut annotations);
            assert!(annotations[FINDINGS].len() <= SIZE);
            assert!(back.len() > least && back.len() <= MAX_FINDINGS + 1, "{}", back.len());
            assert!(back[..least] == findings[..least], "{:?}", back[0]);
            assert_eq!(back[back.len() - 1].omitted, number - (back.len() - 1));
            assert_eq!(finding::count(&back), number);
        }
    }

    #[test]
    fn findings_that_were_omitted_before_are_counted_too() {
        let mut findings = found(2, "left out");
        findings.push(Finding::omitted(5));
        let back = around(&findings, &mut BTreeMap::new());
        assert_eq!(back, findings);
    }

    #[test]
    fn the_mark_takes_no_more_than_the_room_that_is_left() {
        for left in [0, 30, 60, 500, 20_000] {
            let name = "example.com/large";
            let used = name.len() + annotation::SIZE - left - name.len();
            let mut annotations =
                BTreeMap::from([(name.to_owned(), "x".repeat(used - name.len()))]);
            let before = annotation::size(&annotations);
            write(&found(50, "left out"), &mut annotations);
            assert!(annotation::size(&annotations) <= annotation::SIZE, "{left} of {before}");
            assert_eq!(annotations.contains_key(FINDINGS), left >= 500, "{left}");
        }
    }

    #[test]
    fn a_forged_mark_is_text_within_limits() {
        let huge = format!("[{}]", vec!["{}"; 100_000].join(","));
        let long = format!(r#"[{{"reason":"noCsv","message":"{}"}}]"#, "x".repeat(10_000));
        let cases: [(&str, &str); 8] = [
            ("", "not a list"),
            ("{", "not a list"),
            ("{}", "not a list"),
            (r#"[{"message":"no reason"}]"#, "not a list"),
            (r#"[{"reason":"noCsv","omitted":-1}]"#, "not a list"),
            (&huge, "not a list"),
            (&long, "... (10000 bytes)"),
            (r#"[{"reason":"fromTheFuture","message":"new","level":{"a":1}}]"#, "new"),
        ];
        for (text, expected) in cases {
            let annotations = BTreeMap::from([(FINDINGS.to_owned(), text.to_owned())]);
            let [finding] = &read(&annotations).into_vec()[..] else { panic!("{text}") };
            assert!(finding.message.contains(expected), "{text}: {finding}");
        }
        let most = format!(
            r#"[{0},{0},{{"reason":"noCsv"}}]"#,
            r#"{"reason":"omitted","omitted":18446744073709551615}"#
        );
        let annotations = BTreeMap::from([(FINDINGS.to_owned(), most)]);
        assert_eq!(read(&annotations).count(), usize::MAX);
    }
}
