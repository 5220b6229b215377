"""A catalog database with two catalogs in it, made by PyIceberg.

    python make_catalogs.py CATALOG_DB WAREHOUSE_URI v0|v1

v0 lacks the column iceberg_type, as databases of long ago do. In each catalog, `kiosko` and
`other`, there is a table shop.products, of as many rows as its catalog's name has letters.
"""

import sqlite3
import warnings

import canonical
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog


def main(catalog_db, warehouse, version):
    if version not in ("v0", "v1"):
        raise ValueError(f"expected v0 or v1, found {version}")
    uri = f"sqlite:///{catalog_db}"
    SqlCatalog("kiosko", uri=uri, warehouse=warehouse).close()
    if version == "v0":
        with sqlite3.connect(catalog_db) as connection:
            connection.execute("ALTER TABLE iceberg_tables DROP COLUMN iceberg_type")
        connection.close()
    made = {}
    for name in ("kiosko", "other"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the database is of v0 is known
            catalog = SqlCatalog(
                name, uri=uri, warehouse=f"{warehouse}/{name}", init_catalog_tables="false"
            )
        catalog.create_namespace("shop")
        rows = pa.table({"id": pa.array(range(len(name)), pa.int64()), "letter": list(name)})
        table = catalog.create_table("shop.products", schema=rows.schema)
        table.append(rows)
        made[name] = table.metadata_location
        catalog.close()
    return made


if __name__ == "__main__":
    canonical.run(main, "make_catalogs.py CATALOG_DB WAREHOUSE_URI v0|v1")
