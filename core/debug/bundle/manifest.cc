// Manifests as JSON.
#include "core/debug/bundle/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/parse_json.h"

namespace hloscope::debug {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kNonFinite[] = {"nan", "inf"};
constexpr std::string_view kPolicies[] = {"none", "shapes", "statistics", "all"};
constexpr int64_t kMaxThreads = 4096, kMaxRuns = 1'000'000;

template <typename T>
constexpr bool kIsOptional = false;
template <typename T>
constexpr bool kIsOptional<std::optional<T>> = true;

// What stands for a value in JSON and behind an option.
template <typename T>
const T& Written(const T& value) {
  return value;
}
std::string_view Written(NonFiniteKind kind) { return kNonFinite[static_cast<size_t>(kind)]; }

template <typename T>
void WriteValue(JsonWriter& json, std::string_view name, const T& value) {
  if constexpr (kIsOptional<T>) {
    if (value) json.Field(name, Written(*value));
  } else {
    json.Field(name, value);
  }
}

bool ReadValue(const Json& json, std::string& value) {
  if (json.is_string()) value = json.get<std::string>();
  return json.is_string();
}
bool ReadValue(const Json& json, bool& value) {
  if (json.is_boolean()) value = json.get<bool>();
  return json.is_boolean();
}
bool ReadValue(const Json& json, NonFiniteKind& value) {
  const auto found = json.is_string() ? std::ranges::find(kNonFinite, json.get<std::string>())
                                      : std::end(kNonFinite);
  if (found != std::end(kNonFinite)) value = static_cast<NonFiniteKind>(found - kNonFinite);
  return found != std::end(kNonFinite);
}
bool ReadValue(const Json& json, double& value) {
  if (json.is_number()) value = json.get<double>();
  if (json == "inf") value = std::numeric_limits<double>::infinity();
  return json.is_number() || json == "inf";
}
template <std::integral T>
bool ReadValue(const Json& json, T& value) {
  if (!json.is_number_integer()) return false;
  if (json.is_number_unsigned() ? !std::in_range<T>(json.get<uint64_t>())
                                : !std::in_range<T>(json.get<int64_t>())) {
    return false;
  }
  value = json.get<T>();
  return true;
}
template <typename T>
bool ReadValue(const Json& json, std::optional<T>& value) {
  return ReadValue(json, value.emplace());
}
bool ReadValue(const Json& json, std::vector<std::string>& values) {
  if (!json.is_array()) return false;
  for (const Json& entry : json) {
    if (!ReadValue(entry, values.emplace_back())) return false;
  }
  return true;
}

// Reads fields of one object; the first that has another type is remembered.
class ObjectReader {
 public:
  explicit ObjectReader(const Json& object) : object_(object) {
    if (!object.is_object()) wrong_ = "it is not an object";
  }
  template <typename T>
  void Read(std::string_view name, T& value) {
    if (!wrong_.empty()) return;
    const auto found = object_.find(name);
    if (found != object_.end() && !found->is_null() && !ReadValue(*found, value)) {
      wrong_ = fmt::format("{} has an invalid value", name);
    }
  }
  const Json& Object(std::string_view name) const {
    static const Json kNothing = Json::object();
    if (!object_.is_object()) return kNothing;
    const auto found = object_.find(name);
    return found == object_.end() || !found->is_object() ? kNothing : *found;
  }
  void Refuse(std::string_view what) {
    if (wrong_.empty()) wrong_ = what;
  }
  const std::string& wrong() const { return wrong_; }

