//! Schemas: the columns of a table, known by id and only shown by name.
//!
//! A column's id never changes and is never given to another column. Files store the id beside each
//! column, so a rename touches no file and a dropped name can come back without its old values.
//!
//! ```json
//!   {"type": "struct", "schema-id": 0, "identifier-field-ids": [1], "fields": [
//!     {"id": 1, "name": "product_id", "type": "string", "required": true},
//!     {"id": 2, "name": "unit_cost",  "type": "double", "required": false, "doc": "in dollars"}]}
//! ```
//!
//! Specification: "Schemas and Data Types", Appendix C "Schemas".

use crate::json::At;
use crate::types::{Primitive, Type};
use crate::{Error, Result};
use serde_json::{Value, json};

/// The columns of a table at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// The id that snapshots and the table's `current-schema-id` refer to.
    pub schema_id: i32,
    /// The columns, in order.
    pub fields: Vec<Field>,
    /// The ids of the columns that identify a row; may be empty.
    pub identifier_field_ids: Vec<i32>,
}

/// A column, or a field of a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Unique in the table, for ever.
    pub id: i32,
    /// The name shown; may change.
    pub name: String,
    /// Whether every row has a value.
    pub required: bool,
    /// The type.
    pub field_type: Type,
    /// A comment, if any.
    pub doc: Option<String>,
    /// The value of rows in files older than the column (v3), in JSON single-value form.
    pub initial_default: Option<Value>,
    /// The value of rows whose writer names none (v3), in JSON single-value form.
    pub write_default: Option<Value>,
}

impl Field {
    /// A column that every row must fill.
    pub fn required(id: i32, name: &str, primitive: Primitive) -> Field {
        Field { required: true, ..Field::optional(id, name, primitive) }
    }

    /// A column that may be null.
    pub fn optional(id: i32, name: &str, primitive: Primitive) -> Field {
        Field {
            id,
            name: name.into(),
            required: false,
            field_type: Type::Primitive(primitive),
            doc: None,
            initial_default: None,
            write_default: None,
        }
    }

    /// Reads a list of fields from its JSON form.
    pub fn list_from_json(at: &At<'_>) -> Result<Vec<Field>> {
        at.items()?.map(|item| Field::from_json(&item)).collect()
    }

    fn from_json(at: &At<'_>) -> Result<Field> {
        Ok(Field {
            id: at.need("id")?.int()?,
            name: at.need("name")?.string()?.to_string(),
            required: at.need("required")?.boolean()?,
            field_type: Type::from_json(&at.need("type")?)?,
            doc: at.get("doc").map(|doc| doc.string().map(str::to_string)).transpose()?,
            initial_default: at.get("initial-default").map(|default| default.value().clone()),
            write_default: at.get("write-default").map(|default| default.value().clone()),
        })
    }

    /// The JSON form.
    pub fn to_json(&self) -> Value {
        let mut json = json!({
            "id": self.id,
            "name": self.name,
            "type": self.field_type.to_json(),
            "required": self.required,
        });
        let extras = [
            ("doc", self.doc.as_ref().map(|doc| json!(doc))),
            ("initial-default", self.initial_default.clone()),
            ("write-default", self.write_default.clone()),
        ];
        if let Some(object) = json.as_object_mut() {
            object.extend(extras.into_iter().filter_map(|(key, v)| Some((key.to_string(), v?))));
        }
        json
    }
}

impl Schema {
    /// A schema with id 0 and no identifier fields.
    pub fn new(fields: Vec<Field>) -> Schema {
        Schema { schema_id: 0, fields, identifier_field_ids: Vec::new() }
    }

    /// The top-level column of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The field with this id, at any depth inside structs.
    pub fn field_by_id(&self, id: i32) -> Option<&Field> {
        fn find(fields: &[Field], id: i32) -> Option<&Field> {
            fields.iter().find_map(|field| match &field.field_type {
                _ if field.id == id => Some(field),
                Type::Struct(inner) => find(inner, id),
                _ => None,
            })
        }
        find(&self.fields, id)
    }

    /// Every field id of the schema, nested ones included.
    pub fn ids(&self) -> Vec<i32> {
        self.fields.iter().flat_map(|f| [vec![f.id], f.field_type.ids()].concat()).collect()
    }

