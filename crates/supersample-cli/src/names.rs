//! A list of column names as typed after a flag: `mu,tau,theta[1,2]`.

use std::str::FromStr;

/// Names separated by commas. Commas inside brackets or double quotes belong to the name, since samplers call their
/// columns `theta[1,2]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NameList(pub(crate) Vec<String>);

impl FromStr for NameList {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<NameList, Self::Err> {
        let (mut names, mut name) = (Vec::new(), String::new());
        let (mut depth, mut quoted) = (0_u32, false);
        for character in text.chars() {
            match character {
                '"' => {
                    quoted = !quoted;
                    continue;
                }
                ',' if depth == 0 && !quoted => {
                    names.push(std::mem::take(&mut name));
                    continue;
                }
                '[' | '(' if !quoted => depth += 1,
                ']' | ')' if !quoted => depth = depth.saturating_sub(1),
                _ => {}
            }
            name.push(character);
        }
        names.push(name);
        let names: Vec<String> = names.iter().map(|name| name.trim().to_string()).collect();
        if quoted || depth > 0 {
            return Err("a quote or bracket is not closed");
        }
        if names.iter().any(String::is_empty) {
            return Err("a name is empty; write the names with one comma between them");
        }
        Ok(NameList(names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_split_except_in_brackets_and_quotes() {
        let names = |text: &str| text.parse::<NameList>().map(|list| list.0);
        assert_eq!(names("mu").unwrap(), ["mu"]);
        assert_eq!(names("mu, theta[1,2],\"a,b\",f(x,y)").unwrap(), ["mu", "theta[1,2]", "a,b", "f(x,y)"]);
        assert!(names("mu,,tau").is_err());
        assert!(names("").is_err());
        assert!(names("theta[1,2").is_err());
        assert!(names("\"mu").is_err());
    }
}
