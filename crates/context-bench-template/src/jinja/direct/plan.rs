//! What a simple template is made of.

use serde_json::Value as Json;

/// A part of a template.
#[derive(Debug)]
pub(super) enum Stmt {
    Raw(Box<str>),
    Emit(Expr),
    /// A loop; its items go to the next free place among the locals.
    For {
        items: Expr,
        body: Vec<Stmt>,
    },
    If {
        condition: Expr,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
}

/// Something that has a value.
#[derive(Debug)]
pub(super) enum Expr {
    Constant(Json),
    /// A field of the record.
    Field(Box<str>),
    /// The item of a loop, by its depth.
    Local(usize),
    Loop(LoopFact),
    /// A field of a map.
    Attribute(Box<Expr>, Box<str>),
    Item(Box<Expr>, Box<Expr>),
    List(Vec<Expr>),
    Not(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Add(Box<Expr>, Box<Expr>),
    Subtract(Box<Expr>, Box<Expr>),
    /// Whether two values are equal, or are not.
    Equal(Box<Expr>, Box<Expr>, bool),
    /// Whether the first is in the second, or is not.
    In(Box<Expr>, Box<Expr>, bool),
    If {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    Default(Box<Expr>, Box<Expr>),
    Join(Box<Expr>, Option<Box<Expr>>),
    Length(Box<Expr>),
    AsText(Box<Expr>),
    AsInt(Box<Expr>),
    /// Those items of a list that are true.
    Select(Box<Expr>),
    /// The place of a value in a list.
    IndexOf(Box<Expr>, Box<Expr>),
    Strip(Box<Expr>, Side),
    Split {
        text: Box<Expr>,
        separator: Box<str>,
        most: Option<usize>,
    },
    Replace(Box<Expr>, Box<str>, Box<str>),
    Is(Box<Expr>, Test, bool),
}

/// What a loop knows of itself.
#[derive(Debug, Clone, Copy)]
pub(super) enum LoopFact {
    Index,
    Index0,
    First,
    Last,
    Length,
}

/// Where white space goes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side {
    Both,
    Start,
    End,
}

/// Kinds that a value can be asked for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Test {
    Defined,
    None,
    String,
    Mapping,
}
