"""A table as PyIceberg sees it: what `expected.json` of a fixture holds.

    open_table  one table of a SQLite catalog, created by whomever
    describe    snapshots, log, refs, rows at each snapshot, data files
    inspect     its metadata tables

Snapshot ids are strings: they pass 2^53, where numbers in JavaScript stop being exact.
"""

import os

import canonical
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFileContent

ID_COLUMNS = {"snapshot_id", "parent_id", "added_snapshot_id"}


def open_table(catalog_db, catalog_name, warehouse, name):
    """The catalog must exist: PyIceberg is told to create nothing in it."""
    if not os.path.isfile(catalog_db):
        raise FileNotFoundError(f"no catalog database at {catalog_db}")
    catalog = SqlCatalog(
        catalog_name,
        uri=f"sqlite:///{os.path.abspath(catalog_db)}",
        warehouse=warehouse,
        init_catalog_tables="false",
    )
    return catalog.load_table(name)


def describe(table):
    """Everything that another reader of the table must agree on."""
    metadata = table.metadata
    return {
        "name": ".".join(table.name()),
        "location": metadata.location,
        "metadata_location": table.metadata_location,
        "table_uuid": str(metadata.table_uuid),
        "format_version": metadata.format_version,
        "last_sequence_number": metadata.last_sequence_number,
        "current_snapshot_id": identifier(metadata.current_snapshot_id),
        "snapshots": [snapshot(each) for each in metadata.snapshots],
        "snapshot_log": [
            {"snapshot_id": str(entry.snapshot_id), "timestamp_ms": entry.timestamp_ms}
            for entry in table.history()
        ],
        "refs": {
            name: {"snapshot_id": str(ref.snapshot_id), "type": ref.snapshot_ref_type.value}
            for name, ref in metadata.refs.items()
        },
        "rows": canonical.rows(table.scan().to_arrow()),
        "rows_at": {
            str(each.snapshot_id): canonical.rows(
                table.scan(snapshot_id=each.snapshot_id).to_arrow()
            )
            for each in metadata.snapshots
        },
        "live_data_files": live_data_files(table),
        "all_data_files": all_data_files(table),
    }


def snapshot(each):
    return {
        "snapshot_id": str(each.snapshot_id),
        "parent_snapshot_id": identifier(each.parent_snapshot_id),
        "sequence_number": each.sequence_number,
        "timestamp_ms": each.timestamp_ms,
        "schema_id": each.schema_id,
        "manifest_list": each.manifest_list,
        "operation": each.summary.operation.value,
        "summary": dict(each.summary.additional_properties),
    }


def live_data_files(table):
    """The files that a scan of the current snapshot reads."""
    found = [
        {
            "file_path": task.file.file_path,
            "record_count": task.file.record_count,
            "file_size_in_bytes": task.file.file_size_in_bytes,
        }
        for task in table.scan().plan_files()
    ]
    return sorted(found, key=lambda file: file["file_path"])


def all_data_files(table):
    """The paths of `inspect.all_data_files`: each live entry of each manifest that a
    retained snapshot lists, a manifest counted once. Read here from the manifests,
    because `inspect` fails on a table with a UUID column."""
    manifests = {
        manifest.manifest_path: manifest
        for each in table.metadata.snapshots
        for manifest in each.manifests(table.io)
    }
    return sorted(
        entry.data_file.file_path
        for manifest in manifests.values()
        for entry in manifest.fetch_manifest_entry(table.io)
        if entry.data_file.content == DataFileContent.DATA
    )


def inspect(table):
    """The metadata tables, less `readable_metrics`, which repeats other columns.

    Snapshots and history keep their order; the others, which have none, are sorted.
    A table that PyIceberg fails to build (files, where a column is a UUID) is null.
    """
    look, order = table.inspect, canonical.text
    return {
        "snapshots": comparable(look.snapshots),
        "history": comparable(look.history),
        "files": comparable(look.files, order),
        "all_data_files": comparable(look.all_data_files, order),
        "manifests": comparable(look.manifests, order),
        "refs": comparable(look.refs, order),
        "entries": comparable(look.entries, order) if table.current_snapshot() else [],
    }


def comparable(metadata_table, order=None):
    try:
        arrow = metadata_table()
    except pa.ArrowNotImplementedError:
        return None
    except pa.ArrowInvalid as error:
        if "at least one table" not in str(error):
            raise
        return []  # of no manifest it makes no table, not an empty one
    if "readable_metrics" in arrow.column_names:
        arrow = arrow.drop_columns(["readable_metrics"])
    found = canonical.records(arrow)
    for record in found:
        for column in ID_COLUMNS & record.keys():
            record[column] = identifier(record[column])
    return sorted(found, key=order) if order else found


def identifier(number):
    return None if number is None else str(number)
