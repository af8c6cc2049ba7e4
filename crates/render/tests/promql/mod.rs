//! A reader of the part of PromQL that is rendered: no more than its grammar and what a function takes. The whole
//! language is Prometheus's own parser's, against which the system tests hold the same expressions.

/// What an expression is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Scalar,
    Vector,
    Range,
    Text,
}

/// An expression that was read.
#[derive(Debug, Default)]
pub(crate) struct Expression {
    /// The metrics that it names.
    pub(crate) metrics: Vec<String>,
    tokens: Vec<String>,
    at: usize,
}

/// Functions and aggregations, with what they take.
const FUNCTIONS: [(&str, &[Kind]); 8] = [
    ("rate", &[Kind::Range]),
    ("vector", &[Kind::Scalar]),
    ("label_replace", &[Kind::Vector, Kind::Text, Kind::Text, Kind::Text, Kind::Text]),
    ("sum", &[Kind::Vector]),
    ("count", &[Kind::Vector]),
    ("min", &[Kind::Vector]),
    ("max", &[Kind::Vector]),
    ("topk", &[Kind::Scalar, Kind::Vector]),
];

/// Operators by how tightly they bind.
const OPERATORS: [&[&str]; 5] =
    [&["or"], &["and", "unless"], &["==", "!=", ">=", "<=", ">", "<"], &["+", "-"], &["*", "/"]];

type Read<T> = Result<T, String>;

impl Expression {
    /// Reads an expression that is a vector.
    pub(crate) fn read(text: &str) -> Read<Expression> {
        let mut expression = Expression { tokens: tokens(text)?, ..Expression::default() };
        let kind = expression.binary(0)?;
        match expression.tokens.get(expression.at) {
            Some(token) => Err(format!("{token} after the end")),
            None if kind != Kind::Vector => Err(format!("{kind:?}")),
            None => Ok(expression),
        }
    }

    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn next(&mut self) -> String {
        self.at += 1;
        self.tokens.get(self.at - 1).cloned().unwrap_or_default()
    }

    fn expect(&mut self, token: &str) -> Read<()> {
        let next = self.next();
        if next == token { Ok(()) } else { Err(format!("{next:?} in the place of {token:?}")) }
    }

    fn binary(&mut self, level: usize) -> Read<Kind> {
        let Some(operators) = OPERATORS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while operators.contains(&self.peek()) {
            let operator = self.next();
            let is_set = level < 2;
            if self.peek() == "on" {
                self.next();
                self.labels()?;
            }
            let right = self.binary(level + 1)?;
            let kinds = [left, right];
            if kinds.contains(&Kind::Range) || kinds.contains(&Kind::Text) || (is_set && kinds.contains(&Kind::Scalar))
            {
                return Err(format!("{kinds:?} beside {operator}"));
            }
            if level == 2 && kinds == [Kind::Scalar; 2] {
                return Err("numbers are compared by bool alone".to_owned());
            }
            left = if kinds.contains(&Kind::Vector) { Kind::Vector } else { Kind::Scalar };
        }
        Ok(left)
    }

    fn labels(&mut self) -> Read<()> {
        self.expect("(")?;
        while self.peek() != ")" {
            let label = self.next();
            if !is_name(&label) {
                return Err(format!("label {label:?}"));
            }
            if self.peek() == "," {
                self.next();
            }
        }
        self.expect(")")
    }

    fn unary(&mut self) -> Read<Kind> {
        let token = self.next();
        if token == "(" {
            let kind = self.binary(0)?;
            self.expect(")")?;
            return Ok(kind);
        }
        if token.starts_with('"') {
            return Ok(Kind::Text);
        }
        if token.parse::<f64>().is_ok() {
            return Ok(Kind::Scalar);
        }
        if !is_name(&token) {
            return Err(format!("{token:?}"));
        }
        if let Some((_, takes)) = FUNCTIONS.iter().find(|(name, _)| *name == token) {
            return self.call(&token, takes);
        }
        self.metrics.push(token);
        if self.peek() == "{" {
            self.matchers()?;
        }
        if self.peek() != "[" {
            return Ok(Kind::Vector);
        }
        self.next();
        let time = self.next();
        let digits = time.trim_end_matches(['s', 'm', 'h']);
        if digits.len() + 1 != time.len() || digits.parse::<u32>().is_err() {
            return Err(format!("time {time:?}"));
        }
        self.expect("]")?;
        Ok(Kind::Range)
    }

    fn call(&mut self, name: &str, takes: &[Kind]) -> Read<Kind> {
        if ["by", "without"].contains(&self.peek()) {
            self.next();
            self.labels()?;
        }
        self.expect("(")?;
        for (i, takes) in takes.iter().enumerate() {
            if i > 0 {
                self.expect(",")?;
            }
            let kind = self.binary(0)?;
            if kind != *takes {
                return Err(format!("{kind:?} in {name}"));
            }
        }
        self.expect(")")?;
        Ok(Kind::Vector)
    }

    fn matchers(&mut self) -> Read<()> {
        self.expect("{")?;
        while self.peek() != "}" {
            let (label, operator, value) = (self.next(), self.next(), self.next());
            if !is_name(&label) || !["=", "!=", "=~", "!~"].contains(&operator.as_str()) || !value.starts_with('"') {
                return Err(format!("matcher {label}{operator}{value}"));
            }
            if self.peek() == "," {
                self.next();
            }
        }
        self.expect("}")
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b':')
}

fn tokens(text: &str) -> Read<Vec<String>> {
    let (mut all, mut rest) = (Vec::new(), text.trim_start());
    while let Some(first) = rest.chars().next() {
        let two = rest.get(..2).unwrap_or_default();
        let length = if first == '"' {
            let end = rest[1..].find('"').ok_or("a text without an end")?;
            // Escapes are not rendered.
            if rest[1..=end].contains('\\') {
                return Err("an escape".to_owned());
            }
            end + 2
        } else if ["==", "!=", ">=", "<=", "=~", "!~"].contains(&two) {
            2
        } else if first.is_ascii_alphanumeric() || first == '_' {
            let is_in = |c: char| c.is_ascii_alphanumeric() || "_:.".contains(c);
            rest.find(|c: char| !is_in(c)).unwrap_or(rest.len())
        } else if "(){}[],+-*/<>=".contains(first) {
            1
        } else {
            return Err(format!("{first:?}"));
        };
        all.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    Ok(all)
}

#[test]
fn what_is_no_expression_is_told() {
    for good in
        ["up", "sum by (a) (rate(x{b=\"c\"}[2m])) / 2 > 0.5 and on () y", "topk(3, a:b:c)", "(a or vector(0)) < 8"]
    {
        assert!(Expression::read(good).is_ok(), "{good}: {:?}", Expression::read(good));
    }
    for bad in [
        "",
        "rate(x)",
        "rate(x[2m]",
        "sum(x[2m])",
        "x{a=b}",
        "x{a=\"b}",
        "x and 1",
        "1 > 2",
        "1",
        "x[2q]",
        "topk(x)",
        "x y",
        "x +",
        "label_replace(x, \"a\")",
        "sum by a (x)",
        "x ! y",
        "\"a\"",
    ] {
        assert!(Expression::read(bad).is_err(), "{bad}");
    }
}
