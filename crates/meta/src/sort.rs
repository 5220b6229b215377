//! Sort orders: how rows are arranged inside a file (specification, "Sorting").
//!
//! Order 0 has no fields and means unsorted.

use crate::Result;
use crate::json::At;
use crate::transform::Transform;
use serde_json::{Value as Json, json};

/// How rows are arranged inside a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortOrder {
    /// The id that data files refer to.
    pub order_id: i32,
    /// The keys, the most significant first.
    pub fields: Vec<SortField>,
}

/// One key of a sort order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortField {
    /// The column.
    pub source_id: i32,
    /// What is applied to it before comparing.
    pub transform: Transform,
    /// Whether the largest value comes first.
    pub descending: bool,
    /// Whether nulls come before every value.
    pub nulls_first: bool,
}

impl SortOrder {
    /// Order 0: rows as they come.
    pub fn unsorted() -> SortOrder {
        SortOrder { order_id: 0, fields: Vec::new() }
    }

    /// Reads a sort order from its JSON form.
    pub fn from_json(at: &At<'_>) -> Result<SortOrder> {
        let mut fields = Vec::new();
        for item in at.need("fields")?.items()? {
            let transform = item.need("transform")?;
            let direction = item.need("direction")?;
            let nulls = item.need("null-order")?;
            fields.push(SortField {
                source_id: item.need("source-id")?.int()?,
                transform: Transform::parse(transform.string()?)
                    .ok_or_else(|| transform.wrong("a transform, such as bucket[16]"))?,
                descending: match direction.string()? {
                    "asc" => false,
                    "desc" => true,
                    _ => return Err(direction.wrong("asc or desc")),
                },
                nulls_first: match nulls.string()? {
                    "nulls-first" => true,
                    "nulls-last" => false,
                    _ => return Err(nulls.wrong("nulls-first or nulls-last")),
                },
            });
        }
        Ok(SortOrder { order_id: at.need("order-id")?.int()?, fields })
    }

    /// The JSON form.
    pub fn to_json(&self) -> Json {
        let field = |field: &SortField| {
            json!({
                "transform": field.transform.to_string(),
                "source-id": field.source_id,
                "direction": if field.descending { "desc" } else { "asc" },
                "null-order": if field.nulls_first { "nulls-first" } else { "nulls-last" },
            })
        };
        json!({
            "order-id": self.order_id,
            "fields": self.fields.iter().map(field).collect::<Vec<_>>(),
        })
    }
}
