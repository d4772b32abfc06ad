//! The text of `unlade check`, in the format of `linkerd check`.

use std::fmt::Write as _;

use anstyle::Style;
use unlade_launcher::check::{Check, Outcome};
use unlade_text as text;

use super::Summary;
use crate::{remedy, screen::Screen};

/// Formats the checks in their order, with a heading for each category.
pub(crate) fn format_checks(checks: &[Check], screen: &Screen) -> String {
    let mut summary = Summary::new(screen);
    for category in checks.chunk_by(|one, other| one.category == other.category) {
        summary.blank();
        let name = category.first().map_or("", |check| check.category.name());
        summary.heading(name);
        summary.heading(&"-".repeat(name.len()));
        for check in category {
            write(&mut summary.text, check, screen);
        }
    }
    summary.blank();
    let worst = if checks.iter().any(|check| check.outcome == Outcome::Failed) {
        Outcome::Failed
    } else {
        Outcome::Ok
    };
    let (style, mark) = mark(worst, screen);
    _ = writeln!(summary.text, "Status check results are {style}{mark}{style:#}");
    summary.text
}

fn mark(outcome: Outcome, screen: &Screen) -> (Style, char) {
    let palette = &screen.out;
    match outcome {
        Outcome::Ok => (palette.good, '√'),
        Outcome::Warning => (palette.warning, '‼'),
        Outcome::Failed => (palette.error, '×'),
        Outcome::Skipped => (palette.dim, '-'),
    }
}

fn write(text: &mut String, check: &Check, screen: &Screen) {
    let (style, mark) = mark(check.outcome, screen);
    _ = writeln!(text, "{style}{mark}{style:#} {}", text::line(&check.message));
    if let Some(hint) = &remedy::advice(check.hint.as_deref(), &check.remedies) {
        let style = screen.out.dim;
        _ = writeln!(text, "    {style}{}{style:#}", text::line(hint));
    }
}

#[cfg(test)]
mod tests {
    use unlade_launcher::check::Category;

    use super::*;
    use crate::screen::{Color, Palette};

    #[test]
    fn checks_are_grouped_by_category_with_their_hints() {
        let check = |category, outcome, message| Check::new(category, "x", outcome, message);
        let mut missing =
            check(Category::KubernetesApi, Outcome::Failed, "the namespace x does not exist");
        missing.hint = Some("create it".to_owned());
        let checks = [
            check(Category::KubernetesApi, Outcome::Ok, "can reach the API server"),
            missing,
            check(Category::Permissions, Outcome::Warning, "the user may not delete jobs\u{1b}"),
            check(Category::Nodes, Outcome::Skipped, "skipped"),
        ];
        let screen = Screen { out: Palette::default(), ..Screen::new(Color::Never) };
        assert_eq!(
            format_checks(&checks, &screen),
            "kubernetes-api\n\
             --------------\n\
             √ can reach the API server\n\
             × the namespace x does not exist\n    create it\n\
             \n\
             permissions\n\
             -----------\n\
             ‼ the user may not delete jobs\\u{1b}\n\
             \n\
             nodes\n\
             -----\n\
             - skipped\n\
             \n\
             Status check results are ×\n"
        );
        assert!(format_checks(&checks[2..], &screen).ends_with("\nStatus check results are √\n"));
    }
}
