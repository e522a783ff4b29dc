"""A task of Airflow that asks one statement a month; what is tried again under the same request costs nothing."""

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

STATEMENT = "SELECT dp_cdf(wage, 0, 500000, 1024) FROM people"

with DAG("wages", schedule="@monthly", catchup=False):
    BashOperator(
        task_id="curve",
        bash_command=f'dpcurves sql "$WAREHOUSE" "{STATEMENT}" --ledger "$LEDGER" --epsilon 0.1 '
        '--request-id "wages-{{ ds }}" --json "$OUT/wages-{{ ds }}.json"',
        append_env=True,
        retries=3,
    )
