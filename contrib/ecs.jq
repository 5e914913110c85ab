# Maps lines of qsniff (-o json) to the Elastic Common Schema 8.17: messages, findings and incidents; other records are passed over.
#
#     qsniff -o json capture.pcap | jq -c -f ecs.jq > events.ndjson
#
# What ECS has no field for is below qsniff. Fields of messages are below the protocol and the type, so that one name has one form.

# split_end splits ADDRESS:PORT, [ADDRESS]:PORT or ADDRESS.
def split_end:
  if . == null then null
  elif test("^\\[.*\\]:[0-9]+$") then capture("^\\[(?<ip>[^%\\]]*)[^\\]]*\\]:(?<port>[0-9]+)$")
  elif test("^[0-9.]+:[0-9]+$") then capture("^(?<ip>.*):(?<port>[0-9]+)$")
  else {ip: .}
  end
  | if . == null then . else .address = .ip | if .port then .port |= tonumber else . end end;

# bare leaves out members without a value, at all depths.
def bare: walk(if type == "object" then with_entries(select(.value != null and .value != {})) else . end);

def nanos: if . == null then null else . * 1000000 | round end;
def number_of: {chat: 1, note: 3, warn: 5, error: 7, info: 3, alert: 9}[.];
def ip_type: if . == null then null elif test(":") then "ipv6" else "ipv4" end;
def common($dataset): {ecs: {version: "8.17.0"}, observer: {product: "qsniff", type: "sensor"}, event: {module: "qsniff", dataset: ("qsniff." + $dataset)}};

def message:
  . as $m | (.src | split_end) as $src | (.dst | split_end) as $dst
  | (if .direction == "reply" then [$dst, $src] else [$src, $dst] end) as [$client, $server]
  | common("message") * {
      "@timestamp": .time,
      event: {kind: "event", category: ["network"], type: ["connection", "protocol"], action: (.message // .protocol), duration: (.exchange.rtt_ms | nanos),
        outcome: (if .status == "complete" then "success" else "failure" end), sequence: .frame},
      network: {transport, protocol, community_id, type: ($src.ip | ip_type), bytes: .length, application: .protocol},
      source: $src, destination: $dst, client: $client, server: $server,
      related: {ip: ([$src.ip, $dst.ip] | map(select(. != null)) | unique)},
      observer: {ingress: {interface: {name: .interface_name}}},
      rule: {id: [.findings[]?.id]},
      qsniff: ({frame, frames, file, status, direction, exchange, split, incomplete, via, comments, client}
        + {fields: {(.protocol): {(.message // "unknown"): .fields}}})
    }
  | if .rule.id == [] then del(.rule) else . end;

def finding:
  (.server | split_end) as $server | (.client | split_end) as $client
  | common("finding") * {
      "@timestamp": .time, message: .text,
      event: {kind: (if .severity == "warn" or .severity == "error" then "alert" else "event" end), category: ["network"], type: ["info"], action: .event, start: .time, end: .last,
        severity: (.severity | number_of), sequence: .frames[0]},
      rule: {id, ruleset: "qsniff findings", category: .fault},
      server: $server, client: $client, related: {ip: ([$server.ip, $client.ip] | map(select(. != null)) | unique)},
      qsniff: {severity, fault, frames, count, thread}
    };

def incident:
  (.target | sub("^(udp|tcp)/"; "") | if test("/") then null else . end | split_end) as $target
  | common("incident") * {
      "@timestamp": (.time // .end // .detected), message: ([.evidence[].text] | join("; ")),
      event: {kind: "alert", category: ["network", "intrusion_detection"], type: ["info"], action: (.event // "close"), id: (.thread // (.id | tostring)), start: .start, end: .end,
        severity: (.level | number_of), risk_score: (.confidence * 100), sequence: .frame},
      rule: {id: .kind, ruleset: "qsniff floods"},
      network: {transport: (.target | if startswith("tcp/") then "tcp" elif startswith("udp/") then "udp" else null end),
        protocol: (if .protocol == "" then null else .protocol end), bytes: (.bytes_in + .bytes_out), packets: (.requests + .replies)},
      destination: (if .kind == "scan" or .kind == "survey" then null else $target end), source: (if .kind == "scan" or .kind == "survey" then $target else null end),
      related: {ip: ([$target.ip] + [.top_sources[].address] | map(select(. != null)) | unique)},
      qsniff: {kind, level, campaign, target, targets, peak_qps, mean_qps, baseline_qps, requests, replies, amplification, sources, answered, challenge_completion, confidence, advice_words}
    };

if .record == null and .frame then message
elif .record == "finding" then finding
elif .record == "incident" then incident
else empty
end
| bare
