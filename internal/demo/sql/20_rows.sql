SELECT setseed(0.2026);

INSERT INTO categories (parent_id, name, slug)
SELECT NULL, n, lower(n) FROM unnest(ARRAY['Books', 'Music', 'Garden', 'Kitchen', 'Toys', 'Bicycles']) AS n;
INSERT INTO categories (parent_id, name, slug)
SELECT p.id, a || ' ' || lower(p.name), lower(a) || '-' || p.slug
FROM categories p, unnest(ARRAY['New', 'Used', 'Rare', 'Great', 'Small']) AS a;

INSERT INTO products (category_id, sku, name, description, price, cost, weight_kg, tags, attributes, ages, delivery, thumbnail, active)
SELECT 7 + i % 30, 'P' || lpad(i::text, 9, '0'), initcap(a || ' ' || m || ' ' || t), 'The ' || a || ' ' || t || ' of ' || m || ', made to last. ' || repeat('It is ' || a || '. ', 1 + i % 9),
    round((1 + random() * 400)::numeric, 2), CASE WHEN i % 17 <> 0 THEN round((0.5 + random() * 200)::numeric, 4) END, CASE WHEN i % 5 <> 0 THEN (random() * 30)::real END,
    CASE i % 4 WHEN 0 THEN '{}' WHEN 1 THEN ARRAY[a] ELSE ARRAY[a, m, 'größe ' || (i % 7)::text] END,
    jsonb_build_object('colour', a, 'material', m, 'parts', i % 12, 'eco', i % 3 = 0), CASE WHEN i % 6 = 0 THEN int4range(i % 12, NULL) WHEN i % 6 = 1 THEN int4range(3, 12) END,
    (1 + i % 20) * interval '1 day' + (i % 24) * interval '1 hour', CASE WHEN i % 3 = 0 THEN decode(repeat(md5(i::text), 1 + i % 24), 'hex') END, i % 23 <> 0
FROM (SELECT i, (ARRAY['red', 'blue', 'quiet', 'sturdy', 'light', 'golden', 'plain', 'clever'])[1 + i % 8] AS a,
    (ARRAY['oak', 'steel', 'linen', 'glass', 'paper', 'wool', 'clay'])[1 + i % 7] AS m,
    (ARRAY['chair', 'lamp', 'atlas', 'kettle', 'violin', 'spade', 'puzzle', 'saddle', 'kite', 'bowl', 'clock'])[1 + i % 11] AS t
    FROM generate_series(1, 3000) AS i) AS x;
UPDATE products SET search = to_tsvector('english', name || ' ' || description);

INSERT INTO customers (uid, name, email, born, address, lat, lon, newsletter, joined, last_ip)
SELECT md5('customer ' || i)::uuid, f || ' ' || l, lower(translate(f || '.' || l, 'éøüşñ ''', 'eousn')) || i || '@example.org', date '1940-01-01' + (random() * 25000)::integer,
    CASE WHEN i % 9 <> 0 THEN jsonb_build_object('street', l || ' street ' || i % 200, 'city', c, 'zip', lpad((i % 99999)::text, 5, '0')) END,
    -60 + random() * 120, -180 + random() * 360, i % 3 = 0, timestamptz '2019-01-01 00:00+00' + random() * interval '2800 days',
    CASE WHEN i % 7 = 0 THEN ('2001:db8::' || to_hex(i))::inet ELSE ('10.' || i % 250 || '.' || i % 240 || '.' || i % 230)::inet END
FROM (SELECT i, (ARRAY['Ada', 'Chloé', 'Søren', 'Jürgen', 'Mei', 'Ayşe', 'Iñigo', 'Olga', 'Kwame', 'Noor', 'Tom'])[1 + i % 11] AS f,
    (ARRAY['Lovelace', 'Nakamura', 'O''Brien', 'Müller', 'García', 'Kowalska', 'Okafor', 'Haddad', 'Lindqvist', 'Rossi', 'van Dijk', 'Petrov', 'Singh'])[1 + i % 13] AS l,
    (ARRAY['Lyon', 'Oslo', 'Graz', 'Kyoto', 'Izmir', 'Cádiz', 'Gdańsk', 'Accra', 'Utrecht'])[1 + i % 9] AS c
    FROM generate_series(1, 20000) AS i) AS x;

