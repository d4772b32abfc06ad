//! `cargo xtask bench size`: the sizes of what is shipped.

use std::fs;

use super::{
    Report,
    goal::{Bound, Goal},
};
use crate::{command::Error, dist, image};

pub(super) fn run() -> Result<Report, Error> {
    let program = dist::build()?.program;
    let program = fs::metadata(&program).map_err(Error::file(&program))?.len();
    let [unpacker, opm] = image::sizes()?;
    let text = include_str!("note/size.md.in")
        .replace("{program}", &thousands(program))
        .replace("{unpacker}", &thousands(unpacker))
        .replace("{opm}", &thousands(opm));
    let goal = |what: &str, size: u64, most| {
        #[expect(clippy::cast_precision_loss, reason = "fewer bytes than 2^52")]
        let measured = size as f64 / 1e6;
        Goal { what: what.into(), measured, unit: " MB".into(), bound: Bound::AtMost(most) }
    };
    let goals =
        vec![goal("static unpacker", program, 3.3), goal("its image to pull", unpacker, 1.75)];
    Ok(Report { goals, text })
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
