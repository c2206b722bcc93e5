//! Puts records together from the cells of columns: the inverse of Dremel's striping.
//!
//! Each node looks at the levels of its first leaf to see whether it is there
//! and whether its list goes on; all leaves below it move in step.

use serde_json::{Map, Value};

use super::cells::{Cells, DamagedColumn};
use super::schema::{Node, Repeated};

/// The next value of a node.
pub(super) fn value(node: &Node, columns: &mut [Cells]) -> Result<Value, DamagedColumn> {
    match node {
        Node::Leaf { leaf } => columns[*leaf].value(),
        Node::Group {
            template,
            fields,
            definition,
            leaves,
        } => {
            if columns[leaves.start].definition()? < *definition {
                columns[leaves.clone()].iter_mut().for_each(Cells::skip);
                return Ok(Value::Null);
            }
            // A copy keeps the hashes of the keys, so no key is hashed again.
            let mut map = template.clone();
            for (slot, field) in map.values_mut().zip(fields) {
                *slot = value(field, columns)?;
            }
            Ok(map.into())
        }
        Node::List(list) => {
            let mut items = Vec::new();
            let is_there = each(list, columns, |item, columns| {
                items.push(value(item, columns)?);
                Ok(())
            })?;
            Ok(if is_there { items.into() } else { Value::Null })
        }
        Node::Map(map) => {
            let mut entries = Map::new();
            let is_there = each(map, columns, |item, columns| {
                let [key, entry] = &**item;
                let key = match value(key, columns)? {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                entries.insert(key, value(entry, columns)?);
                Ok(())
            })?;
            Ok(if is_there {
                entries.into()
            } else {
                Value::Null
            })
        }
    }
}

/// Goes over the items of the next list; false when there is no list.
fn each<N>(
    list: &Repeated<N>,
    columns: &mut [Cells],
    mut take: impl FnMut(&N, &mut [Cells]) -> Result<(), DamagedColumn>,
) -> Result<bool, DamagedColumn> {
    let first = list.leaves.start;
    let definition = columns[first].definition()?;
    if definition < list.item_definition {
        columns[list.leaves.clone()]
            .iter_mut()
            .for_each(Cells::skip);
        return Ok(definition >= list.definition);
    }
    loop {
        take(&list.item, columns)?;
        if columns[first].repetition() < list.repetition {
            return Ok(true);
        }
    }
}
