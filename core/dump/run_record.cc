#include "core/dump/run_record.h"

#include <nlohmann/json.hpp>

#include "core/base/parse_json.h"
#include "core/base/strings.h"
#include "core/dump/dump_model.h"

namespace hloscope::dump {
namespace {

using Texts = std::map<std::string, std::string, std::less<>>;

// Members that are strings; the others are passed over.
Texts TextsOf(const nlohmann::json& object, const char* key) {
  Texts texts;
  if (!object.contains(key) || !object[key].is_object()) return texts;
  for (const auto& [name, value] : object[key].items()) {
    if (value.is_string()) texts.emplace(name, value.get<std::string>());
  }
  return texts;
}

std::vector<KerasStep> KerasStepsOf(const nlohmann::json& object) {
  std::vector<KerasStep> steps;
  if (!object.contains("keras_steps") || !object["keras_steps"].is_array()) return steps;
  for (const nlohmann::json& one : object["keras_steps"]) {
    auto text = [&](const char* key) {
      const bool is_text = one.is_object() && one.contains(key) && one[key].is_string();
      return is_text ? one[key].get<std::string>() : std::string();
    };
    steps.push_back({text("model"), text("reason"), text("place")});
    if (steps.back().model.empty() || steps.back().reason.empty()) steps.pop_back();
  }
  return steps;
}

std::optional<RunRecord> ParseRecord(std::string_view bytes, const Limits& limits) {
  const nlohmann::json json = ParseJson(bytes, limits).value_or(nullptr);
  if (!json.is_object() || !json.contains("framework") || !json["framework"].is_string() ||
      !json.contains("version") || !json["version"].is_string())
    return std::nullopt;
  RunRecord record;
  record.framework = json["framework"].get<std::string>();
  record.version = json["version"].get<std::string>();
  if (json.contains("exit") && json["exit"].is_number_integer())
    record.exit = json["exit"].get<int>();
  if (json.contains("host_fallbacks") && json["host_fallbacks"].is_object()) {
    for (const auto& [name, count] : json["host_fallbacks"].items()) {
      if (count.is_number_integer()) record.host_fallbacks.emplace(name, count.get<int64_t>());
    }
  }
  record.keras_steps = KerasStepsOf(json);
  record.packages = TextsOf(json, "packages");
  record.xla = TextsOf(json, "xla");
  record.environment = TextsOf(json, "environment");
  return record;
}

}  // namespace

std::string_view RunRecord::Variable(std::string_view name) const {
  const auto at = environment.find(name);
  return at == environment.end() ? std::string_view() : at->second;
}

std::optional<std::string> RunRecord::Flag(std::string_view variable, std::string_view name) const {
  std::optional<std::string> value;
  for (std::string_view word : StrSplit(Variable(variable), ' ')) {
    while (word.starts_with('-')) word.remove_prefix(1);
    if (word == name) value = "true";
    if (word.starts_with(name) && word.size() > name.size() && word[name.size()] == '=')
      value = word.substr(name.size() + 1);
  }
  return value;
}

bool IsInFolder(std::string_view folder, std::string_view outer) {
  return outer.empty() || folder == outer ||
         (folder.starts_with(outer) && folder[outer.size()] == '/');
}

const RunRecord* RunRecords::For(std::string_view folder) const {
  const RunRecord* best = nullptr;
  for (const RunRecord& record : list) {
    if (!IsInFolder(folder, record.folder)) continue;
    if (best == nullptr || record.folder.size() >= best->folder.size()) best = &record;
  }
  return best;
}

RunRecords ReadRunRecords(const DumpModel& model) {
  RunRecords records;
  for (size_t f = 0; f < model.files().size(); ++f) {
    const FileEntry& file = model.files()[f];
    if (file.role != FileRole::kRunRecord) continue;
    auto read = model.ReadFile(static_cast<int32_t>(f), [&](std::string_view bytes) {
      return ParseRecord(bytes, model.limits());
    });
    if (!read) {
      records.warnings.push_back(read.error().ToString());
      continue;
    }
    if (!*read) {
      records.warnings.push_back(file.path +
                                 ": no framework and version in it, as `record` writes");
      continue;
    }
    RunRecord& record = records.list.emplace_back(**std::move(read));
    record.file = static_cast<int32_t>(f);
    const size_t slash = file.path.rfind('/');
    if (slash != std::string::npos) record.folder = file.path.substr(0, slash);
  }
  return records;
}

}  // namespace hloscope::dump
