//! Reads the text behind WHERE.
//!
//! ```text
//!   filter   = all { OR all }
//!   all      = one { AND one }
//!   one      = { NOT } ( "(" filter ")" | test )
//!   test     = column ( = | != | <> | < | <= | > | >= ) literal          either way round
//!            | column [NOT] IN "(" literal { , literal } ")"
//!            | column [NOT] BETWEEN literal AND literal
//!            | column [NOT] LIKE 'prefix%'                               \ before a true % or _
//!            | column IS [NOT] ( NULL | NAN )
//!            | is_nan "(" column ")"  | starts_with "(" column , literal ")"
//!            | cast "(" column AS date ")" compared with a date          becomes a range
//!            | column                                                    of type boolean
//!   literal  = 42 | -14.20 | 3e9 | 'text' | X'00ff' | true | false
//!            | date '2026-08-01' | time '10:00:00' | timestamp '2026-08-01 10:00:00+00:00'
//!   column   = name { . name }                                           "quoted", `quoted` or plain
//! ```
//!
//! A cast to date in front of a comparison asks for a range, not for a midnight:
//!
//! ```text
//!   cast(ts AS date) = '2026-08-01'    ts >= date '2026-08-01' AND ts < date '2026-08-02'
//! ```
//!
//! What no bound can answer (a function of a column, arithmetic, two columns, a LIKE with a wildcard
//! inside) is refused with its place. The words come from `sqlparser`; the grammar is our own, since a
//! tree that holds ten thousand ORs one inside another, as a general SQL tree does, cannot even be freed
//! without a stack as deep. Here a chain of ORs is a list, and only parentheses count as depth.
//!
//! The specification has no text for filters; this is SQL's.

use crate::filter::Op;
use crate::filter_bind::Predicate;
use crate::filter_words::{Words, is_literal};
use crate::literal::Literal;
use crate::{Result, iso};
use sqlparser::tokenizer::Token;

/// How many parentheses may be open at once.
pub const MAX_PARENTHESES: usize = 100;

/// Reads a filter.
///
/// # Errors
/// [`crate::Error::Invalid`] with the line and the column for what is no filter; [`crate::Error::Unsupported`] for what
/// is SQL, and no question to bounds.
pub fn parse(text: &str) -> Result<Predicate> {
    let mut words = Words::cut(text)?;
    let predicate = words.filter()?;
    match words.peek() {
        Token::EOF => Ok(predicate),
        _ => Err(words.expected("AND, OR or the end")),
    }
}

/// What stands on one side of a comparison.
enum Operand {
    Column(Vec<String>),
    DateOf(Vec<String>),
    Literal(Literal),
}

#[derive(Clone, Copy, PartialEq)]
enum Comparison {
    Lt,
    LtEq,
    Gt,
    GtEq,
    Eq,
    NotEq,
}

impl Words {
    fn filter(&mut self) -> Result<Predicate> {
        let mut parts = vec![self.all()?];
        while self.word("OR") {
            parts.push(self.all()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Predicate::Or(parts) })
    }

    fn all(&mut self) -> Result<Predicate> {
        let mut parts = vec![self.one()?];
        while self.word("AND") {
            parts.push(self.one()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Predicate::And(parts) })
    }

    fn one(&mut self) -> Result<Predicate> {
        let mut negated = false;
        while self.word("NOT") {
            negated = !negated;
        }
        let inner = if self.take(&Token::LParen) {
            self.open += 1;
            if self.open > MAX_PARENTHESES {
                return Err(
                    self.unsupported("more than 100 open parentheses", "flatten the filter")
                );
            }
            let inner = self.filter()?;
            self.need(&Token::RParen, "AND, OR or )")?;
            self.open -= 1;
            inner
        } else {
            self.test()?
        };
        Ok(if negated { !inner } else { inner })
    }

