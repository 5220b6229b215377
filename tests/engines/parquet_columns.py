"""The columns of a Parquet file: how each is stored, what it means, and its field id.

    python parquet_columns.py FILE
"""

import canonical
import pyarrow.parquet as pq


def main(path):
    schema = pq.read_schema(path)
    columns = pq.ParquetFile(path).schema
    return [
        {
            "name": column.name,
            "physical": column.physical_type,
            "logical": str(column.logical_type),
            "length": column.length,
            "required": column.max_definition_level == 0,
            "field_id": schema.field(number).metadata[b"PARQUET:field_id"].decode(),
        }
        for number, column in ((n, columns.column(n)) for n in range(len(schema)))
    ]


if __name__ == "__main__":
    canonical.run(main, "parquet_columns.py FILE")
