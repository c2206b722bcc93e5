//! From the engine's syntax tree to a plan; `None` for whatever is not simple.

use minijinja::machinery::{ast, parse, parse_expr};
use minijinja::value::ValueKind;
use serde_json::Value as Json;

use super::plan::{Expr, LoopFact, Side, Stmt, Test};
use crate::jinja::{environment, syntax, value};

/// The names of the loops around an expression, outermost first.
type Loops<'a> = Vec<&'a str>;

pub(super) fn template(source: &str) -> Option<Vec<Stmt>> {
    let ast::Stmt::Template(root) = parse(source, "", syntax()?).ok()? else {
        return None;
    };
    body(&root.children, &mut Vec::new())
}

pub(super) fn expression(source: &str) -> Option<Expr> {
    lower(&parse_expr(source).ok()?, &Vec::new())
}

fn body<'a>(parts: &[ast::Stmt<'a>], loops: &mut Loops<'a>) -> Option<Vec<Stmt>> {
    parts.iter().map(|part| statement(part, loops)).collect()
}

fn statement<'a>(part: &ast::Stmt<'a>, loops: &mut Loops<'a>) -> Option<Stmt> {
    Some(match part {
        ast::Stmt::EmitRaw(raw) => Stmt::Raw(raw.raw.into()),
        ast::Stmt::EmitExpr(emit) => Stmt::Emit(lower(&emit.expr, loops)?),
        ast::Stmt::IfCond(choice) => Stmt::If {
            condition: lower(&choice.expr, loops)?,
            then: body(&choice.true_body, loops)?,
            otherwise: body(&choice.false_body, loops)?,
        },
        ast::Stmt::ForLoop(each) => {
            let ast::Expr::Var(name) = &each.target else {
                return None;
            };
            if each.filter_expr.is_some() || each.recursive || !each.else_body.is_empty() {
                return None;
            }
            let items = lower(&each.iter, loops)?;
            loops.push(name.id);
            let body = body(&each.body, loops);
            loops.pop();
            Stmt::For { items, body: body? }
        }
        _ => return None,
    })
}