    fn test(&mut self) -> Result<Predicate> {
        if let Some(test) = self.function_test()? {
            return Ok(test);
        }
        let left = self.operand()?;
        let place = self.next;
        let negated = self.word("NOT");
        let positive = match &left {
            _ if self.word("IN") => self.members(left)?,
            _ if self.word("BETWEEN") => {
                let low = self.literal()?;
                if !self.word("AND") {
                    return Err(self.expected("the AND of BETWEEN"));
                }
                let high = self.literal()?;
                let low = self.compare(&left, Comparison::GtEq, low)?;
                low.and(self.compare(&left, Comparison::LtEq, high)?)
            }
            Operand::Column(path) if self.word("LIKE") => self.like(path.clone())?,
            _ if negated => return Err(self.expected("IN, BETWEEN or LIKE after NOT")),
            Operand::Column(path) if self.word("IS") => self.is(path.clone())?,
            _ => match self.comparison() {
                Some(comparison) => self.compared(left, comparison)?,
                None => self.alone(left, place)?,
            },
        };
        Ok(match positive {
            positive if !negated => positive,
            // A single test has an opposite of its own.
            Predicate::Test(path, op) => Predicate::Test(path, op.negate()),
            positive => !positive,
        })
    }

    /// `is_nan(x)` and `starts_with(x, 'a')`.
    fn function_test(&mut self) -> Result<Option<Predicate>> {
        if self.call(&["IS_NAN", "ISNAN"]) {
            let path = self.path()?;
            self.need(&Token::RParen, ")")?;
            return Ok(Some(Predicate::Test(path, Op::IsNan)));
        }
        if self.call(&["STARTS_WITH", "STARTSWITH"]) {
            let path = self.path()?;
            self.need(&Token::Comma, ",")?;
            let prefix = self.literal()?;
            self.need(&Token::RParen, ")")?;
            return Ok(Some(Predicate::Test(path, Op::StartsWith(prefix))));
        }
        Ok(None)
    }

    fn operand(&mut self) -> Result<Operand> {
        if self.call(&["CAST"]) {
            let path = self.path()?;
            if !(self.word("AS") && self.word("DATE") && self.take(&Token::RParen)) {
                return Err(self.unsupported("a cast", "only cast(column AS date) is a range"));
            }
            return Ok(Operand::DateOf(path));
        }
        match self.peek() {
            Token::Word(word) if !is_literal(word, self.peek_at(1)) => {
                if word.quote_style.is_none() && *self.peek_at(1) == Token::LParen {
                    let what = format!("the function {}", word.value);
                    let why = "bounds know a column, not what is computed from it; compare the \
                               column itself";
                    return Err(self.unsupported(&what, why));
                }
                Ok(Operand::Column(self.path()?))
            }
            _ => Ok(Operand::Literal(self.literal()?)),
        }
    }

    fn compared(&mut self, left: Operand, comparison: Comparison) -> Result<Predicate> {
        let place = self.next;
        match (left, self.operand()?) {
            (Operand::Literal(_), Operand::Literal(_)) => {
                Err(self.unsupported("comparing two literals", "name a column on one side"))
            }
            (Operand::Literal(literal), column) => {
                self.next_is_no_operator()?;
                self.compare(&column, comparison.flip(), literal)
            }
            (column, Operand::Literal(literal)) => {
                self.next_is_no_operator()?;
                self.compare(&column, comparison, literal)
            }
            _ => {
                self.next = place;
                Err(self.unsupported("comparing two columns", "bounds know one column at a time"))
            }
        }
    }

    fn compare(
        &self,
        left: &Operand,
        comparison: Comparison,
        literal: Literal,
    ) -> Result<Predicate> {
        match left {
            Operand::Column(path) => Ok(Predicate::Test(path.clone(), comparison.op(literal))),
            Operand::DateOf(path) => {
                let day = match literal {
                    Literal::Date(day) => Some(day),
                    Literal::Text(text) => iso::parse_date(&text),
                    _ => None,
                };
                match day.and_then(|day| Some((day, day.checked_add(1)?))) {
                    Some((day, next)) => Ok(on_day(path, comparison, day, next)),
                    None => Err(self.unsupported("a cast to date", "compare it with a date")),
                }
            }
            Operand::Literal(_) => Err(self.expected("a column before it")),
        }
    }

    fn members(&mut self, left: Operand) -> Result<Predicate> {
        self.need(&Token::LParen, "(")?;
        let mut literals = Vec::new();
        while !self.take(&Token::RParen) {
            if !literals.is_empty() {
                self.need(&Token::Comma, ", or )")?;
            }
            literals.push(self.literal()?);
        }
        if let Operand::Column(path) = left {
            return Ok(Predicate::Test(path, Op::In(literals)));
        }
        let days = literals.into_iter().map(|day| self.compare(&left, Comparison::Eq, day));
        Ok(Predicate::Or(days.collect::<Result<_>>()?))
    }

