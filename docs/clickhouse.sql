-- A fleet of qsniff in ClickHouse: tables that read the streams of the broker, tables that keep what comes,
-- and the queries of dashboards. The messages are those of package fleet (go doc qsniff/fleet).
--
-- What was tried: ClickHouse 18.16 (Debian 12) made the tables, the views and ran the queries, with rows in them,
-- with two changes that its age asks for: tables of the engine Null in place of NATS (section 1), into which
-- messages were inserted, and visitParamExtract... in place of JSONExtract... in the views. Untried, for want
-- of a newer ClickHouse: the engine NATS, JSONExtract..., and the Parquet of section 5.
--
--   clickhouse-client --multiquery < clickhouse.sql
--
-- Before that, put into the server's configuration where the broker is and with which credentials; qsniff-hub
-- creds makes those of a hub, which may read everything:
--
--   <nats><credential_file>/etc/clickhouse-server/_hub.creds</credential_file></nats>
--
-- The engine subscribes to subjects while it runs. What the broker had before, or gets while ClickHouse is
-- away, is in the streams: qsniff-hub export -o parquet writes it, and INSERT INTO ... FROM INFILE takes it
-- (the last section). Rows that come twice are one in a ReplacingMergeTree: sensor, run and seq name a message.

CREATE DATABASE IF NOT EXISTS qsniff;

-- 1. What comes in: one table for each kind of message, a message a row.

CREATE TABLE qsniff.in_server (message String) ENGINE = NATS
SETTINGS nats_url = '127.0.0.1:4222', nats_subjects = 'qsniff.*.server', nats_format = 'JSONAsString', nats_queue_group = 'clickhouse';

CREATE TABLE qsniff.in_host (message String) ENGINE = NATS
SETTINGS nats_url = '127.0.0.1:4222', nats_subjects = 'qsniff.*.host', nats_format = 'JSONAsString', nats_queue_group = 'clickhouse';

CREATE TABLE qsniff.in_incident (message String) ENGINE = NATS
SETTINGS nats_url = '127.0.0.1:4222', nats_subjects = 'qsniff.*.incident', nats_format = 'JSONAsString', nats_queue_group = 'clickhouse';

CREATE TABLE qsniff.in_campaign (message String) ENGINE = NATS
SETTINGS nats_url = '127.0.0.1:4222', nats_subjects = 'qsniff._hub.campaign', nats_format = 'JSONAsString', nats_queue_group = 'clickhouse';

-- 2. What is kept.

CREATE TABLE qsniff.server
(
    time           DateTime,
    sensor         String,
    run            String,
    seq            UInt64,
    server         String,
    packets_in     UInt64,
    bytes_in       UInt64,
    packets_out    UInt64,
    bytes_out      UInt64,
    junk           UInt64,
    unasked        UInt64,
    unproven_bytes UInt64
)
ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(time) ORDER BY (sensor, server, time, run, seq);

CREATE TABLE qsniff.host
(
    time           DateTime,
    sensor         String,
    run            String,
    seq            UInt64,
    program        String,
    packets        UInt64,
    dropped        UInt64,
    unsent         UInt64,
    incidents_open UInt32
)
ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(time) ORDER BY (sensor, time, run, seq);

CREATE TABLE qsniff.incident
(
    time         DateTime,
    sensor       String,
    run          String,
    seq          UInt64,
    incident     UInt64,
    event        String,
    category     String,
    level        String,
    target       String,
    peak         Float64,
    requests     UInt64,
    source_count Float64
)
ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(time) ORDER BY (sensor, run, incident, seq);

CREATE TABLE qsniff.campaign
(
    time         DateTime,
    campaign     String,
    event_number UInt64,
    event        String,
    how          String,
    category     String,
    level        String,
    sensors      UInt32,
    servers      UInt32,
    peak         Float64,
    requests     UInt64,
    source_count Float64
)
ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(time) ORDER BY (campaign, event_number);

-- Sums of an hour, for months: one row for 360.
CREATE TABLE qsniff.server_hour
(
    hour        DateTime,
    sensor      String,
    server      String,
    packets_in  UInt64,
    bytes_in    UInt64,
    packets_out UInt64,
    bytes_out   UInt64,
    junk        UInt64
)
ENGINE = SummingMergeTree PARTITION BY toYYYYMM(hour) ORDER BY (sensor, server, hour);

-- 3. From one to the other.

CREATE MATERIALIZED VIEW qsniff.to_server TO qsniff.server AS
SELECT toDateTime(intDiv(JSONExtractInt(message, 'time'), 1000000000)) AS time, JSONExtractString(message, 'sensor') AS sensor,
       JSONExtractString(message, 'run') AS run, JSONExtractUInt(message, 'seq') AS seq, JSONExtractString(message, 'server') AS server,
       JSONExtractUInt(message, 'packets_in') AS packets_in, JSONExtractUInt(message, 'bytes_in') AS bytes_in,
       JSONExtractUInt(message, 'packets_out') AS packets_out, JSONExtractUInt(message, 'bytes_out') AS bytes_out,
       JSONExtractUInt(message, 'junk') AS junk, JSONExtractUInt(message, 'unasked') AS unasked, JSONExtractUInt(message, 'unproven_bytes') AS unproven_bytes
FROM qsniff.in_server;