 private:
  const Json& object_;
  std::string wrong_;
};

void WriteRequest(JsonWriter& json, const RunSpec& request) {
  json.Key("request").BeginObject();
#define RUN_OPTION(member, option, name, untrusted, ...) WriteValue(json, name, request.member);
#include "core/debug/run/run_options.def"
  for (const auto& [key, flags] : {std::pair("xla_flags", &request.test.xla_flags),
                                   std::pair("reference_flags", &request.reference.xla_flags)}) {
    json.Key(key).BeginObject();
    for (const auto& [name, value] : *flags) json.Field(name, value);
    json.EndObject();
  }
  json.EndObject();
}

void ReadRequest(ObjectReader& all, RunSpec& request) {
  ObjectReader reader(all.Object("request"));
#define RUN_OPTION(member, option, name, untrusted, ...) reader.Read(name, request.member);
#include "core/debug/run/run_options.def"
  for (const auto& [key, flags] : {std::pair("xla_flags", &request.test.xla_flags),
                                   std::pair("reference_flags", &request.reference.xla_flags)}) {
    for (const auto& [name, value] : reader.Object(key).items()) {
      std::string text;
      if (!name.starts_with("xla_") || !ReadValue(value, text)) {
        reader.Refuse(fmt::format("{} has an entry that is not a flag", key));
      }
      flags->emplace_back(name, text);
    }
  }
  if (request.budget.threads < 0 || request.budget.threads > kMaxThreads)
    reader.Refuse("threads: 0 to 4096");
  if (request.repeats.iterations < 1 || request.repeats.iterations > kMaxRuns ||
      request.repeats.runs < 1 || request.repeats.runs > kMaxRuns) {
    reader.Refuse("iterations and repeat: at least 1");
  }
  if (request.budget.seconds && !(*request.budget.seconds > 0)) {
    reader.Refuse("deadline: more than 0 seconds");
  }
  if (request.budget.memory_bytes < 0) reader.Refuse("memory: at least 0 bytes");
  if (!reader.wrong().empty()) all.Refuse("request: " + reader.wrong());
}

void WriteRecorded(JsonWriter& json, const RecordedRun& recorded) {
  json.Key("recorded").BeginObject().Field("status", ToString(recorded.status));
  json.Field("inputs_made_up", recorded.inputs_generated)
      .Field("inputs_unread", recorded.inputs_unread)
      .Field("infeed_given", recorded.infeed_given)
      .Field("constants_left_out", recorded.constants_left_out)
      .Field("against_expected", recorded.against_expected)
      .Field("inputs_hash", recorded.inputs_hash)
      .Field("results_hash", recorded.results_hash);
  WriteValue(json, "reduced_inputs_made_up", recorded.reduced_inputs_generated);
  json.Key("failure");
  if (!recorded.failure) {
    json.Null().EndObject();
    return;
  }
  json.BeginObject().Field("kind", ToString(recorded.failure->kind)).Key("classes").BeginArray();
  for (const std::string& name : recorded.failure->classes) json.Value(name);
  json.EndArray().Field("text", recorded.failure->text).EndObject().EndObject();
}

// The value of an enumeration whose texts are those of ToString, from 0 to `last`.
template <typename T>
bool FromText(std::string_view text, T last, T& value) {
  for (int k = 0; k <= static_cast<int>(last); ++k) {
    if (ToString(static_cast<T>(k)) != text) continue;
    value = static_cast<T>(k);
    return true;
  }
  return false;
}

void ReadRecorded(ObjectReader& all, RecordedRun& recorded) {
  const Json& object = all.Object("recorded");
  ObjectReader reader(object);
  std::string status;
  reader.Read("status", status);
  reader.Read("inputs_made_up", recorded.inputs_generated);
  reader.Read("inputs_unread", recorded.inputs_unread);
  reader.Read("infeed_given", recorded.infeed_given);
  reader.Read("constants_left_out", recorded.constants_left_out);
  reader.Read("against_expected", recorded.against_expected);
  reader.Read("inputs_hash", recorded.inputs_hash);
  reader.Read("results_hash", recorded.results_hash);
  reader.Read("reduced_inputs_made_up", recorded.reduced_inputs_generated);
  if (!FromText(status, RunStatus::kDied, recorded.status)) reader.Refuse("it has no status");
  if (const auto found = object.find("failure"); found != object.end() && found->is_object()) {
    Failure& failure = recorded.failure.emplace();
    ObjectReader inner(*found);
    std::string kind;
    inner.Read("kind", kind);
    inner.Read("classes", failure.classes);
    inner.Read("text", failure.text);
    if (!FromText(kind, FailureKind::kScript, failure.kind)) inner.Refuse("it has no kind");
    // Bundles made before deadlocks had a kind of their own.
    const bool is_deadlock = failure.kind == FailureKind::kSignal && !failure.classes.empty() &&
                             failure.classes[0].starts_with("deadlock: ");
    if (is_deadlock) failure.kind = FailureKind::kDeadlock;
    if (!inner.wrong().empty()) reader.Refuse("failure: " + inner.wrong());
  }
  if (!reader.wrong().empty()) all.Refuse("recorded: " + reader.wrong());
}

void WriteTexts(JsonWriter& json, std::string_view name, std::span<const std::string> texts) {
  json.Key(name).BeginArray();
  for (const std::string& text : texts) json.Value(text);
  json.EndArray();
}

// "--seed {}" with the value, as arguments; nothing where it is the usual one.
template <typename T>
void AddOption(std::vector<std::string>& arguments, std::string_view option, const T& value,
               const T& usual) {
  if (value == usual) return;
  const size_t blank = option.find(' ');
  arguments.emplace_back(option.substr(0, blank));
  if (blank == option.npos) return;
  const std::string_view form = option.substr(blank + 1);
  if constexpr (kIsOptional<T>) {
    arguments.push_back(fmt::format(fmt::runtime(form), Written(*value)));
  } else {
    arguments.push_back(fmt::format(fmt::runtime(form), value));
  }
}

}  // namespace

std::string_view ToString(ValuePolicy policy) { return kPolicies[static_cast<size_t>(policy)]; }

std::optional<ValuePolicy> ValuePolicyFromText(std::string_view text) {
  const auto found = std::ranges::find(kPolicies, text);
  if (found == std::end(kPolicies)) return std::nullopt;
  return static_cast<ValuePolicy>(found - std::begin(kPolicies));
}

