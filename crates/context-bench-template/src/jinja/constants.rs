//! What the compiler would work out beforehand: `"x" * 1000000` becomes its text when
//! the template is compiled, before anything is measured.

use minijinja::machinery::ast::{BinOpKind, CallArg, Expr, Stmt};
use minijinja::value::ValueKind;

use super::Error;
use super::bounds::{HINT, MAX_SIZE};

/// Refuses a template whose constants become too large.
pub(super) fn check(name: &str, template: &Stmt<'_>) -> Result<(), Error> {
    let mut sizes = Sizes { refused: None };
    sizes.statement(template);
    match sizes.refused {
        Some(line) => Err(Error::refused(
            name,
            line,
            "a constant is larger than templates may make (64 MiB)".to_owned(),
            HINT,
        )),
        None => Ok(()),
    }
}

struct Sizes {
    /// The line of the first constant that is too large.
    refused: Option<usize>,
}

impl Sizes {
    fn statements(&mut self, statements: &[Stmt<'_>]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt<'_>) {
        match statement {
            Stmt::Template(template) => self.statements(&template.children),
            Stmt::EmitExpr(emit) => self.walk(&emit.expr),
            Stmt::ForLoop(turn) => {
                self.walk(&turn.iter);
                if let Some(filter) = &turn.filter_expr {
                    self.walk(filter);
                }
                self.statements(&turn.body);
                self.statements(&turn.else_body);
            }
            Stmt::IfCond(choice) => {
                self.walk(&choice.expr);
                self.statements(&choice.true_body);
                self.statements(&choice.false_body);
            }
            Stmt::WithBlock(with) => {
                for (target, value) in &with.assignments {
                    self.walk(target);
                    self.walk(value);
                }
                self.statements(&with.body);
            }
            Stmt::Set(set) => {
                self.walk(&set.target);
                self.walk(&set.expr);
            }
            Stmt::SetBlock(set) => {
                if let Some(filter) = &set.filter {
                    self.walk(filter);
                }
                self.statements(&set.body);
            }
            Stmt::AutoEscape(block) => {
                self.walk(&block.enabled);
                self.statements(&block.body);
            }
            Stmt::FilterBlock(block) => {
                self.walk(&block.filter);
                self.statements(&block.body);
            }
            Stmt::Block(block) => self.statements(&block.body),
            Stmt::Macro(made) => {
                made.defaults.iter().for_each(|value| self.walk(value));
                self.statements(&made.body);
            }
            Stmt::CallBlock(block) => {
                self.arguments(&block.call.args);
                self.walk(&block.call.expr);
                let body = &block.macro_decl;
                body.defaults.iter().for_each(|value| self.walk(value));
                self.statements(&body.body);
            }
            Stmt::Do(call) => {
                self.arguments(&call.call.args);
                self.walk(&call.call.expr);
            }
            Stmt::Import(import) => self.walk(&import.expr),
            Stmt::FromImport(import) => self.walk(&import.expr),
            Stmt::Extends(extends) => self.walk(&extends.name),
            Stmt::Include(include) => self.walk(&include.name),
            Stmt::EmitRaw(_) | Stmt::Continue(_) | Stmt::Break(_) => {}
        }
    }

    fn walk(&mut self, expr: &Expr<'_>) {
        self.size(expr);
    }

    fn arguments(&mut self, arguments: &[CallArg<'_>]) {
        for argument in arguments {
            match argument {
                CallArg::Pos(value)
                | CallArg::Kwarg(_, value)
                | CallArg::PosSplat(value)
                | CallArg::KwargSplat(value) => self.walk(value),
            }
        }
    }

    /// The most bytes that an expression has as a constant, when it may be one.
    fn size(&mut self, expr: &Expr<'_>) -> Option<usize> {
        let size = match expr {
            Expr::Const(constant) => Some(constant.value.as_str().map_or(16, str::len)),
            Expr::List(list) => self.sum(&list.items),
            Expr::Tuple(tuple) => self.sum(&tuple.items),
            Expr::Map(map) => {
                let keys = self.sum(&map.keys);
                let values = self.sum(&map.values);
                Some(keys?.saturating_add(values?))
            }
            Expr::UnaryOp(of) => self.size(&of.expr),
            Expr::BinOp(of) => {
                let (left, right) = (self.size(&of.left), self.size(&of.right));
                let (left, right) = (left?, right?);
                if self.refused.is_some() {
                    return None;
                }
                match of.op {
                    BinOpKind::Mul => {
                        // Both are small enough to be worked out.
                        let times = |side: &Expr<'_>| {
                            let value = side.as_const()?;
                            (value.kind() == ValueKind::Number).then(|| value.as_usize())
                        };
                        match (times(&of.left), times(&of.right)) {
                            (Some(_), Some(_)) => Some(16),
                            (Some(times), None) => Some(right.saturating_mul(times.unwrap_or(1))),
                            (None, Some(times)) => Some(left.saturating_mul(times.unwrap_or(1))),
                            (None, None) => Some(16),
                        }
                    }
                    _ => Some(left.saturating_add(right).saturating_add(16)),
                }
            }
            Expr::Compare(of) => {
                self.size(&of.expr);
                for op in &of.ops {
                    self.size(&op.expr);
                }
                Some(16)
            }
            Expr::IfExpr(of) => {
                self.walk(&of.test_expr);
                self.walk(&of.true_expr);
                if let Some(other) = &of.false_expr {
                    self.walk(other);
                }
                None
            }
            Expr::Filter(of) => {
                if let Some(of) = &of.expr {
                    self.walk(of);
                }
                self.arguments(&of.args);
                None
            }
            Expr::Test(of) => {
                self.walk(&of.expr);
                self.arguments(&of.args);
                None
            }
            Expr::GetAttr(of) => {
                self.walk(&of.expr);
                None
            }
            Expr::GetItem(of) => {
                self.walk(&of.expr);
                self.walk(&of.subscript_expr);
                None
            }
            Expr::Slice(of) => {
                self.walk(&of.expr);
                for part in [&of.start, &of.stop, &of.step].into_iter().flatten() {
                    self.walk(part);
                }
                None
            }
            Expr::Call(of) => {
                self.walk(&of.expr);
                self.arguments(&of.args);
                None
            }
            Expr::Var(_) => None,
        };
        if size.is_some_and(|size| size > MAX_SIZE) && self.refused.is_none() {
            self.refused = Some(usize::from(expr.span().start_line));
        }
        size
    }

    fn sum(&mut self, items: &[Expr<'_>]) -> Option<usize> {
        let sizes: Vec<Option<usize>> = items.iter().map(|item| self.size(item)).collect();
        sizes
            .into_iter()
            .try_fold(0_usize, |sum, size| Some(sum.saturating_add(size? + 16)))
    }
}
