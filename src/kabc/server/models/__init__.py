"""What goes over the wire, field by field. /openapi.json is made from these models, and a page from that.

Times are seconds since the epoch, by the clock of the store. Groups are numbered from 1. Answers have the one form of
results (kabc.results.schema, docs/schema/result-2.json).
"""
