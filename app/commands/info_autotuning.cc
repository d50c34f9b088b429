// `info --autotuning`: the configurations that XLA:GPU chose, and how they were found.
#include <fmt/format.h>

#include <algorithm>

#include "app/commands/info_lineage.h"
#include "app/dump_place.h"
#include "core/analysis/compilation/autotuning.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/dump/container.h"

namespace hloscope::app {
namespace {

using analysis::Autotuning;
using analysis::Choice;
using dump::AutotuneRecord;

// Records of later versions are of an XLA that has another format of its cache, and a flag for it;
// an XLA without that flag refuses to start with it.
constexpr int64_t kLastVersionWithoutFormats = 50;

// Flags that make XLA take the records of a file, and stop where one is missing.
std::vector<std::string> PinFlags(const std::string& file, const Autotuning& found) {
  std::vector<std::string> flags = {"--xla_gpu_load_autotune_results_from=" + file,
                                    "--xla_gpu_require_complete_aot_autotune_results=true"};
  auto is_newer = [](const auto& record) {
    return record.version.value_or(0) > kLastVersionWithoutFormats;
  };
  if (std::ranges::any_of(found.choices, is_newer) || std::ranges::any_of(found.others, is_newer))
    flags.emplace_back("--xla_gpu_use_new_autotune_cache_format=false");
  return flags;
}

std::string TimeText(const std::optional<double>& us) {
  return us ? fmt::format("{:.2f} us", *us) : "not measured";
}

std::string Candidates(const std::optional<double>& time,
                       const std::optional<dump::AutotuneCandidate>& runner_up) {
  std::string out = TimeText(time);
  if (runner_up) {
    out +=
        FormatText("; runner-up {}, {}", ToString(runner_up->config), TimeText(runner_up->time_us));
    if (time && *time > 0 && runner_up->time_us)
      out += FormatText(" (+{:.1f} %)", (*runner_up->time_us / *time - 1) * 100);
  }
  return out;
}

// What a record is of: its name, its fingerprint or the root of what it computes.
std::string RecordName(const AutotuneRecord& record) {
  if (!record.name.empty()) return record.name;
  if (!record.fingerprint.empty()) return "HLO " + record.fingerprint;
  const size_t root = record.hlo.rfind("ROOT ");
  const std::string text = root == record.hlo.npos ? record.hlo : record.hlo.substr(root);
  return text.substr(0, text.find('\n'));
}

std::string RecordText(const AutotuneRecord& record) {
  std::string out =
      FormatText("  {}\n    {}, {}", RecordName(record), ToString(record.chosen.config),
                 Candidates(record.chosen.time_us, record.runner_up));
  if (record.version) out += FormatText(", record version {}", *record.version);
  if (record.candidates > 1)
    out += FormatText(", {} ({} failed)", Counted(record.candidates, "candidate"), record.failed);
  return out + "\n";
}

std::string TextOf(const std::string& path, const Autotuning& found,
                   const std::vector<std::string>& flags) {
  std::string out =
      FormatText("{}: {}\n", path, Counted(found.choices.size(), "chosen configuration"));
  for (const Choice& choice : found.choices) {
    out += FormatText("  {} {}{}\n    {}; {}", choice.module, choice.instruction,
                      choice.source.empty() ? "" : " at " + choice.source, ToString(choice.config),
                      Candidates(choice.time_us, choice.runner_up));
    if (choice.version) out += FormatText(", record version {}", *choice.version);
    out += "\n";
  }
  if (!found.others.empty())
    out += FormatText("  {} not attributed to an instruction:\n",
                      Counted(found.others.size(), "record"));
  for (const AutotuneRecord& record : found.others) out += RecordText(record);
  for (const std::string& note : found.notes) out += FormatText("  note: {}\n", note);
  if (!flags.empty()) {
    out += "  to fix these choices, for this version of XLA and this device:\n";
    for (const std::string& flag : flags) out += FormatText("    {}\n", flag);
  }
  return out;
}

void NumberOrNull(JsonWriter& json, std::string_view key, const auto& number) {
  json.Key(key);
  number ? json.Value(*number) : json.Null();
}

void WriteCandidates(JsonWriter& json, const std::optional<double>& time,
                     const std::optional<dump::AutotuneCandidate>& runner_up) {
  NumberOrNull(json, "time_us", time);
  json.Key("runner_up");
  if (!runner_up) {
    json.Null();
    return;
  }
  json.BeginObject().Field("config", ToString(runner_up->config));
  NumberOrNull(json, "time_us", runner_up->time_us);
  json.EndObject();
}

std::string JsonOf(const std::string& path, const Autotuning& found,
                   const std::vector<std::string>& flags) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("file", path).Key("choices").BeginArray();
  for (const Choice& choice : found.choices) {
    json.BeginObject().Field("module", choice.module).Field("instruction", choice.instruction);
    json.Field("source", choice.source).Field("config", ToString(choice.config));
    WriteCandidates(json, choice.time_us, choice.runner_up);
    json.Field("record", choice.record);
    NumberOrNull(json, "version", choice.version);
    json.EndObject();
  }
  json.EndArray().Key("records").BeginArray();
  for (const AutotuneRecord& record : found.others) {
    json.BeginObject().Field("name", record.name).Field("hlo", record.hlo);
    json.Field("fingerprint", record.fingerprint).Field("device", record.device);
    json.Field("config", ToString(record.chosen.config));
    WriteCandidates(json, record.chosen.time_us, record.runner_up);
    NumberOrNull(json, "version", record.version);
    json.Field("candidates", record.candidates).Field("failed", record.failed).EndObject();
  }
  json.EndArray().Key("flags").BeginArray();
  for (const std::string& flag : flags) json.Value(flag);
  json.EndArray().Key("notes").BeginArray();
  for (const std::string& note : found.notes) json.Value(note);
  json.EndArray().EndObject();
  return out + "\n";
}

Result<Autotuning> OfFile(const std::string& path, const Context& context) {
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(path, context.limits));
  dump::AutotuneRecords read = dump::ReadAutotuneRecords(file.bytes());
  if (read.format.empty())
    return InputError(path +
                          ": no autotune results: expected a dump directory, or AutotuneResults, "
                          "AutotuningLogs or AutotuneCache as text",
                      "XLA writes text where the name ends with .txt or .textproto; entries of a "
                      "cache folder are binary");
  Autotuning out;
  out.others = std::move(read.records);
  if (!read.why.empty()) out.notes.push_back(read.why);
  if (read.format == "AutotuneResults" && !out.others.empty()) out.pinned = file.bytes();
  return out;
}

