//! Literals of Python, as far as the headers of NumPy arrays have them.

/// Types within types are no deeper; a forged header could nest without end.
pub(super) const DEEPEST_TYPE: usize = 8;

/// What Python writes in a header: text in quotes, whole numbers, words, and brackets of any kind around more.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Text(String),
    Number(usize),
    Word(String),
    List(Vec<Literal>),
    Pairs(Vec<(String, Literal)>),
}

impl Literal {
    pub(super) fn parse(text: &str) -> Option<Literal> {
        let mut rest = text.trim();
        let value = Literal::take(&mut rest, 0)?;
        rest.trim().is_empty().then_some(value)
    }

    fn take(rest: &mut &str, depth: usize) -> Option<Literal> {
        *rest = rest.trim_start();
        let first = rest.chars().next().filter(|_| depth <= 2 * DEEPEST_TYPE + 2)?;
        match first {
            '\'' | '"' => {
                let mut text = String::new();
                let mut characters = rest.char_indices().skip(1);
                loop {
                    match characters.next()? {
                        (_, '\\') => text.push(characters.next()?.1),
                        (at, end) if end == first => {
                            *rest = &rest[at + 1..];
                            return Some(Literal::Text(text));
                        }
                        (_, other) => text.push(other),
                    }
                }
            }
            '[' | '(' | '{' => {
                let close = match first {
                    '[' => ']',
                    '(' => ')',
                    _ => '}',
                };
                *rest = &rest[1..];
                let (mut items, mut pairs) = (Vec::new(), Vec::new());
                loop {
                    *rest = rest.trim_start();
                    if let Some(after) = rest.strip_prefix(close) {
                        *rest = after;
                        return Some(if first == '{' { Literal::Pairs(pairs) } else { Literal::List(items) });
                    }
                    let item = Literal::take(rest, depth + 1)?;
                    *rest = rest.trim_start();
                    if first == '{' {
                        let Literal::Text(key) = item else { return None };
                        *rest = rest.strip_prefix(':')?;
                        pairs.push((key, Literal::take(rest, depth + 1)?));
                        *rest = rest.trim_start();
                    } else {
                        items.push(item);
                    }
                    match rest.strip_prefix(',') {
                        Some(after) => *rest = after,
                        None if rest.starts_with(close) => {}
                        None => return None,
                    }
                }
            }
            _ => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
                let (word, after) = rest.split_at(end);
                *rest = after;
                match word.parse() {
                    Ok(number) => Some(Literal::Number(number)),
                    // Python 2 wrote 3L.
                    Err(_) => match word.strip_suffix('L').and_then(|word| word.parse().ok()) {
                        Some(number) => Some(Literal::Number(number)),
                        None => (!word.is_empty()).then(|| Literal::Word(word.to_string())),
                    },
                }
            }
        }
    }

    /// A tuple of whole numbers, or one of them.
    pub(super) fn numbers(&self) -> Option<Vec<usize>> {
        match self {
            Literal::Number(number) => Some(vec![*number]),
            Literal::List(items) => {
                let number = |item: &Literal| if let Literal::Number(n) = item { Some(*n) } else { None };
                items.iter().map(number).collect()
            }
            _ => None,
        }
    }

    /// As Python writes it: a list of tuples is the only nesting a type has.
    pub(super) fn written(&self) -> String {
        fn inner(value: &Literal, is_list: bool) -> String {
            match value {
                Literal::Text(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
                Literal::Number(number) => number.to_string(),
                Literal::Word(word) => word.clone(),
                Literal::Pairs(_) => String::new(),
                Literal::List(items) => {
                    // Within a tuple what holds tuples is a list; within a list, or where numbers stand, it is a tuple.
                    let is_list = is_list && items.iter().all(|item| matches!(item, Literal::List(_)));
                    let parts: Vec<String> = items.iter().map(|item| inner(item, !is_list)).collect();
                    let comma = if !is_list && parts.len() == 1 { "," } else { "" };
                    let parts = parts.join(", ") + comma;
                    if is_list { format!("[{parts}]") } else { format!("({parts})") }
                }
            }
        }
        inner(self, true)
    }
}
