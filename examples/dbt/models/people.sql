{{ config(materialized='table') }}
SELECT range AS person_id, (range * 37 % 500) * 1000 AS wage, CASE WHEN range % 3 = 0 THEN 'north' ELSE 'south' END AS region
FROM range(20000)
