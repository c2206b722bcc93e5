//! The engine's instructions for a template, with a look at everything they make.
//!
//! The engine counts its steps, not what a step makes: `x ~ x` is one step however
//! long `x` is. So wherever something is made (an operator, a list, a call, a filter),
//! a filter that measures it is put in behind. The program borrows from the
//! template and is put together for each rendering, which takes about as long as one
//! pass through it.

use std::collections::BTreeMap;

use minijinja::machinery::{Instruction, Instructions};
use minijinja::value::Value;

use super::bounds;

/// Looks filters up by name, not in the engine's table of the template's own.
const BY_NAME: u8 = u8::MAX;

/// Whether anything in it can grow, so that it has to be measured.
pub(super) fn grows(instructions: &Instructions<'_>) -> bool {
    each(instructions).any(|instruction| makes(instruction).is_some() || repeats(instruction))
}

/// The instructions, measured. `value` when what the last one writes is wanted itself.
pub(super) fn measured<'s>(from: &Instructions<'s>, value: bool) -> Instructions<'s> {
    let mut to = Instructions::new(from.name(), from.source());
    let repeats = each(from).any(repeats);
    let count = each(from).count();
    let mut places: Vec<u32> = Vec::with_capacity(count + 1);
    let mut length = 0;
    for (at, instruction) in each(from).enumerate() {
        places.push(length);
        let index = u32::try_from(at).unwrap_or(u32::MAX);
        let mut add = |instruction: Instruction<'s>| {
            let place = match (from.get_span(index), from.get_line(index)) {
                (Some(span), _) => to.add_with_span(instruction, span),
                (None, Some(line)) => {
                    to.add_with_line(instruction, u16::try_from(line).unwrap_or(u16::MAX))
                }
                (None, None) => to.add(instruction),
            };
            length = place + 1;
        };
        let filter = |name| Instruction::ApplyFilter(name, Some(1), BY_NAME);
        match instruction {
            Instruction::Emit if value && at + 1 == count => {}
            // A text that stands in a loop is written as often as the loop turns.
            Instruction::EmitRaw(text) if repeats => {
                add(Instruction::LoadConst(Value::from(text.len())));
                add(filter(bounds::WRITTEN));
                add(Instruction::DiscardTop);
                add(instruction.clone());
            }
            // The value is below the namespace on the stack.
            Instruction::SetAttr(_) => {
                add(Instruction::Swap);
                add(filter(bounds::KEPT));
                add(Instruction::Swap);
                add(instruction.clone());
            }
            _ => {
                add(instruction.clone());
                if let Some(measure) = makes(instruction) {
                    add(filter(measure));
                }
            }
        }
    }
    places.push(length);
    for at in 0..length {
        let Some(instruction) = to.get_mut(at) else {
            break;
        };
        let target = match instruction {
            Instruction::Iterate(target)
            | Instruction::Jump(target)
            | Instruction::JumpIfFalse(target)
            | Instruction::JumpIfFalseOrPop(target)
            | Instruction::JumpIfTrueOrPop(target)
            | Instruction::BuildMacro(_, target, _) => target,
            _ => continue,
        };
        let place = usize::try_from(*target).ok();
        *target = place
            .and_then(|place| places.get(place))
            .copied()
            .unwrap_or(length);
    }
    to
}

/// Whether the last of it writes a value.
pub(super) fn writes_one_value(instructions: &Instructions<'_>) -> bool {
    matches!(each(instructions).last(), Some(Instruction::Emit))
}

/// The blocks of a template, measured.
pub(super) fn blocks<'s>(
    from: &BTreeMap<&'s str, Instructions<'s>>,
) -> BTreeMap<&'s str, Instructions<'s>> {
    from.iter()
        .map(|(name, block)| (*name, measured(block, false)))
        .collect()
}

fn each<'i, 's>(instructions: &'i Instructions<'s>) -> impl Iterator<Item = &'i Instruction<'s>> {
    (0..).map_while(|at| instructions.get(at))
}

/// The filter that measures what an instruction leaves on the stack, when that was not
/// there before.
fn makes(instruction: &Instruction<'_>) -> Option<&'static str> {
    match instruction {
        Instruction::Add
        | Instruction::Slice
        | Instruction::BuildList(_)
        | Instruction::BuildTuple(_)
        | Instruction::BuildMap(_) => Some(bounds::JOINED),
        Instruction::Mul
        | Instruction::StringConcat
        | Instruction::ApplyFilter(..)
        | Instruction::CallFunction(..)
        | Instruction::CallMethod(..)
        | Instruction::CallObject(_)
        | Instruction::EndCapture => Some(bounds::MEASURED),
        _ => None,
    }
}

/// Whether what comes after it may be run more than once.
fn repeats(instruction: &Instruction<'_>) -> bool {
    matches!(
        instruction,
        Instruction::Iterate(_) | Instruction::BuildMacro(..) | Instruction::CallBlock(_)
    )
}
