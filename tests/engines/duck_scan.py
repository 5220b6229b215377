"""The rows of a table as DuckDB reads them from its metadata.json, no catalog asked.

    python duck_scan.py METADATA_JSON

The extensions come from Python packages, so nothing is downloaded.
"""

import importlib.util
from pathlib import Path

import canonical
import duckdb


def main(metadata_json):
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    for name in ("avro", "iceberg"):  # iceberg needs avro
        connection.load_extension(str(extension(name)))
    connection.execute("SET TimeZone = 'UTC'")
    found = connection.execute("SELECT * FROM iceberg_scan(?)", [metadata_json])
    return {"rows": canonical.rows(found.to_arrow_table())}


def extension(name):
    package = importlib.util.find_spec(f"duckdb_extension_{name}")
    folder = Path(package.submodule_search_locations[0])
    return next(folder.glob(f"extensions/v{duckdb.__version__}/*.duckdb_extension"))


if __name__ == "__main__":
    canonical.run(main, "duck_scan.py METADATA_JSON")
