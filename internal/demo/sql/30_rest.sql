CREATE INDEX ON products (category_id);
CREATE INDEX ON products USING gin (search);
CREATE INDEX ON products USING gin (tags);
CREATE INDEX customers_by_name ON customers (lower(name));
CREATE INDEX ON orders (customer_id, placed_at);
CREATE INDEX open_orders ON orders (placed_at) WHERE status IN ('new', 'paid', 'packed');
CREATE INDEX ON order_items (product_id);
CREATE INDEX ON payments (order_id);
CREATE INDEX ON events (session_id);

CREATE VIEW turnover AS
SELECT date_trunc('month', o.placed_at AT TIME ZONE 'UTC')::date AS month, count(DISTINCT o.id) AS orders, sum(i.total) AS total
FROM orders o JOIN order_items i ON i.order_id = o.id WHERE o.status <> 'cancelled' GROUP BY 1;
COMMENT ON VIEW turnover IS 'Orders and money by month, without what was cancelled.';

CREATE MATERIALIZED VIEW bestsellers AS
SELECT p.id, p.name, sum(i.quantity) AS sold FROM products p JOIN order_items i ON i.product_id = p.id GROUP BY p.id, p.name;
CREATE UNIQUE INDEX ON bestsellers (id);

ANALYZE;
