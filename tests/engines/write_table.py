"""Rows of a CSV file, appended to a table or put in place of its rows, by PyIceberg.

    python write_table.py CATALOG_DB CATALOG_NAME WAREHOUSE_URI TABLE append|overwrite CSV

The CSV has a header; its columns are those of the table, in any order, and an
empty field is null. Prints the new state as read_table.py does.
"""

import canonical
import pyiceberg_table
import read_table
from pyarrow import csv


def main(catalog_db, catalog_name, warehouse, name, verb, path):
    if verb not in ("append", "overwrite"):
        raise ValueError(f"expected append or overwrite, found {verb}")
    table = pyiceberg_table.open_table(catalog_db, catalog_name, warehouse, name)
    batch = read_csv(path, table.schema().as_arrow())
    if verb == "append":
        table.append(batch)
    else:
        table.overwrite(batch)
    return read_table.main(catalog_db, catalog_name, warehouse, name)


def read_csv(path, schema):
    options = csv.ConvertOptions(
        column_types=schema,
        include_columns=schema.names,
        strings_can_be_null=True,
        null_values=[""],
    )
    return csv.read_csv(path, convert_options=options).cast(schema)


if __name__ == "__main__":
    canonical.run(
        main, "write_table.py CATALOG_DB CATALOG_NAME WAREHOUSE_URI TABLE append|overwrite CSV"
    )
