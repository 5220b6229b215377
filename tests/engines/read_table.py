"""PyIceberg's view of one table of a SQLite catalog.

    python read_table.py CATALOG_DB CATALOG_NAME WAREHOUSE_URI TABLE

Prints what `expected.json` of a fixture holds for a table, and under `inspect`
the metadata tables. pyiceberg_table.py gives the form.
"""

import canonical
import pyiceberg_table


def main(catalog_db, catalog_name, warehouse, name):
    table = pyiceberg_table.open_table(catalog_db, catalog_name, warehouse, name)
    return {**pyiceberg_table.describe(table), "inspect": pyiceberg_table.inspect(table)}


if __name__ == "__main__":
    canonical.run(main, "read_table.py CATALOG_DB CATALOG_NAME WAREHOUSE_URI TABLE")
