//! The shape of the records: a tree over the columns that are read.

use std::ops::Range;

use parquet::basic::{ConvertedType, LogicalType, Repetition};
use parquet::schema::types::{SchemaDescriptor, Type};
use serde_json::{Map, Value};

use crate::record::Header;

/// Deeper nesting is taken for damaged: building values recurses.
const DEEPEST: usize = 100;

/// One value of a record and how it is put together.
///
/// A definition level says how much of the path to a value is there, a
/// repetition level which list a value continues. The levels of a node are those
/// at which it is there itself.
#[derive(Debug)]
pub(super) enum Node {
    Leaf {
        leaf: usize,
    },
    Group {
        /// The map with all keys and no values, to be copied.
        template: Map<String, Value>,
        fields: Vec<Node>,
        definition: i16,
        leaves: Range<usize>,
    },
    List(Repeated<Box<Node>>),
    /// Key and value of the entries.
    Map(Repeated<Box<[Node; 2]>>),
}

#[derive(Debug)]
pub(super) struct Repeated<N> {
    pub(super) item: N,
    /// The level at which the list is there, if empty.
    pub(super) definition: i16,
    /// The level at which it has an item.
    pub(super) item_definition: i16,
    pub(super) repetition: i16,
    pub(super) leaves: Range<usize>,
}

/// The tree of the wanted top-level columns, and the positions in the file of
/// the leaves that it needs.
pub(super) struct Shape {
    pub(super) header: Header,
    pub(super) fields: Vec<Node>,
    pub(super) columns: Vec<usize>,
}

/// The names of the top-level columns.
pub(super) fn column_names(schema: &SchemaDescriptor) -> Vec<String> {
    let fields = schema.root_schema().get_fields();
    fields.iter().map(|field| field.name().to_owned()).collect()
}