CREATE MATERIALIZED VIEW qsniff.to_host TO qsniff.host AS
SELECT toDateTime(intDiv(JSONExtractInt(message, 'time'), 1000000000)) AS time, JSONExtractString(message, 'sensor') AS sensor,
       JSONExtractString(message, 'run') AS run, JSONExtractUInt(message, 'seq') AS seq, JSONExtractString(message, 'program') AS program,
       JSONExtractUInt(message, 'packets') AS packets, JSONExtractUInt(message, 'dropped') AS dropped, JSONExtractUInt(message, 'unsent') AS unsent,
       toUInt32(JSONExtractUInt(message, 'incidents_open')) AS incidents_open
FROM qsniff.in_host;

CREATE MATERIALIZED VIEW qsniff.to_incident TO qsniff.incident AS
SELECT toDateTime(intDiv(JSONExtractInt(message, 'time'), 1000000000)) AS time, JSONExtractString(message, 'sensor') AS sensor,
       JSONExtractString(message, 'run') AS run, JSONExtractUInt(message, 'seq') AS seq, JSONExtractUInt(message, 'incident') AS incident,
       JSONExtractString(message, 'event') AS event, JSONExtractString(message, 'category') AS category, JSONExtractString(message, 'level') AS level,
       JSONExtractString(message, 'target') AS target, JSONExtractFloat(message, 'peak') AS peak, JSONExtractUInt(message, 'requests') AS requests,
       JSONExtractFloat(message, 'source_count') AS source_count
FROM qsniff.in_incident;

CREATE MATERIALIZED VIEW qsniff.to_campaign TO qsniff.campaign AS
SELECT toDateTime(intDiv(JSONExtractInt(message, 'detected'), 1000000000)) AS time, JSONExtractString(message, 'campaign') AS campaign,
       JSONExtractUInt(message, 'event_number') AS event_number, JSONExtractString(message, 'event') AS event, JSONExtractString(message, 'how') AS how,
       JSONExtractString(message, 'category') AS category, JSONExtractString(message, 'level') AS level, toUInt32(JSONExtractUInt(message, 'sensors')) AS sensors,
       toUInt32(JSONExtractUInt(message, 'servers')) AS servers, JSONExtractFloat(message, 'peak') AS peak, JSONExtractUInt(message, 'requests') AS requests,
       JSONExtractFloat(message, 'source_count') AS source_count
FROM qsniff.in_campaign;

-- A message that comes twice counts twice here; the broker drops those within two minutes.
CREATE MATERIALIZED VIEW qsniff.to_server_hour TO qsniff.server_hour AS
SELECT toStartOfHour(toDateTime(intDiv(JSONExtractInt(message, 'time'), 1000000000))) AS hour, JSONExtractString(message, 'sensor') AS sensor,
       JSONExtractString(message, 'server') AS server, JSONExtractUInt(message, 'packets_in') AS packets_in, JSONExtractUInt(message, 'bytes_in') AS bytes_in,
       JSONExtractUInt(message, 'packets_out') AS packets_out, JSONExtractUInt(message, 'bytes_out') AS bytes_out, JSONExtractUInt(message, 'junk') AS junk
FROM qsniff.in_server;

-- 4. Queries of dashboards.

-- Queries a second of the fleet, of the last day.
SELECT toStartOfMinute(time) AS minute, sum(packets_in) / 60 AS queries_per_second, sum(bytes_out) * 8 / 60 AS bits_out_per_second
FROM qsniff.server FINAL WHERE time > now() - 86400 GROUP BY minute ORDER BY minute;

-- The busiest servers of the last hour, with how much they send for what they get.
SELECT server, sensor, sum(packets_in) / 3600 AS queries_per_second, sum(bytes_out) / greatest(sum(bytes_in), 1) AS gain
FROM qsniff.server FINAL WHERE time > now() - 3600 GROUP BY server, sensor ORDER BY queries_per_second DESC LIMIT 20;

-- Sensors that have not been heard of for a minute.
SELECT sensor, max(time) AS last FROM qsniff.host GROUP BY sensor HAVING last < now() - 60 ORDER BY last;

-- What sensors lost: packets that the kernel dropped and messages that were not made, by run.
SELECT sensor, run, max(dropped) AS packets_dropped, max(unsent) AS unsent FROM qsniff.host FINAL
WHERE time > now() - 86400 GROUP BY sensor, run HAVING packets_dropped > 0 OR unsent > 0;

-- Campaigns of the last month, as they were at last.
SELECT campaign, argMax(how, event_number) AS joined_by, argMax(category, event_number) AS kind, argMax(level, event_number) AS worst,
       min(time) AS began, max(time) AS ended, max(sensors) AS hosts, max(servers) AS hit, max(peak) AS highest, max(requests) AS packets
FROM qsniff.campaign WHERE time > now() - 30 * 86400 GROUP BY campaign ORDER BY began DESC;

-- Incidents by kind and day.
SELECT toDate(time) AS day, category, count() AS incidents FROM qsniff.incident FINAL WHERE event = 'open' GROUP BY day, category ORDER BY day, incidents DESC;

-- 5. What the streams have from before: rows of qsniff-hub export, as Parquet. This one is for servers.
--
--   qsniff-hub export --kind server -o parquet servers.parquet
--   clickhouse-client --query "INSERT INTO qsniff.server SELECT toDateTime(time), sensor, run, seq, server, packets_in, bytes_in, packets_out,
--     bytes_out, junk, unasked, unproven_bytes FROM input('time DateTime64(9), sensor String, run String, seq UInt64, server String, packets_in UInt64,
--     bytes_in UInt64, packets_out UInt64, bytes_out UInt64, junk UInt64, unasked UInt64, unproven_bytes UInt64') FORMAT Parquet" < servers.parquet
