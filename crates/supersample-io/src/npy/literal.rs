//! Literals of Python, as far as the headers of NumPy arrays have them, read as JSON.

use serde_json::Value;

/// What Python writes in a header, with lists for tuples; `None` for anything else.
pub(super) fn parse(text: &str) -> Option<Value> {
    let (mut json, mut characters) = (String::new(), text.chars());
    while let Some(character) = characters.next() {
        match character {
            '\'' | '"' => {
                let mut word = String::new();
                loop {
                    match characters.next()? {
                        '\\' => word.push(characters.next()?),
                        end if end == character => break,
                        other => word.push(other),
                    }
                }
                json += &Value::from(word).to_string();
            }
            // Python 2 wrote 3L.
            'L' => {}
            '(' => json.push('['),
            ')' | ']' | '}' => {
                // A comma may stand before the end.
                json.truncate(json.trim_end_matches(',').len());
                json.push(if character == '}' { '}' } else { ']' });
            }
            // True and False have no capitals in JSON.
            other if !other.is_whitespace() => json.push(other.to_ascii_lowercase()),
            _ => {}
        }
    }
    serde_json::from_str(&json).ok()
}

/// A tuple of whole numbers, or one of them.
pub(super) fn numbers(value: &Value) -> Option<Vec<usize>> {
    let number = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
    match value {
        Value::Array(items) => items.iter().map(number).collect(),
        value => number(value).map(|number| vec![number]),
    }
}

/// A type as Python writes it: text, or a list of tuples.
pub(super) fn written(value: &Value, is_tuple: bool) -> String {
    match value {
        Value::Array(items) => {
            let is_tuple = is_tuple || !items.iter().all(Value::is_array);
            let parts: Vec<String> = items.iter().map(|item| written(item, !is_tuple)).collect();
            match (is_tuple, parts.len()) {
                (false, _) => format!("[{}]", parts.join(", ")),
                (true, 1) => format!("({},)", parts[0]),
                (true, _) => format!("({})", parts.join(", ")),
            }
        }
        Value::String(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
        other => other.to_string(),
    }
}