Status Pin(const std::string& path, const std::string& file, Autotuning& found) {
  if (!file.ends_with(".txt") && !file.ends_with(".textproto"))
    return InputError(file +
                          ": XLA reads autotune results as text only from a file whose name ends "
                          "with .txt or .textproto",
                      "name it so");
  if (found.pinned.empty()) {
    std::string why = "neither configurations nor AutotuneResults are in it";
    if (!found.choices.empty()) {
      why = "it has the configurations of the compiled module, but no AutotuneResults";
    } else if (!found.others.empty()) {
      why = "it has records, but no AutotuneResults";
    } else if (!found.notes.empty()) {
      why = found.notes.front();
    }
    return InputError(
        fmt::format("{}: no records that XLA could load: {}", path, why),
        "compile on the device with --xla_gpu_dump_autotune_results_to=FILE.txt, which writes "
        "them, "
        "or fix one configuration for all products with --xla_gpu_override_gemm_autotuner");
  }
  size_t without = 0;
  for (const Choice& choice : found.choices) without += choice.record == "module only" ? 1 : 0;
  if (without != 0)
    found.notes.push_back(fmt::format("{} without a record: {} not fixed by the file",
                                      Counted(without, "configuration"),
                                      VerbFor(without, "it is", "they are")));
  return WriteFileAtomically(file, found.pinned);
}

}  // namespace

Result<std::string> AutotuningText(const std::string& path, const AutotuningRequest& request,
                                   const Context& context) {
  Autotuning found;
  if (dump::IsFolder(path)) {
    HLOSCOPE_ASSIGN_OR_RETURN(auto model, dump::DumpModel::Open(path, context.limits));
    int32_t only = -1;
    if (!request.module.empty()) {
      HLOSCOPE_ASSIGN_OR_RETURN(only, FindModule(*model, request.module));
    }
    found = analysis::AutotuningOf(*model, only);
  } else {
    HLOSCOPE_ASSIGN_OR_RETURN(found, OfFile(path, context));
  }
  std::vector<std::string> flags;
  if (!request.pin.empty()) {
    HLOSCOPE_TRY(Pin(path, request.pin, found));
    flags = PinFlags(request.pin, found);
  }
  return context.json ? JsonOf(path, found, flags) : TextOf(path, found, flags);
}

}  // namespace hloscope::app
