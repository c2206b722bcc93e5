//! The functions that a record offers, with the types of their parameters (JSON Schema).

use serde_json::{Map, Value as Json};

use super::value::Type;

/// A function as a record describes it.
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    parameters: Option<&'a Map<String, Json>>,
    required: Vec<&'a str>,
}

/// What is known of the type of a parameter; `None` where it is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parameter<'a> {
    pub(super) kind: Option<Type>,
    /// The type as written, which Java and JavaScript need.
    pub(super) type_name: &'a str,
    /// The type of the items as written; empty when none is.
    pub(super) items_name: &'a str,
    /// Tuples arrive as lists; see BFCL's checker.
    pub(super) is_tuple: bool,
    /// The type of the items of a list.
    pub(super) items: Option<Type>,
}

impl<'a> Function<'a> {
    /// All functions in `tools` or `function`: a list or a single one, as OpenAI,
    /// BFCL or xLAM write them.
    pub(super) fn all(tools: &'a Json) -> Vec<Self> {
        match tools {
            Json::Array(list) => list.iter().filter_map(Self::read).collect(),
            one => Self::read(one).into_iter().collect(),
        }
    }

    fn read(tool: &'a Json) -> Option<Self> {
        let tool = match tool.get("function") {
            Some(inner @ Json::Object(_)) => inner,
            _ => tool,
        };
        let schema = tool.get("parameters").and_then(Json::as_object);
        let properties = schema.and_then(|schema| schema.get("properties"));
        let required = schema.and_then(|schema| schema.get("required"));
        let required = required.and_then(Json::as_array).into_iter().flatten();
        Some(Self {
            name: tool.get("name")?.as_str()?,
            // xLAM writes the properties without a schema around them.
            parameters: match properties {
                Some(properties) => properties.as_object(),
                None => schema.filter(|schema| schema.values().all(Json::is_object)),
            },
            required: required.filter_map(Json::as_str).collect(),
        })
    }

    pub(super) fn required(&self) -> &[&'a str] {
        &self.required
    }

    /// The names of the parameters, in the order of the description.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.parameters
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
    }

    /// A parameter; `None` when the function has no such parameter.
    pub(super) fn parameter(&self, name: &str) -> Option<Parameter<'a>> {
        let schema = self.parameters?.get(name)?;
        let written = schema.get("type").and_then(Json::as_str).unwrap_or("");
        let items = schema.get("items").and_then(|items| items.get("type"));
        let items = items.and_then(Json::as_str);
        let kind = kind(written);
        Some(Parameter {
            kind,
            type_name: written,
            items_name: items.unwrap_or_default(),
            is_tuple: written == "tuple",
            items: match kind {
                Some(Type::List) => items.and_then(self::kind),
                _ => None,
            },
        })
    }
}

/// BFCL's names of types (of Python, Java and JavaScript), and those of JSON schema.
fn kind(name: &str) -> Option<Type> {
    Some(match name {
        "string" | "any" | "str" | "String" | "char" => Type::Text,
        "integer" | "int" | "byte" | "short" | "long" | "Bigint" => Type::Int,
        "float" | "number" | "double" => Type::Float,
        "boolean" | "bool" | "Boolean" => Type::Bool,
        "array" | "tuple" | "list" | "Array" | "ArrayList" => Type::List,
        "dict" | "object" | "HashMap" => Type::Dict,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn descriptions_of_three_sources() {
        let tools = json!([
            {"name": "f", "parameters": {"type": "dict", "properties": {
                "a": {"type": "array", "items": {"type": "float"}}}, "required": ["a"]}},
            {"type": "function", "function": {"name": "g", "parameters": {"type": "object",
                "properties": {"a": {"type": "number"}}}}},
            {"name": "h", "parameters": {"type": {"type": "str", "default": "x"}}},
            "odd",
        ]);
        let functions = Function::all(&tools);
        let names: Vec<_> = functions.iter().map(|function| function.name).collect();
        assert_eq!(names, ["f", "g", "h"]);
        assert_eq!(functions[0].required(), ["a"]);
        let a = functions[0].parameter("a").expect("a parameter");
        assert_eq!((a.kind, a.items), (Some(Type::List), Some(Type::Float)));
        assert_eq!(functions[2].names().collect::<Vec<_>>(), ["type"]);
        assert!(functions[1].parameter("b").is_none());
    }
}
