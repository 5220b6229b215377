"""A table written once more by PyIceberg: the same columns and rows, in a table of its own.

    python copy_table.py CATALOG_DB CATALOG_NAME WAREHOUSE_URI SOURCE TARGET

Prints what read_table.py prints for the copy.
"""

import canonical
import pyiceberg_table
import read_table


def main(catalog_db, catalog_name, warehouse, source, target):
    table = pyiceberg_table.open_table(catalog_db, catalog_name, warehouse, source)
    copy = table.catalog.create_table(target, schema=table.schema())
    copy.append(table.scan().to_arrow())
    return read_table.main(catalog_db, catalog_name, warehouse, target)


if __name__ == "__main__":
    canonical.run(main, "copy_table.py CATALOG_DB CATALOG_NAME WAREHOUSE_URI SOURCE TARGET")
