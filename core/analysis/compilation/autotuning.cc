// Configurations are in the backend_config of the compiled module in every generation; records are
// tied to them by the canonical print of what they compute.
#include "core/analysis/compilation/autotuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/counted.h"
#include "core/base/parse_json.h"
#include "core/hlo/analysis/source_line.h"
#include "core/hlo/text/text.h"

namespace hloscope::analysis {
namespace {

using dump::AutotuneConfig;
using dump::AutotuneRecord;
using dump::DumpModel;
using dump::FileRole;
using nlohmann::json;

struct Part {
  std::string_view outer, inner;
};
constexpr Part kParts[] = {
#define CHOSEN_PART(outer, inner) {outer, inner},
#include "core/analysis/compilation/chosen_parts.def"
#undef CHOSEN_PART
};

std::string ValueText(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) {
    std::string out;
    for (const json& item : value) out += (out.empty() ? "" : ",") + ValueText(item);
    return "[" + out + "]";
  }
  if (value.is_object() && value.size() == 1) return ValueText(value.begin().value());
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

void AddFields(const json& object, const std::string& prefix, AutotuneConfig& config) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object() && value.size() != 1) {
      AddFields(value, prefix + name + ".", config);
    } else if (!value.is_array() || !value.empty()) {
      config.fields.emplace_back(prefix + name, ValueText(value));
    }
  }
}

// The computation in the braces of a record, without the name.
std::string CanonicalBody(const hlo::Module& module, hlo::InstructionId id) {
  std::string text;
  const hlo::ComputationId called = module.GetComputation(module[id], hlo::AttributeKey::kCalls);
  if (!called.valid()) return text;
  PrintText(module, called, hlo::TextFormat::kCanonical, text);
  const size_t brace = text.find('{');
  if (brace == text.npos) return {};
  text.erase(0, brace);
  while (text.ends_with('\n') || text.ends_with(' ')) text.pop_back();
  return text;
}

// With every constant as `constant({...})`: generations differ in which they elide.
std::string WithoutConstants(std::string_view text) {
  constexpr std::string_view kConstant = " constant(";
  std::string out;
  for (;;) {
    const size_t at = text.find(kConstant);
    const size_t end = at == text.npos ? at : text.find(')', at);
    if (end == text.npos) return out.append(text);
    out.append(text.substr(0, at + kConstant.size())).append("{...}");
    text.remove_prefix(end);
  }
}

// Records by what they compute; the last of those that have a time counts, else the last.
using RecordTable = std::map<std::string, const AutotuneRecord*>;

void Tie(const RecordTable& records, const std::string& body, Choice& choice,
         std::vector<const AutotuneRecord*>& used) {
  const auto at = records.find(WithoutConstants(body));
  if (at == records.end()) return;
  const AutotuneRecord& record = *at->second;
  used.push_back(&record);
  choice.time_us = record.chosen.time_us;
  choice.runner_up = record.runner_up;
  choice.version = record.version;
  choice.record = choice.time_us ? "measured" : "untimed record";
}

// Instructions of stages before the compiled one, for records of what was rewritten later (a
// split along k becomes another product and a reduction).
void TieEarlier(const DumpModel& model, int32_t module, const RecordTable& records,
                std::vector<Choice>& choices, std::vector<const AutotuneRecord*>& used) {
  std::map<std::string_view, Choice*> open;
  for (Choice& choice : choices) {
    if (choice.record == "module only") open[choice.instruction] = &choice;
  }
  const size_t wanted = records.size();
  const auto stages =
      static_cast<int32_t>(model.modules()[static_cast<size_t>(module)].stages.size());
  for (int32_t stage = stages - 1; stage >= 0 && !open.empty() && used.size() < wanted; --stage) {
    if (model.ModuleFile(module, stage) < 0) continue;
    const auto read = model.Module(module, stage);
    if (!read) continue;
    for (uint32_t k = 0; k < (*read)->instructions().size() && !open.empty(); ++k) {
      const hlo::InstructionId id(k);
      if ((**read)[id].opcode != hlo::Opcode::kFusion) continue;
      const auto at = open.find((*read)->name(id));
      if (at == open.end()) continue;
      const std::string body = CanonicalBody(**read, id);
      if (!records.contains(WithoutConstants(body))) continue;
      Tie(records, body, *at->second, used);
      open.erase(at);
    }
  }
}

}  // namespace