INSERT INTO orders (customer_id, status, placed_at, wanted_on, gift, invoice, note)
SELECT 1 + (random() * 19999)::integer, (enum_range(NULL::order_status))[1 + (random() * 6)::integer], t, CASE WHEN i % 3 = 0 THEN (t + interval '9 days')::date END, i % 11 = 0,
    CASE WHEN i % 4 <> 0 THEN nextval('invoice_no') END, CASE i % 50 WHEN 0 THEN 'Please ring twice.' WHEN 1 THEN E'Leave it at the back door,\n"under the bench".' WHEN 2 THEN '' END
FROM (SELECT i, timestamptz '2024-01-01 00:00+00' + random() * interval '1060 days' AS t FROM generate_series(1, 60000) AS i) AS x;

INSERT INTO order_items (order_id, line, product_id, quantity, price)
SELECT o.id, l, 1 + (random() * 2999)::integer, 1 + (random() * 4)::integer, round((1 + random() * 400)::numeric, 2)
FROM orders o, generate_series(1, 1 + o.id % 5) AS l;

INSERT INTO payments (id, order_id, method, amount, paid_at, detail)
SELECT md5('payment ' || o.id)::uuid, o.id, (ARRAY['card', 'transfer', 'invoice', 'voucher'])[1 + o.id % 4], s.total, (o.placed_at + random() * interval '3 days') AT TIME ZONE 'UTC',
    CASE WHEN o.id % 4 = 0 THEN json_build_object('brand', 'Visa', 'last4', lpad((o.id % 10000)::text, 4, '0')) END
FROM orders o JOIN (SELECT order_id, sum(total) AS total FROM order_items GROUP BY order_id) s ON s.order_id = o.id
WHERE o.status <> 'new';

INSERT INTO reviews (product_id, customer_id, stars, title, body, helpful, written)
SELECT 1 + (random() * 2999)::integer, 1 + (random() * 19999)::integer, 1 + (random() * 4)::integer, CASE WHEN i % 4 <> 0 THEN 'Review no. ' || i END,
    CASE WHEN i % 5 <> 0 THEN repeat('I would buy it again, and so would my aunt. ', 1 + i % 8) END, CASE WHEN i % 3 = 0 THEN ARRAY[i % 100, i % 90] ELSE '{}' END,
    timestamptz '2024-02-01 00:00+00' + random() * interval '1000 days'
FROM generate_series(1, 15000) AS i;

INSERT INTO sessions (id, ip, device, started, lasted, opens)
SELECT md5('session ' || i)::uuid, ('10.' || i % 250 || '.' || i % 240 || '.' || i % 230)::inet, CASE WHEN i % 2 = 0 THEN ('08:00:2b:' || to_hex(16 + i % 200) || ':02:03')::macaddr END,
    t, random() * interval '40 minutes', (t AT TIME ZONE 'UTC')::time
FROM (SELECT i, timestamptz '2026-09-01 00:00+00' + random() * interval '90 days' AS t FROM generate_series(1, 25000) AS i) AS x;

INSERT INTO events (at, session_id, kind, data, took_ms)
SELECT s.started + random() * interval '20 minutes', s.id, (ARRAY['view', 'search', 'basket', 'checkout'])[k], CASE WHEN k < 3 THEN jsonb_build_object('page', k, 'query', left(md5(s.id::text), 6)) END,
    (random() * 900)::real
FROM sessions s, generate_series(1, 4) AS k WHERE s.started < '2026-11-30 23:00+00';
