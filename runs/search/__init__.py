"""Search in everything an effect said and was told; on both databases the same answers.

query.parse(text) → Query; find.find(project, query), find.find_in_run(run, query),
find.runs_with(project, query); indexing.index_pending(), indexing.rebuild(), indexing.lag(project)
"""
