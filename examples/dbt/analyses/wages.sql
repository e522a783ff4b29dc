SELECT region, dp_cdf(wage, 0, 500000, 1024)
FROM {{ ref('people') }}
WHERE region IN ('north', 'south')
GROUP BY region
