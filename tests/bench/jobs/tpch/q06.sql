SELECT SUM(l_extendedprice * l_discount) AS revenue
FROM lineitem
WHERE l_shipdate >= DATE '${date}' AND l_shipdate < DATE '${date}' + INTERVAL '1' YEAR
  AND l_discount BETWEEN ${low} AND ${high} AND l_quantity < ${quantity}
