"""The files of τ-ARGUS: tables, records, hierarchies and a-priori lists, read and written."""
