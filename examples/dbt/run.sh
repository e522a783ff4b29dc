#!/bin/sh
# dbt builds the tables, and writes the statement with their names; dpcurves asks it. Run again, it costs nothing.
set -e
dbt --quiet run --profiles-dir .
dbt --quiet compile --profiles-dir .
test -e budget.db || dpcurves ledger create sqlite:///budget.db --dataset people --epsilon 2 --adjacency add-remove \
    --unit person_id --rows-per-unit 1
dpcurves sql warehouse.duckdb "$(cat target/compiled/wages/analyses/wages.sql)" --ledger sqlite:///budget.db \
    --epsilon 1 --request-id wages-2026 --json wages.json --csv wages.csv
