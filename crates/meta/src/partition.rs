//! Partition specs: how rows are grouped into files (specification, "Partitioning").
//!
//! A spec is a list of fields; each takes a column, applies a transform, and gives one value for the
//! whole file. All values of a file together are its partition tuple.
//!
//! ```json
//!   {"spec-id": 1, "fields": [
//!     {"source-id": 2, "field-id": 1000, "name": "store_id",     "transform": "identity"},
//!     {"source-id": 7, "field-id": 1001, "name": "order_ts_day", "transform": "day"}]}
//! ```
//!
//! A table keeps every spec it ever had: each manifest belongs to one, and old files stay as they
//! were grouped. Spec 0 without fields is the unpartitioned one.

use crate::json::At;
use crate::schema::Schema;
use crate::transform::Transform;
use crate::types::Primitive;
use crate::value::Value;
use crate::{Error, Result};
use serde_json::{Value as Json, json};

/// The lowest id of a partition field; one less is the `last-partition-id` of a table without any.
pub const FIRST_PARTITION_FIELD_ID: i32 = 1000;

/// How rows are grouped into files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionSpec {
    /// The id that manifests refer to.
    pub spec_id: i32,
    /// One field for each value of the partition tuple, in order.
    pub fields: Vec<PartitionField>,
}

/// One value of the partition tuple.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionField {
    /// The column it is computed from.
    pub source_id: i32,
    /// Its own field id, unique in the table.
    pub field_id: i32,
    /// Its name.
    pub name: String,
    /// How it is computed.
    pub transform: Transform,
}

/// The partition values of a file: one for each field of its spec, in the spec's order.
pub type Tuple = Vec<Option<Value>>;

impl PartitionSpec {
    /// Spec 0: everything in one group.
    pub fn unpartitioned() -> PartitionSpec {
        PartitionSpec { spec_id: 0, fields: Vec::new() }
    }

    /// Whether every file falls into the one group: no fields, or only void ones.
    pub fn is_unpartitioned(&self) -> bool {
        self.fields.iter().all(|field| field.transform == Transform::Void)
    }

    /// The type of each partition value, in order.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when a source column is gone from every schema or is not a primitive,
    /// or when the transform is unknown: such a tuple can be read, but not written.
    pub fn tuple_types(&self, schemas: &[Schema]) -> Result<Vec<Primitive>> {
        self.fields
            .iter()
            .map(|field| {
                let source = schemas.iter().rev().find_map(|s| s.field_by_id(field.source_id));
                source
                    .and_then(|source| source.field_type.primitive())
                    .and_then(|source| field.transform.result_type(source))
                    .ok_or_else(|| {
                        Error::unsupported(
                            format!("writing the partition field {:?}", field.name),
                            format!(
                                "its source column {} or its transform {} is unknown",
                                field.source_id, field.transform
                            ),
                        )
                    })
            })
            .collect()
    }

    /// Reads a spec from its JSON form.
    pub fn from_json(at: &At<'_>) -> Result<PartitionSpec> {
        Ok(PartitionSpec {
            spec_id: at.need("spec-id")?.int()?,
            fields: PartitionSpec::fields_from_json(&at.need("fields")?)?,
        })
    }

    /// Reads only the fields, as v1 metadata and manifest headers hold them. Fields of early v1
    /// tables have no ids: they are counted from 1000 by position.
    pub fn fields_from_json(at: &At<'_>) -> Result<Vec<PartitionField>> {
        let mut fields = Vec::new();
        for (item, position) in at.items()?.zip(FIRST_PARTITION_FIELD_ID..) {
            let transform = item.need("transform")?;
            fields.push(PartitionField {
                source_id: item.need("source-id")?.int()?,
                field_id: item.get("field-id").map(|id| id.int()).transpose()?.unwrap_or(position),
                name: item.need("name")?.string()?.to_string(),
                transform: Transform::parse(transform.string()?)
                    .ok_or_else(|| transform.wrong("a transform, such as bucket[16]"))?,
            });
        }
        Ok(fields)
    }

    /// The JSON form.
    pub fn to_json(&self) -> Json {
        json!({"spec-id": self.spec_id, "fields": self.fields_to_json()})
    }

    /// The JSON form of only the fields.
    pub fn fields_to_json(&self) -> Json {
        self.fields
            .iter()
            .map(|field| {
                json!({
                    "source-id": field.source_id,
                    "field-id": field.field_id,
                    "transform": field.transform.to_string(),
                    "name": field.name,
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_without_ids_count_from_1000() {
        let json = json!([
            {"name": "a", "source-id": 1, "transform": "identity"},
            {"name": "b", "source-id": 2, "transform": "day"}]);
        let fields = PartitionSpec::fields_from_json(&At::root("t", &json)).unwrap();
        assert_eq!(fields.iter().map(|f| f.field_id).collect::<Vec<_>>(), [1000, 1001]);
    }

    #[test]
    fn only_void_fields_is_unpartitioned() {
        let transform = Transform::Void;
        let field = PartitionField { source_id: 1, field_id: 1000, name: "a".into(), transform };
        assert!(PartitionSpec { spec_id: 1, fields: vec![field] }.is_unpartitioned());
    }
}
