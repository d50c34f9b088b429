// Several messages may follow one another in one file: they are read as one.
#include "core/dump/readers/autotune_records.h"

#include <algorithm>

namespace hloscope::dump {
namespace {

using Field = TextProto::Field;
using Message = TextProto::Message;

// Fields of AutotuneResult that are no configuration.
bool IsOutcome(std::string_view name) {
  return name == "run_time" || name == "scratch_bytes" || name == "failure" || name == "backend";
}

void AddFields(const Message& message, const std::string& prefix, AutotuneConfig& config) {
  message.Each([&](const Field& field, const Message& inner) {
    const std::string name = prefix + std::string(field.name);
    if (field.is_message) {
      AddFields(inner, name + ".", config);
    } else {
      config.fields.emplace_back(name, TextProto::Decode(field.raw));
    }
  });
}

// The configuration in an AutotuneResult or in a Config of the newer format.
AutotuneConfig ConfigOf(const Message& message) {
  AutotuneConfig config;
  const Message inner = message.Has("backend_config") ? message.Get("backend_config") : message;
  inner.Each([&](const Field& field, const Message& fields) {
    if (IsOutcome(field.name) || !config.kind.empty()) return;
    config.kind = field.name;
    if (field.is_message) {
      AddFields(fields, "", config);
    } else {
      config.fields.emplace_back("value", TextProto::Decode(field.raw));
    }
  });
  if (config.kind.empty() && message.Has("backend")) config.kind = message.Text("backend");
  Normalize(config);
  return config;
}

// A Duration; absent where nothing was measured.
std::optional<double> TimeOf(const Message& result) {
  const Message time = result.Get("run_time");
  if (time.empty()) return std::nullopt;
  return static_cast<double>(time.Int("seconds").value_or(0)) * 1e6 +
         static_cast<double>(time.Int("nanos").value_or(0)) / 1e3;
}

AutotuneRecord ResultRecord(const Message& entry) {
  AutotuneRecord out;
  out.device = entry.Text("device");
  out.hlo = entry.Text("hlo");
  out.version = entry.Int("version");
  const Message result = entry.Get("result");
  out.chosen = {ConfigOf(result), TimeOf(result)};
  return out;
}

AutotuneRecord CacheRecord(const Message& entry) {
  AutotuneRecord out;
  const Message target = entry.Get("key").Get("target");
  out.device = target.Text("device");
  out.fingerprint = target.Text("hlo_fingerprint");
  out.chosen.config = ConfigOf(entry.Get("value").Get("optimal_config"));
  return out;
}

// Every candidate: the fastest is the one that was chosen, as far as times are there.
AutotuneRecord LogRecord(const Message& log, std::string_view results) {
  AutotuneRecord out;
  out.candidates = 0;
  out.fingerprint = log.Text("hlo_fingerprint");
  out.hlo = log.Text("hlo_text");
  out.name = log.Text("fusion_name");
  std::vector<AutotuneCandidate> timed;
  log.Each([&](const Field& field, const Message& result) {
    if (field.name == "failed_configs") ++out.failed;
    if (field.name != results) return;
    ++out.candidates;
    const bool failed = result.Has("failure");
    out.failed += failed ? 1 : 0;
    const Message config = result.Has("config") ? result.Get("config") : result;
    AutotuneCandidate candidate{ConfigOf(config), TimeOf(result)};
    if (!failed && candidate.time_us) timed.push_back(std::move(candidate));
  });
  std::ranges::stable_sort(timed, {}, [](const AutotuneCandidate& c) { return *c.time_us; });
  if (!timed.empty()) out.chosen = timed[0];
  if (timed.size() > 1) out.runner_up = timed[1];
  return out;
}

}  // namespace

void Normalize(AutotuneConfig& config) {
  std::erase_if(config.fields, [](const auto& field) {
    return field.second.empty() || field.second == "0" || field.second == "false";
  });
  std::ranges::sort(config.fields);
}

std::string ToString(const AutotuneConfig& config) {
  std::string out = config.kind;
  for (const auto& [name, value] : config.fields) {
    if (!out.empty()) out += ' ';
    out += name + '=' + value;
  }
  return out;
}

AutotuneRecords ReadAutotuneRecords(std::string_view text) {
  AutotuneRecords out;
  const TextProto proto(text);
  auto add = [&](std::string_view format, AutotuneRecord record) {
    if (out.format.empty()) out.format = format;
    out.records.push_back(std::move(record));
  };
  proto.root().Each([&](const Field& field, const Message& message) {
    if (!field.is_message) return;
    if (field.name == "results" && message.Has("result")) {
      add("AutotuneResults", ResultRecord(message));
    } else if (field.name == "entries" && message.Has("key")) {
      add("AutotuneCache", CacheRecord(message));
    } else if (message.Has("config_profiles") || message.Has("failed_configs")) {
      add("AllRawConfigProfiles", LogRecord(message, "config_profiles"));
    } else if (field.name == "logs" || message.Has("results")) {
      add("AutotuningLogs", LogRecord(message, "results"));
    }
  });
  // A single entry, as files of a cache folder hold it.
  const Message root = proto.root();
  if (out.records.empty() && root.Get("key").Has("target")) add("AutotuneEntry", CacheRecord(root));
  if (out.format.empty() && root.Has("version")) out.format = "AutotuneResults";
  if (!proto.why().empty())
    out.why = "line " + std::to_string(proto.why_line()) + ": " + proto.why();
  return out;
}

}  // namespace hloscope::dump