    fn is(&mut self, path: Vec<String>) -> Result<Predicate> {
        let negated = self.word("NOT");
        let op = match () {
            () if self.word("NULL") => Op::IsNull,
            () if self.word("NAN") => Op::IsNan,
            () => return Err(self.expected("NULL or NAN")),
        };
        Ok(Predicate::Test(path, if negated { op.negate() } else { op }))
    }

    fn like(&mut self, path: Vec<String>) -> Result<Predicate> {
        let Token::SingleQuotedString(pattern) = self.peek().clone() else {
            return Err(self.expected("a pattern in quotes"));
        };
        let refuse = |words: &Words| {
            let why = "only a beginning can be asked of bounds: 'abc%'";
            words.unsupported(&format!("the pattern {}", Literal::Text(pattern.clone())), why)
        };
        let (mut prefix, mut open) = (String::new(), false);
        let mut letters = pattern.chars();
        while let Some(letter) = letters.next() {
            match letter {
                _ if open => return Err(refuse(self)),
                '%' => open = true,
                '_' => return Err(refuse(self)),
                '\\' => prefix.push(letters.next().ok_or_else(|| refuse(self))?),
                letter => prefix.push(letter),
            }
        }
        self.next += 1;
        if self.word("ESCAPE") {
            self.next -= 1;
            return Err(self.unsupported("ESCAPE", "the escape character is \\"));
        }
        let prefix = Literal::Text(prefix);
        Ok(Predicate::Test(path, if open { Op::StartsWith(prefix) } else { Op::Eq(prefix) }))
    }

    /// An operand that nothing follows.
    fn alone(&mut self, left: Operand, place: usize) -> Result<Predicate> {
        self.next = place;
        self.next_is_no_operator()?;
        match left {
            Operand::Literal(Literal::Boolean(true)) => Ok(Predicate::True),
            Operand::Literal(Literal::Boolean(false)) => Ok(Predicate::False),
            Operand::Column(path) => Ok(Predicate::Test(path, Op::Eq(Literal::Boolean(true)))),
            _ => Err(self.expected("a comparison, IN, BETWEEN, LIKE or IS")),
        }
    }

    fn next_is_no_operator(&self) -> Result<()> {
        use Token::{DoubleColon, LBracket, Minus, Mod, Mul, Plus, StringConcat};
        match self.peek() {
            Plus | Minus | Mul | Token::Div | Mod | StringConcat | DoubleColon | LBracket => {
                Err(self.unsupported("an expression", "compare a column with a literal"))
            }
            _ => Ok(()),
        }
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let comparison = match self.peek() {
            Token::Eq | Token::DoubleEq => Comparison::Eq,
            Token::Neq => Comparison::NotEq,
            Token::Lt => Comparison::Lt,
            Token::LtEq => Comparison::LtEq,
            Token::Gt => Comparison::Gt,
            Token::GtEq => Comparison::GtEq,
            _ => return None,
        };
        self.next += 1;
        Some(comparison)
    }
}

impl Comparison {
    /// `5 < x` is `x > 5`.
    fn flip(self) -> Comparison {
        match self {
            Comparison::Lt => Comparison::Gt,
            Comparison::LtEq => Comparison::GtEq,
            Comparison::Gt => Comparison::Lt,
            Comparison::GtEq => Comparison::LtEq,
            same => same,
        }
    }

    fn op(self, literal: Literal) -> Op<Literal, Vec<Literal>> {
        match self {
            Comparison::Lt => Op::Lt(literal),
            Comparison::LtEq => Op::LtEq(literal),
            Comparison::Gt => Op::Gt(literal),
            Comparison::GtEq => Op::GtEq(literal),
            Comparison::Eq => Op::Eq(literal),
            Comparison::NotEq => Op::NotEq(literal),
        }
    }
}

/// The moments whose day compares so with `day`; `next` is the day after.
fn on_day(path: &[String], comparison: Comparison, day: i32, next: i32) -> Predicate {
    let from = |day| Predicate::Test(path.to_vec(), Op::GtEq(Literal::Date(day)));
    let before = |day| Predicate::Test(path.to_vec(), Op::Lt(Literal::Date(day)));
    match comparison {
        Comparison::Eq => from(day).and(before(next)),
        Comparison::NotEq => before(day).or(from(next)),
        Comparison::Lt => before(day),
        Comparison::LtEq => before(next),
        Comparison::Gt => from(next),
        Comparison::GtEq => from(day),
    }
}
