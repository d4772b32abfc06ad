//! Formats numbers as Go does.

/// Formats a float for JSON, as `floatEncoder` of `encoding/json` does: with the shortest digits
/// that read back, and with an exponent below 1e-6 and from 1e21.
pub(crate) fn float_text(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && (!(1e-6..1e21).contains(&size)) {
        let text = format!("{value:e}");
        if text.contains("e-") { text } else { text.replacen('e', "e+", 1) }
    } else {
        format!("{value}")
    }
}

/// Formats a float as the key of a mapping, as sigs.k8s.io/yaml does: as [`string_text`], but with
/// the names of special values in YAML.
pub(crate) fn key_text(value: f64) -> String {
    match string_text(value).as_str() {
        "NaN" => ".nan".to_owned(),
        "+Inf" => ".inf".to_owned(),
        "-Inf" => "-.inf".to_owned(),
        text => text.to_owned(),
    }
}

/// Formats a float as the value of a string field, as sigs.k8s.io/yaml does: with Go's
/// `strconv.FormatFloat(f, 'g', -1, 32)`.
pub fn string_text(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "upstream formats texts with 32 bits")]
    let value = value as f32;
    match value {
        f32::INFINITY => "+Inf".to_owned(),
        f32::NEG_INFINITY => "-Inf".to_owned(),
        _ => general(value.to_string(), &format!("{value:e}")),
    }
}

/// Formats a float as go-yaml does: with `strconv.FormatFloat(f, 'g', -1, 64)`.
pub fn general_text(value: f64) -> String {
    general(value.to_string(), &format!("{value:e}"))
}

/// Chooses the decimal or the scientific form of a number, as Go's `'g'` with precision -1.
fn general(decimal: String, scientific: &str) -> String {
    let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    match exponent.parse().unwrap_or(0) {
        -4..6 => decimal,
        exponent => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", i32::abs(exponent))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_go_does() {
        for (value, text) in [
            (1.0, "1"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (0.000_001, "0.000001"),
            (0.000_000_1, "1e-7"),
            (1.234_567_890_123_456_9e23, "1.2345678901234569e+23"),
            (18_446_744_073_709_551_615.0, "18446744073709552000"),
        ] {
            assert_eq!(float_text(value), text);
        }
    }

    #[test]
    fn float_keys_have_32_bits() {
        for (value, text) in [
            (1.5, "1.5"),
            (1.0, "1"),
            (100_000.0, "100000"),
            (1_000_000.0, "1e+06"),
            (16_777_217.0, "1.6777216e+07"),
            (0.1, "0.1"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (1e300, ".inf"),
            (f64::NAN, ".nan"),
            (-0.0, "-0"),
        ] {
            assert_eq!(key_text(value), text);
        }
        for (value, text) in [(1e7, "1e+07"), (1e300, "+Inf"), (-1e300, "-Inf"), (f64::NAN, "NaN")]
        {
            assert_eq!(string_text(value), text);
        }
    }
}
