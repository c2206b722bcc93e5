//! `Weights`: the tensors of a transformer by name, each with the shape that it must have.

use std::collections::HashMap;

use super::super::safetensors::{NumberKind, Tensor, tensors};

/// The tensors of a file by name.
pub(super) struct Weights<'a> {
    tensors: HashMap<String, Tensor<'a>>,
    /// What names begin with where the encoder is part of a larger model.
    prefix: &'static str,
}

impl<'a> Weights<'a> {
    /// Reads a file of safetensors, or says what is wrong with it.
    pub(super) fn of(file: &'a [u8]) -> Result<Self, String> {
        let tensors: HashMap<String, Tensor<'a>> = tensors(file)?.into_iter().collect();
        let is_part = tensors.keys().any(|name| name.starts_with("bert."));
        Ok(Self {
            tensors,
            prefix: if is_part { "bert." } else { "" },
        })
    }

    /// The numbers of a tensor, which must have this shape and be finite.
    pub(super) fn numbers(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        let name = format!("{}{name}", self.prefix);
        let tensor = self.tensors.get(&name);
        let tensor = tensor.ok_or_else(|| format!("it has no tensor `{name}`"))?;
        if tensor.shape != shape {
            return Err(format!(
                "the tensor `{name}` has the shape {:?}, but the configuration says {shape:?}",
                tensor.shape
            ));
        }
        if matches!(tensor.kind, NumberKind::I32 | NumberKind::I64) {
            return Err(format!("the tensor `{name}` has whole numbers"));
        }
        let mut numbers = Vec::with_capacity(tensor.bytes.len() / tensor.kind.size());
        tensor
            .kind
            .each(tensor.bytes, |number| numbers.push(number as f32));
        match numbers.iter().all(|number| number.is_finite()) {
            true => Ok(numbers),
            false => Err(format!(
                "the tensor `{name}` has numbers that are not finite"
            )),
        }
    }
}
