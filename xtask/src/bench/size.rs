//! `cargo xtask bench size`: the sizes of what is shipped.

use std::fs;

use super::{
    Report,
    goal::{Bound, Goal},
};
use crate::{command::Error, dist, image};

/// The goal for the size of the image of the unpacker, in bytes.
const IMAGE_GOAL: u64 = 1_750_000;

pub(super) fn run() -> Result<Report, Error> {
    let program = dist::build()?.program;
    let program = fs::metadata(&program).map_err(Error::file(&program))?.len();
    let [unpacker, opm] = image::sizes()?;
    let text = include_str!("note/size.md.in")
        .replace("{budget}", &thousands(dist::BUDGET))
        .replace("{program}", &thousands(program))
        .replace("{unpacker}", &thousands(unpacker))
        .replace("{opm}", &thousands(opm));
    let goal = |what: &str, size, most| {
        let [measured, most] = [size, most].map(megabytes);
        Goal { what: what.into(), measured, unit: " MB".into(), bound: Bound::AtMost(most) }
    };
    let goals = vec![
        goal("static unpacker", program, dist::BUDGET),
        goal("its image to pull", unpacker, IMAGE_GOAL),
    ];
    Ok(Report { goals, text })
}

#[expect(clippy::cast_precision_loss, reason = "fewer bytes than 2^52")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Returns the number with a comma between thousands.
fn thousands(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", thousands(number / 1_000), number % 1_000),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn thousands_are_separated() {
        for (number, expected) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (1_020_003, "1,020,003")]
        {
            assert_eq!(super::thousands(number), expected);
        }
    }
}
