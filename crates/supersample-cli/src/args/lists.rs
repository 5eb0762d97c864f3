//! Lists as typed after a flag: the names of columns, `mu,tau,theta[1,2]`, and quotas, `a=10,b=20`.

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

/// Quotas as typed: `a=10,b=20`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QuotaList(pub(crate) Vec<(String, usize)>);

impl FromStr for QuotaList {
    type Err = String;

    fn from_str(text: &str) -> Result<QuotaList, String> {
        let mut quotas: Vec<(String, usize)> = Vec::new();
        for word in text.parse::<NameList>().map_err(str::to_string)?.0 {
            let quota = word.rsplit_once('=').and_then(|(name, number)| {
                Some((name.trim().to_string(), number.trim().parse::<usize>().ok()?))
            });
            let Some((name, number)) = quota else {
                return Err(format!("'{word}' is not a quota; write a=10,b=20"));
            };
            if quotas.iter().any(|(other, _)| *other == name) {
                return Err(format!("'{name}' has two quotas; give it one"));
            }
            quotas.push((name, number));
        }
        Ok(QuotaList(quotas))
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
    #[test]
    fn quotas_are_a_name_and_a_number_each() {
        let quotas = |text: &str| text.parse::<QuotaList>().map(|list| list.0);
        let pair = |name: &str, number| (name.to_string(), number);
        assert_eq!(quotas("a=10, b = 0").unwrap(), [pair("a", 10), pair("b", 0)]);
        assert_eq!(quotas("\"a,b\"=1,x=y=2").unwrap(), [pair("a,b", 1), pair("x=y", 2)]);
        for bad in ["", "a", "a=", "a=-1", "a=1,a=2"] {
            assert!(quotas(bad).is_err(), "{bad}");
        }
    }
}