AutotuneConfig ConfigOf(const hlo::Module& module, hlo::InstructionId id) {
  AutotuneConfig out;
  const auto* config =
      module.Get<hlo::BackendConfig>(module[id], hlo::AttributeKey::kBackendConfig);
  if (config == nullptr) return out;
  const auto parsed = ParseJson(module[config->text]);
  if (!parsed || !parsed->is_object()) return out;
  for (const Part& part : kParts) {
    const auto outer = parsed->find(std::string(part.outer));
    if (outer == parsed->end() || !outer->is_object()) continue;
    const auto inner = outer->find(std::string(part.inner));
    if (inner == outer->end() || inner->is_null()) continue;
    const auto kind = outer->find("kind");
    out.kind = kind != outer->end() && kind->is_string() ? kind->get<std::string>()
                                                         : std::string(part.outer);
    if (out.kind == "gemm_backend_config") out.kind = "cublas";
    if (out.kind == "cudnn_conv_backend_config") out.kind = "cudnn";
    if (inner->is_object()) {
      AddFields(*inner, "", out);
      Normalize(out);
    } else {
      out.fields.emplace_back(part.inner, ValueText(*inner));  // algorithm 0 is one, too
    }
    return out;
  }
  return out;
}

Autotuning AutotuningOf(const DumpModel& model, int32_t only) {
  Autotuning out;
  std::vector<AutotuneRecord> records;
  bool has_file = false;
  for (size_t k = 0; k < model.files().size(); ++k) {
    const dump::FileEntry& file = model.files()[k];
    const bool is_results = file.role == FileRole::kAutotuneResults;
    const bool may_be = file.role == FileRole::kUnknown && dump::IsText(file.kind);
    if (!is_results && !may_be) continue;
    const auto index = static_cast<int32_t>(k);
    std::string text;
    auto read = model.ReadFile(index, [&](std::string_view bytes) {
      text = bytes;
      return dump::ReadAutotuneRecords(bytes);
    });
    if (!read) {
      out.notes.push_back(read.error().ToString());
      continue;
    }
    has_file = has_file || is_results;
    if (!read->why.empty() && (is_results || !read->records.empty()))
      out.notes.push_back(fmt::format("{}: {}", model.FullPath(index), read->why));
    if (read->format == "AutotuneResults" && !read->records.empty()) out.pinned = text;
    std::ranges::move(read->records, std::back_inserter(records));
  }
  RecordTable table;
  for (const AutotuneRecord& record : records) {
    if (record.hlo.empty()) continue;
    const AutotuneRecord*& at = table[WithoutConstants(record.hlo)];
    if (at == nullptr || record.chosen.time_us || !at->chosen.time_us) at = &record;
  }
  std::vector<const AutotuneRecord*> used;
  bool on_gpu = false;
  for (size_t m = 0; m < model.modules().size(); ++m) {
    const auto module = static_cast<int32_t>(m);
    if (only >= 0 && only != module) continue;
    const dump::ModuleEntry& entry = model.modules()[m];
    on_gpu = on_gpu || entry.device == "gpu";
    const int32_t stage = model.FinalStage(module);
    if (stage < 0 || entry.device == "cpu") continue;
    const auto read = model.Module(module, stage);
    if (!read) {
      out.notes.push_back(read.error().ToString());
      continue;
    }
    std::vector<Choice> choices;
    for (uint32_t k = 0; k < (*read)->instructions().size(); ++k) {
      const hlo::InstructionId id(k);
      AutotuneConfig config = ConfigOf(**read, id);
      if (config.empty()) continue;
      Choice choice;
      choice.module = dump::TitleOf(entry);
      choice.instruction = (*read)->name(id);
      choice.source = hlo::ToString(hlo::SourceLineOf(**read, id));
      choice.config = std::move(config);
      choice.record = "module only";
      choice.hlo = CanonicalBody(**read, id);
      Tie(table, choice.hlo, choice, used);
      choices.push_back(std::move(choice));
    }
    TieEarlier(model, module, table, choices, used);
    std::ranges::move(choices, std::back_inserter(out.choices));
  }
  for (const AutotuneRecord& record : records) {
    if (std::ranges::find(used, &record) == used.end()) out.others.push_back(record);
  }
  const bool any_time = std::ranges::any_of(
      out.choices, [](const Choice& choice) { return choice.time_us.has_value(); });
  if (!out.choices.empty() && !any_time) {
    out.notes.push_back(
        records.empty()
            ? "no record of a measurement is in the dump: the configurations are those of the "
              "compiled module, and without a device they are XLA's defaults, not tuned"
            : "no record has a time: nothing was measured, the configurations are XLA's defaults "
              "(compiled without a device)");
  }
  if (!out.others.empty() && !out.choices.empty())
    out.notes.push_back(
        "records that are not attributed to an instruction are of other modules of the process, or "
        "of products that were "
        "rewritten after tuning (split along k)");
  if (!on_gpu) out.notes.push_back("only XLA:GPU has an autotuner");
  if (has_file && records.empty())
    out.notes.push_back(
        "autotune_results.pbtxt has no records: where XLA uses the newer cache format they are in "
        "the file of --xla_gpu_dump_autotune_results_to=FILE.txt; times of all candidates are in "
        "that of --xla_gpu_dump_autotune_logs_to=FILE.txt");
  return out;
}

}  // namespace hloscope::analysis