/// Builds the tree of the columns that are wanted.
pub(super) fn shape(
    schema: &SchemaDescriptor,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Shape, String> {
    let mut builder = Builder::default();
    let (mut names, mut fields) = (Vec::<String>::new(), Vec::new());
    for field in schema.root_schema().get_fields() {
        let name = field.name();
        if !is_wanted(name) {
            builder.n_columns += n_leaves(field, 0)?;
            continue;
        }
        if names.iter().any(|known| known == name) {
            return Err(twice(name));
        }
        fields.push(builder.node(field, 0, 0, 0)?);
        names.push(name.to_owned());
    }
    Ok(Shape {
        header: Header::new(names),
        fields,
        columns: builder.columns,
    })
}

#[derive(Default)]
struct Builder {
    /// Leaves of the file that were passed.
    n_columns: usize,
    /// Those of them that are read.
    columns: Vec<usize>,
}

impl Builder {
    /// The node of a field inside something at the given levels.
    fn node(
        &mut self,
        field: &Type,
        definition: i16,
        repetition: i16,
        depth: usize,
    ) -> Result<Node, String> {
        if depth > DEEPEST {
            return Err("columns are nested too deeply".into());
        }
        match repetition_of(field) {
            Repetition::REQUIRED => self.content(field, definition, repetition, depth),
            Repetition::OPTIONAL => self.content(field, definition + 1, repetition, depth),
            // A repeated field outside a list is a list of its own.
            Repetition::REPEATED => {
                let start = self.columns.len();
                let item = self.content(field, definition + 1, repetition + 1, depth)?;
                Ok(Node::List(Repeated {
                    item: Box::new(item),
                    definition,
                    item_definition: definition + 1,
                    repetition: repetition + 1,
                    leaves: start..self.columns.len(),
                }))
            }
        }
    }

    /// The node of a field that is there at the given levels.
    fn content(
        &mut self,
        field: &Type,
        definition: i16,
        repetition: i16,
        depth: usize,
    ) -> Result<Node, String> {
        let start = self.columns.len();
        if field.is_primitive() {
            self.columns.push(self.n_columns);
            self.n_columns += 1;
            return Ok(Node::Leaf { leaf: start });
        }
        match (kind_of(field), field.get_fields()) {
            (Kind::List, [inner]) if repetition_of(inner) == Repetition::REPEATED => {
                let (definition, repetition) = (definition + 1, repetition + 1);
                let item = match item_field(field, inner) {
                    None => self.content(inner, definition, repetition, depth + 1)?,
                    Some(item) => self.node(item, definition, repetition, depth + 1)?,
                };
                Ok(Node::List(Repeated {
                    item: Box::new(item),
                    definition: definition - 1,
                    item_definition: definition,
                    repetition,
                    leaves: start..self.columns.len(),
                }))
            }
            (Kind::Map, [entries]) if is_entries(entries) => {
                let (definition, repetition) = (definition + 1, repetition + 1);
                let [key, value] = entries.get_fields() else {
                    return Err(format!("the map `{}` has no key and value", field.name()));
                };
                let key = self.node(key, definition, repetition, depth + 1)?;
                let value = self.node(value, definition, repetition, depth + 1)?;
                Ok(Node::Map(Repeated {
                    item: Box::new([key, value]),
                    definition: definition - 1,
                    item_definition: definition,
                    repetition,
                    leaves: start..self.columns.len(),
                }))
            }
            (_, inner) => {
                let mut fields = Vec::with_capacity(inner.len());
                for field in inner {
                    let node = self.node(field, definition, repetition, depth + 1)?;
                    fields.push((field.name(), node));
                }
                let leaves = start..self.columns.len();
                if leaves.is_empty() {
                    return Err(format!("the group `{}` has no columns", field.name()));
                }
                group(fields, definition, leaves)
            }
        }
    }
}

fn group(fields: Vec<(&str, Node)>, definition: i16, leaves: Range<usize>) -> Result<Node, String> {
    let mut template = Map::with_capacity(fields.len());
    let mut nodes = Vec::with_capacity(fields.len());
    for (name, node) in fields {
        if template.insert(name.to_owned(), Value::Null).is_some() {
            return Err(twice(name));
        }
        nodes.push(node);
    }
    Ok(Node::Group {
        template,
        fields: nodes,
        definition,
        leaves,
    })
}

fn twice(name: &str) -> String {
    format!("there are two columns `{name}`")
}

fn n_leaves(field: &Type, depth: usize) -> Result<usize, String> {
    if field.is_primitive() {
        return Ok(1);
    }
    if depth > DEEPEST {
        return Err("columns are nested too deeply".into());
    }
    let fields = field.get_fields().iter();
    fields.map(|field| n_leaves(field, depth + 1)).sum()
}

#[derive(PartialEq, Eq)]
enum Kind {
    Struct,
    List,
    Map,
}

fn kind_of(field: &Type) -> Kind {
    let info = field.get_basic_info();
    match (info.logical_type_ref(), info.converted_type()) {
        (Some(LogicalType::List), _) | (None, ConvertedType::LIST) => Kind::List,
        (Some(LogicalType::Map), _) | (None, ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE) => {
            Kind::Map
        }
        _ => Kind::Struct,
    }
}

/// Fields of the root have no repetition when they are damaged.
fn repetition_of(field: &Type) -> Repetition {
    let info = field.get_basic_info();
    if info.has_repetition() {
        info.repetition()
    } else {
        Repetition::REQUIRED
    }
}

fn is_entries(field: &Type) -> bool {
    field.is_group()
        && repetition_of(field) == Repetition::REPEATED
        && field.get_fields().len() == 2
}

/// The item inside the repeated group of a list; nothing when, as older writers
/// have it, the repeated field is the item. These are the rules of the format:
/// <https://github.com/apache/parquet-format/blob/master/LogicalTypes.md#lists>
fn item_field<'a>(list: &Type, repeated: &'a Type) -> Option<&'a Type> {
    if !repeated.is_group() {
        return None;
    }
    match repeated.get_fields() {
        [item] if repetition_of(item) == Repetition::REPEATED => None,
        [item] => {
            let is_item = repeated.name() == "array"
                || repeated.name().strip_suffix("_tuple") == Some(list.name());
            (!is_item).then_some(&**item)
        }
        _ => None,
    }
}