fn lower<'a>(expr: &ast::Expr<'a>, loops: &Loops<'a>) -> Option<Expr> {
    let sub = |expr: &ast::Expr<'a>| lower(expr, loops).map(Box::new);
    Some(match expr {
        ast::Expr::Var(var) => variable(var.id, loops)?,
        ast::Expr::Const(constant) => Expr::Constant(plain(&constant.value)?),
        ast::Expr::UnaryOp(op) => match op.op {
            ast::UnaryOpKind::Not => Expr::Not(sub(&op.expr)?),
            // Only of numbers that stand there.
            ast::UnaryOpKind::Neg => Expr::Constant(plain(&expr.as_const()?)?),
        },
        ast::Expr::BinOp(op) => binary(op, loops)?,
        ast::Expr::Compare(compare) => {
            let [one] = compare.ops.as_slice() else {
                return None;
            };
            let (left, right) = (sub(&compare.expr)?, sub(&one.expr)?);
            match one.op {
                ast::CompareOpKind::Eq => Expr::Equal(left, right, true),
                ast::CompareOpKind::Ne => Expr::Equal(left, right, false),
                ast::CompareOpKind::In => Expr::In(left, right, true),
                ast::CompareOpKind::NotIn => Expr::In(left, right, false),
                _ => return None,
            }
        }
        ast::Expr::IfExpr(choice) => Expr::If {
            condition: sub(&choice.test_expr)?,
            then: sub(&choice.true_expr)?,
            otherwise: sub(choice.false_expr.as_ref()?)?,
        },
        ast::Expr::Filter(filter) => {
            let this = sub(filter.expr.as_ref()?)?;
            let args = positional(&filter.args)?;
            match (filter.name, args.as_slice()) {
                ("default" | "d", []) => {
                    Expr::Default(this, Box::new(Expr::Constant(Json::String(String::new()))))
                }
                ("default" | "d", [other]) => Expr::Default(this, sub(other)?),
                ("join", []) => Expr::Join(this, None),
                ("join", [between]) => Expr::Join(this, Some(sub(between)?)),
                ("length" | "count", []) => Expr::Length(this),
                ("trim", []) => Expr::Strip(Box::new(Expr::AsText(this)), Side::Both),
                ("string", []) => Expr::AsText(this),
                ("int", []) => Expr::AsInt(this),
                ("select", []) => Expr::Select(this),
                _ => return None,
            }
        }
        ast::Expr::Test(test) => {
            if !test.args.is_empty() {
                return None;
            }
            let (kind, expected) = match test.name {
                "defined" => (Test::Defined, true),
                "undefined" => (Test::Defined, false),
                "none" => (Test::None, true),
                "string" => (Test::String, true),
                "mapping" => (Test::Mapping, true),
                _ => return None,
            };
            Expr::Is(sub(&test.expr)?, kind, expected)
        }
        ast::Expr::GetAttr(get) => match &get.expr {
            ast::Expr::Var(var) if var.id == "loop" && !loops.is_empty() => {
                Expr::Loop(loop_fact(get.name)?)
            }
            this => Expr::Attribute(sub(this)?, get.name.into()),
        },
        ast::Expr::GetItem(get) => Expr::Item(sub(&get.expr)?, sub(&get.subscript_expr)?),
        ast::Expr::Call(call) => method(call, loops)?,
        ast::Expr::List(list) => {
            let items = list.items.iter().map(|item| lower(item, loops));
            Expr::List(items.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

fn variable(name: &str, loops: &Loops<'_>) -> Option<Expr> {
    if let Some(depth) = loops.iter().rposition(|local| *local == name) {
        return Some(Expr::Local(depth));
    }
    let known = (name == "loop" && !loops.is_empty())
        || environment().globals().any(|(global, _)| global == name);
    (!known).then(|| Expr::Field(name.into()))
}

fn binary<'a>(op: &ast::BinOp<'a>, loops: &Loops<'a>) -> Option<Expr> {
    let left = Box::new(lower(&op.left, loops)?);
    let right = Box::new(lower(&op.right, loops)?);
    Some(match op.op {
        ast::BinOpKind::ScAnd => Expr::And(left, right),
        ast::BinOpKind::ScOr => Expr::Or(left, right),
        ast::BinOpKind::Add => Expr::Add(left, right),
        ast::BinOpKind::Sub => Expr::Subtract(left, right),
        ast::BinOpKind::Eq => Expr::Equal(left, right, true),
        ast::BinOpKind::Ne => Expr::Equal(left, right, false),
        ast::BinOpKind::In => Expr::In(left, right, true),
        _ => return None,
    })
}

fn method<'a>(call: &ast::Call<'a>, loops: &Loops<'a>) -> Option<Expr> {
    let ast::Expr::GetAttr(get) = &call.expr else {
        return None;
    };
    let this = Box::new(lower(&get.expr, loops)?);
    let args = positional(&call.args)?;
    Some(match (get.name, args.as_slice()) {
        ("index", [item]) => Expr::IndexOf(this, Box::new(lower(item, loops)?)),
        ("strip", []) => Expr::Strip(this, Side::Both),
        ("lstrip", []) => Expr::Strip(this, Side::Start),
        ("rstrip", []) => Expr::Strip(this, Side::End),
        ("split", [separator]) => Expr::Split {
            text: this,
            separator: text(separator).filter(|text| !text.is_empty())?,
            most: None,
        },
        ("split", [separator, most]) => Expr::Split {
            text: this,
            separator: text(separator).filter(|text| !text.is_empty())?,
            most: Some(usize::try_from(plain(&most.as_const()?)?.as_u64()?).ok()?),
        },
        ("replace", [from, to]) => {
            Expr::Replace(this, text(from).filter(|text| !text.is_empty())?, text(to)?)
        }
        _ => return None,
    })
}

fn loop_fact(name: &str) -> Option<LoopFact> {
    Some(match name {
        "index" => LoopFact::Index,
        "index0" => LoopFact::Index0,
        "first" => LoopFact::First,
        "last" => LoopFact::Last,
        "length" => LoopFact::Length,
        _ => return None,
    })
}

fn positional<'e, 'a>(args: &'e [ast::CallArg<'a>]) -> Option<Vec<&'e ast::Expr<'a>>> {
    args.iter()
        .map(|arg| match arg {
            ast::CallArg::Pos(expr) => Some(expr),
            _ => None,
        })
        .collect()
}

/// A constant text.
fn text(expr: &ast::Expr<'_>) -> Option<Box<str>> {
    Some(plain(&expr.as_const()?)?.as_str()?.into())
}

/// A constant of a simple type.
fn plain(constant: &minijinja::Value) -> Option<Json> {
    let simple = match constant.kind() {
        ValueKind::None | ValueKind::Bool | ValueKind::String => true,
        ValueKind::Number => constant.is_integer(),
        _ => false,
    };
    simple.then(|| value::to_json(constant)).flatten()
}
