//! The words of a filter text, taken one by one: names, literals, and where they stand.
//!
//! ```text
//!   order.total >= -14.20
//!   ^     ^     ^  ^
//!   |     |     |  column 16: - 14.20   one literal
//!   |     |     column 13: >=           an operator
//!   column 1: order . total             one path
//! ```
//!
//! Cutting text into words (quotes, comments, numbers, escapes) is SQL's own business, so `sqlparser` does
//! it; [`crate::filter_sql`] knows what the words mean. Every complaint names the line and the column.

use crate::literal::{Literal, parse_number};
use crate::{Error, Result, iso};
use sqlparser::dialect::GenericDialect;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, Word};

/// Words that mean something in a filter, so that a column of this name is quoted.
const WORDS: [&str; 22] = [
    "and",
    "or",
    "not",
    "in",
    "is",
    "null",
    "like",
    "between",
    "true",
    "false",
    "date",
    "time",
    "timestamp",
    "cast",
    "nan",
    "is_nan",
    "isnan",
    "starts_with",
    "escape",
    "as",
    "case",
    "interval",
];

/// A text cut into words, and how far it has been read.
pub(crate) struct Words {
    tokens: Vec<TokenWithSpan>,
    /// How many words are read.
    pub(crate) next: usize,
    /// How many parentheses are open.
    pub(crate) open: usize,
}

impl Words {
    /// Cuts `text`; blanks and comments are left out.
    pub(crate) fn cut(text: &str) -> Result<Words> {
        let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize_with_location();
        let mut tokens = tokens.map_err(|e| invalid(e.location, &e.message))?;
        tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
        Ok(Words { tokens, next: 0, open: 0 })
    }

    pub(crate) fn peek(&self) -> &Token {
        self.peek_at(0)
    }

    pub(crate) fn peek_at(&self, ahead: usize) -> &Token {
        self.tokens.get(self.next + ahead).map_or(&Token::EOF, |token| &token.token)
    }

    pub(crate) fn take(&mut self, token: &Token) -> bool {
        let hit = self.peek() == token;
        self.next += usize::from(hit);
        hit
    }

    pub(crate) fn need(&mut self, token: &Token, want: &str) -> Result<()> {
        if self.take(token) { Ok(()) } else { Err(self.expected(want)) }
    }

    /// Takes the next word if it is this one, unquoted.
    pub(crate) fn word(&mut self, want: &str) -> bool {
        let hit = matches!(self.peek(), Token::Word(word)
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(want));
        self.next += usize::from(hit);
        hit
    }

    /// Takes the name of one of these functions and the parenthesis behind it.
    pub(crate) fn call(&mut self, names: &[&str]) -> bool {
        *self.peek_at(1) == Token::LParen
            && names.iter().any(|name| self.word(name))
            && self.take(&Token::LParen)
    }

    /// Where the next token stands; at the end, where the last one ends.
    pub(crate) fn location(&self) -> Location {
        match self.tokens.get(self.next) {
            Some(token) => token.span.start,
            None => self.tokens.last().map_or(Location::new(1, 1), |token| token.span.end),
        }
    }

    pub(crate) fn expected(&self, want: &str) -> Error {
        let found = match self.peek() {
            Token::EOF => "the end".to_string(),
            token => token.to_string(),
        };
        invalid(self.location(), &format!("expected {want}, found {found}"))
    }

    pub(crate) fn unsupported(&self, what: &str, why: &str) -> Error {
        Error::unsupported(format!("{what} in a filter, at {}", place(self.location())), why)
    }

    pub(crate) fn literal(&mut self) -> Result<Literal> {
        let negative = match self.peek() {
            Token::Minus => "-",
            _ => "",
        };
        if self.take(&Token::Minus) || self.take(&Token::Plus) {
            let Token::Number(..) = self.peek() else { return Err(self.expected("a number")) };
        }
        let literal = match (self.peek(), self.peek_at(1)) {
            (Token::Number(digits, _), _) => parse_number(&format!("{negative}{digits}")),
            (Token::SingleQuotedString(text), _) => Some(Literal::Text(text.clone())),
            (Token::HexStringLiteral(text), _) => bytes(text).map(Literal::Bytes),
            (Token::Word(word), Token::SingleQuotedString(text)) if word.quote_style.is_none() => {
                let moment = match word.value.to_ascii_uppercase().as_str() {
                    "DATE" => iso::parse_date(text).map(Literal::Date),
                    "TIME" => iso::parse_time(text).map(Literal::Time),
                    "TIMESTAMP" => iso::parse_timestamp(text)
                        .map(|(nanos, zoned)| Literal::Timestamp(nanos, zoned)),
                    _ => return Err(self.expected("a literal")),
                };
                self.next += 1;
                moment
            }
            (Token::Word(word), _) if word.quote_style.is_none() => {
                match word.value.to_ascii_uppercase().as_str() {
                    "TRUE" => Some(Literal::Boolean(true)),
                    "FALSE" => Some(Literal::Boolean(false)),
                    "NULL" => {
                        return Err(self.expected("a literal (nothing equals NULL: ask IS NULL)"));
                    }
                    _ => return Err(self.expected("a literal")),
                }
            }
            _ => return Err(self.expected("a column or a literal")),
        };
        match literal {
            Some(literal) => {
                self.next += 1;
                Ok(literal)
            }
            None => {
                Err(self.expected("a number, a date, a time, a timestamp or hexadecimal digits"))
            }
        }
    }

    pub(crate) fn path(&mut self) -> Result<Vec<String>> {
        let mut path = Vec::new();
        loop {
            match self.peek() {
                Token::Word(word) => path.push(word.value.clone()),
                _ => return Err(self.expected("a column")),
            }
            self.next += 1;
            if !self.take(&Token::Period) {
                return Ok(path);
            }
        }
    }
}

/// Whether a word begins a literal: `true`, `null`, or `date` before a string.
pub(crate) fn is_literal(word: &Word, next: &Token) -> bool {
    let word_is = |names: &[&str]| names.iter().any(|name| word.value.eq_ignore_ascii_case(name));
    word.quote_style.is_none()
        && (word_is(&["TRUE", "FALSE", "NULL"])
            || matches!(next, Token::SingleQuotedString(_))
                && word_is(&["DATE", "TIME", "TIMESTAMP"]))
}

/// A path as SQL writes it.
pub(crate) fn name(path: &[String]) -> String {
    let parts: Vec<_> = path.iter().map(|part| quoted(part)).collect();
    parts.join(".")
}

fn quoted(part: &str) -> String {
    let plain = part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !WORDS.contains(&part.to_ascii_lowercase().as_str());
    if plain { part.to_string() } else { format!("\"{}\"", part.replace('"', "\"\"")) }
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = hex.chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    let byte = |[high, low]: &[u32; 2]| u8::try_from(high * 16 + low).ok();
    if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
}

fn place(location: Location) -> String {
    format!("line {}, column {}", location.line, location.column)
}

fn invalid(location: Location, why: &str) -> Error {
    Error::invalid(format!("the filter at {}", place(location)), why)
}
