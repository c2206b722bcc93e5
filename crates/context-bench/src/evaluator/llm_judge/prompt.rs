//! The prompts that judges get unless a template replaces them.

use super::Reference;
use super::template::{JudgeTemplate, TemplateError};
use crate::text::verdict::Scale;

/// A rating beside a reference answer.
const WITH_REFERENCE: &str = "\
Rate how well a response answers a question, compared with the reference answer.

Question:
{question}

Reference answer:
{reference}

Response:
{response}

Scale:
{rubric}

Reply with one {number} from {scale} and nothing else.";

/// A rating without one.
const WITHOUT_REFERENCE: &str = "\
Rate how well a response answers a question. There is no reference answer: judge \
whether the response is right, complete and helpful.

Question:
{question}

Response:
{response}

Scale:
{rubric}

Reply with one {number} from {scale} and nothing else.";

/// Two answers, in the manner of AlpacaEval.
const PAIRWISE: &str = "\
You rank the outputs of two language models for one instruction. A person would \
prefer the output that follows the instruction more accurately and more helpfully; \
length and order do not matter.

Instruction:
{question}

Output of model m:
{output_1}

Output of model M:
{output_2}

Criteria:
{rubric}

Which output is better? Reply with exactly one of `m`, `M` or `tie` and nothing else.";

/// What a rating or comparison goes by unless a rubric is given.
pub(super) fn rubric(scale: Option<Scale>) -> String {
    match scale {
        None => "Right, complete, to the point, and what the instruction asks for.".into(),
        Some(scale) if scale == Scale::default() => "\
1 = completely wrong or unrelated
2 = mostly wrong, with a correct detail
3 = partly right, important parts missing or wrong
4 = right, with small gaps or errors
5 = excellent: right and complete"
            .into(),
        Some(scale) => format!(
            "{} = completely wrong or unrelated\n{} = excellent: right and complete\n\
             values between by degree",
            scale.min(),
            scale.max()
        ),
    }
}

/// The two prompts for ratings: for examples with a reference, and for those without.
pub(super) fn rating(
    scale: Scale,
    reference: Reference,
) -> Result<(JudgeTemplate, JudgeTemplate), TemplateError> {
    let whole = scale.min().fract() == 0.0 && scale.max() - scale.min() > 1.0;
    let number = if whole { "integer" } else { "number" };
    let parse = |text: &str| JudgeTemplate::parse(&text.replace("{number}", number));
    let without = parse(WITHOUT_REFERENCE)?;
    let with = match reference {
        Reference::Off => without.clone(),
        Reference::On | Reference::Auto => parse(WITH_REFERENCE)?,
    };
    Ok((with, without))
}

/// The prompt for comparisons.
pub(super) fn pairwise() -> Result<JudgeTemplate, TemplateError> {
    JudgeTemplate::parse(PAIRWISE)
}