    /// Checks that ids and sibling names are unique.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the id or the name.
    pub fn check(&self) -> Result<()> {
        let mut ids = std::collections::BTreeSet::new();
        for id in self.ids() {
            if !ids.insert(id) {
                return Err(Error::invalid(
                    format!("a schema that uses field id {id} twice"),
                    "each field has an id of its own",
                ));
            }
        }
        check_names(&self.fields)
    }

    /// Reads a schema from its JSON form. A v1 schema may lack `schema-id`: it is 0.
    pub fn from_json(at: &At<'_>) -> Result<Schema> {
        let schema = Schema {
            schema_id: at.get("schema-id").map(|id| id.int()).transpose()?.unwrap_or(0),
            fields: Field::list_from_json(&at.need("fields")?)?,
            identifier_field_ids: match at.get("identifier-field-ids") {
                Some(ids) => ids.items()?.map(|id| id.int()).collect::<Result<_>>()?,
                None => Vec::new(),
            },
        };
        schema.check().map_err(|e| at.wrong(format!("a sound schema ({e})")))?;
        Ok(schema)
    }

    /// The JSON form.
    pub fn to_json(&self) -> Value {
        json!({
            "type": "struct",
            "fields": self.fields.iter().map(Field::to_json).collect::<Vec<_>>(),
            "schema-id": self.schema_id,
            "identifier-field-ids": self.identifier_field_ids,
        })
    }
}

/// Names are unique among siblings, at every depth.
fn check_names(fields: &[Field]) -> Result<()> {
    let mut names = std::collections::BTreeSet::new();
    for field in fields {
        if !names.insert(&field.name) {
            return Err(Error::invalid(
                format!("a schema with two columns named {:?}", field.name),
                "names are unique among siblings",
            ));
        }
        check_type(&field.field_type)?;
    }
    Ok(())
}

fn check_type(field_type: &Type) -> Result<()> {
    match field_type {
        Type::Primitive(_) => Ok(()),
        Type::Struct(fields) => check_names(fields),
        Type::List(list) => check_type(&list.element),
        Type::Map(map) => check_type(&map.key).and_then(|()| check_type(&map.value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_types_parse_and_print() {
        let json = json!({"type": "struct", "schema-id": 3, "identifier-field-ids": [1], "fields": [
            {"id": 1, "name": "k", "required": true, "type": "decimal(9, 2)", "doc": "key"},
            {"id": 2, "name": "m", "required": false, "type": {
                "type": "map", "key-id": 3, "key": "string", "value-id": 4, "value-required": true,
                "value": {"type": "list", "element-id": 5, "element": "fixed[16]",
                          "element-required": false}}},
            {"id": 6, "name": "s", "required": false, "type": {"type": "struct", "fields": [
                {"id": 7, "name": "x", "required": false, "type": "timestamptz"}]}},
        ]});
        let schema = Schema::from_json(&At::root("t", &json)).unwrap();
        assert_eq!(schema.to_json(), json);
        assert_eq!(schema.ids(), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(schema.field_by_id(7).unwrap().name, "x");
    }

    #[test]
    fn both_spellings_of_a_decimal_and_no_nonsense() {
        let decimal = Some(Primitive::Decimal { precision: 9, scale: 2 });
        assert_eq!(Primitive::parse("decimal(9,2)"), decimal);
        assert_eq!(Primitive::parse("decimal( 9, 2 )"), decimal);
        for name in ["decimal(39, 2)", "decimal(2, 9)", "decimal(9)", "fixed[-1]", "fixed[", "it"] {
            assert_eq!(Primitive::parse(name), None, "{name}");
        }
    }

    #[test]
    fn an_id_used_twice_is_refused_with_its_place() {
        let field = json!({"id": 1, "name": "a", "required": true, "type": "int"});
        let json = json!({"fields": [field, field]});
        let error = Schema::from_json(&At::root("v1.metadata.json", &json)).unwrap_err();
        assert!(error.to_string().contains("field id 1 twice"), "{error}");

        let field = |id| Field::optional(id, "x", Primitive::Int);
        let inner = Type::Struct(vec![field(3), field(4)]);
        let outer = Field { field_type: inner, ..field(1) };
        assert!(Schema::new(vec![outer]).check().unwrap_err().to_string().contains("\"x\""));
    }
}