std::string_view ErrorKindOfRecorded(const RecordedRun& recorded) {
  if (recorded.status != RunStatus::kDied) return {};
  if (!recorded.failure) return ErrorKindOf(ErrorClass::kCancelled);
  return ErrorKindOf(ErrorClassOf(recorded.failure->kind).value_or(ErrorClass::kCrashed));
}

std::string ManifestJson(const BundleManifest& manifest,
                         std::span<const dump::BundleFile::Listed> parts) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject()
      .Field("format", dump::kBundleFormat)
      .Field("version", dump::kBundleVersion)
      .Field("hloscope", manifest.tool)
      .Field("module", manifest.module)
      .Field("file", manifest.file)
      .Field("stage", manifest.stage)
      .Field("framework", manifest.framework)
      .Field("framework_version", manifest.framework_version)
      .Field("xla_version", manifest.xla_version)
      .Field("target", manifest.target)
      .Field("instructions", manifest.instructions)
      .Field("values", ToString(manifest.values))
      .Field("verdict", manifest.sentence)
      .Field("replayed", manifest.replayed)
      .Field("replay_verdict", manifest.replay);
  json.Field("options", RunOptionsText(manifest.request));
  WriteRequest(json, manifest.request);
  WriteRecorded(json, manifest.recorded);
  WriteTexts(json, "plugins", manifest.plugins);
  WriteTexts(json, "cpu_features", manifest.cpu_features);
  WriteTexts(json, "notes", manifest.notes);
  json.Key("redacted").BeginObject();
  for (const auto& [kind, count] : manifest.redacted) json.Field(kind, count);
  json.EndObject().Key("parts").BeginArray();
  for (const dump::BundleFile::Listed& part : parts) {
    json.BeginObject()
        .Field("file", dump::FileOf(part.part))
        .Field("bytes", part.bytes)
        .Field("hash", part.hash)
        .EndObject();
  }
  json.EndArray().EndObject();
  return out + "\n";
}

Result<BundleManifest> ManifestFromJson(std::string_view text) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  BundleManifest manifest;
  ObjectReader reader(json);
  std::string values;
  reader.Read("hloscope", manifest.tool);
  reader.Read("module", manifest.module);
  reader.Read("file", manifest.file);
  reader.Read("stage", manifest.stage);
  reader.Read("framework", manifest.framework);
  reader.Read("framework_version", manifest.framework_version);
  reader.Read("xla_version", manifest.xla_version);
  reader.Read("target", manifest.target);
  reader.Read("instructions", manifest.instructions);
  reader.Read("values", values);
  reader.Read("verdict", manifest.sentence);
  reader.Read("replayed", manifest.replayed);
  reader.Read("replay_verdict", manifest.replay);
  reader.Read("plugins", manifest.plugins);
  reader.Read("cpu_features", manifest.cpu_features);
  reader.Read("notes", manifest.notes);
  if (const auto policy = ValuePolicyFromText(values)) {
    manifest.values = *policy;
  } else {
    reader.Refuse("values: none, shapes, statistics or all");
  }
  ReadRequest(reader, manifest.request);
  ReadRecorded(reader, manifest.recorded);
  for (const auto& [kind, count] : reader.Object("redacted").items()) {
    if (count.is_number_integer()) manifest.redacted.emplace_back(kind, count.get<int64_t>());
  }
  if (!reader.wrong().empty()) {
    return InputError("manifest.json: " + reader.wrong());
  }
  return manifest;
}

Result<BundleManifest> ManifestOf(const dump::BundleFile& bundle) {
  Result<BundleManifest> manifest = ManifestFromJson(bundle.manifest());
  if (manifest) return manifest;
  Error error = manifest.error();
  error.place.file = bundle.path();
  return std::unexpected(std::move(error));
}

bool IsTargetName(std::string_view target) {
  return std::ranges::all_of(target, [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '_';
  });
}

std::vector<std::string> RunArguments(const RunSpec& request) {
  RunSpec usual;
  usual.test.name.clear();  // commands have different ones by default
  std::vector<std::string> arguments;
#define RUN_OPTION(member, option, name, untrusted, ...) \
  AddOption(arguments, option, request.member, usual.member);
#include "core/debug/run/run_options.def"
  for (const auto& [name, value] : request.test.xla_flags) {
    arguments.push_back(fmt::format("--{}={}", name, value));
  }
  for (const auto& [name, value] : request.reference.xla_flags) {
    arguments.insert(arguments.end(), {"--reference-flag", fmt::format("{}={}", name, value)});
  }
  return arguments;
}

std::string RunOptionsText(const RunSpec& request) {
  std::string text;
  for (const std::string& argument : RunArguments(request)) {
    text += (text.empty() ? "" : " ") + Quoted(argument);
  }
  return text;
}

}  // namespace hloscope::debug
