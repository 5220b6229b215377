"""The rows of a CSV file, appended again and again while others write to the table too.

    python append_often.py CATALOG_DB CATALOG_NAME WAREHOUSE_URI TABLE CSV TIMES

Whoever loses the race loads the table anew and tries again. Prints how often that happened.
"""

import canonical
import pyiceberg_table
import write_table
from pyiceberg.exceptions import CommitFailedException


def main(catalog_db, catalog_name, warehouse, name, path, times):
    lost = 0
    table = pyiceberg_table.open_table(catalog_db, catalog_name, warehouse, name)
    batch = write_table.read_csv(path, table.schema().as_arrow())
    for _ in range(int(times)):
        while True:
            try:
                table.append(batch)
                break
            except CommitFailedException:
                lost += 1
                table.refresh()
        table.refresh()
    return {"appended": int(times), "lost": lost}


if __name__ == "__main__":
    canonical.run(
        main, "append_often.py CATALOG_DB CATALOG_NAME WAREHOUSE_URI TABLE CSV TIMES"
    )
