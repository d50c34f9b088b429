#include "app/commands/run_ptx.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "app/error_status.h"
#include "app/output.h"
#include "app/reports/run_report.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/debug/run/finding_text.h"
#include "core/debug/run/run_ptx.h"
#include "core/hlo/text/value_text.h"
#include "core/replay/platform_table.h"

namespace hloscope::app {
namespace {

using debug::PtxRunReport;

// More elements are cut off for people.
constexpr int64_t kMaxPtxElements = 256;

std::string PtxValueText(const hlo::Literal& value, bool whole) {
  std::string text;
  if (whole || value.shape().ElementCount().value_or(0) <= kMaxPtxElements) {
    hlo::AppendLiteral(text, value, false);
    return text;
  }
  for (int64_t i = 0; i < 8; ++i) {
    text += i == 0 ? "{" : ", ";
    hlo::AppendElement(text, value, i);
  }
  return text + ", ...} (--print_literals prints all)";
}

std::string PtxReportText(const std::string& file, const PtxRunReport& report, bool whole) {
  std::string out = FormatText("{}: kernel {} for {} on {}, {} blocks of {} threads\n", file,
                               report.entry, report.target, PtxRun::DefaultPlatform(),
                               Join(report.grid, "×"), Join(report.block, "×"));
  for (const debug::PtxResult& result : report.results) {
    out += FormatText("  {} {} {}{}\n", result.name, hlo::ToString(result.value.shape(), false),
                      PtxValueText(result.value, whole),
                      result.file.empty() ? "" : ", written to " + result.file);
  }
  for (const replay::RunFinding& finding : report.findings)
    out += debug::FindingText(finding, "  ");
  for (const std::string& warning : report.warnings) out += FormatText("  warning: {}\n", warning);
  return out + FormatText("  executed: {} instructions of warps\n", report.warp_instructions);
}

void WritePtxExtent(JsonWriter& json, std::string_view key, const std::array<uint32_t, 3>& sizes) {
  json.Key(key).BeginArray();
  for (const uint32_t size : sizes) json.Value(size);
  json.EndArray();
}

std::string PtxReportJson(const std::string& file, const Result<PtxRunReport>& ran) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("file", file);
  if (!ran) {
    const Error& error = ran.error();
    WriteErrorStatus(json, error);
    json.Key("error").BeginObject().Field("message", error.message).Field("fix", error.hint);
    json.Field("line", error.place.line).EndObject().EndObject();
    return out + "\n";
  }
  json.Field("status", "ok")
      .Field("platform", PtxRun::DefaultPlatform())
      .Field("kernel", ran->entry);
  json.Field("target", ran->target);
  WritePtxExtent(json, "grid", ran->grid);
  WritePtxExtent(json, "block", ran->block);
  json.Field("warp_instructions", ran->warp_instructions).Key("results").BeginArray();
  for (const debug::PtxResult& result : ran->results) {
    json.BeginObject().Field("argument", result.argument).Field("name", result.name);
    json.Field("shape", hlo::ToString(result.value.shape(), false));
    std::string value;
    hlo::AppendLiteral(value, result.value, false);
    json.Field("value", value);
    if (!result.file.empty()) json.Field("file", result.file);
    json.EndObject();
  }
  json.EndArray();
  WriteChecks(json, ran->findings);
  json.Key("warnings").BeginArray();
  for (const std::string& warning : ran->warnings) json.Value(warning);
  json.EndArray().EndObject();
  return out + "\n";
}

// At commas outside of [ ].
std::vector<std::string> ArgumentParts(const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  for (const std::string& text : texts) {
    int depth = 0;
    parts.emplace_back();
    for (const char c : text) {
      depth += c == '[' ? 1 : c == ']' ? -1 : 0;
      if (c == ',' && depth == 0) {
        parts.emplace_back();
      } else {
        parts.back() += c;
      }
    }
  }
  return parts;
}

}  // namespace

std::vector<OptionSpec> PtxRun::Specs() {
  return {
      {.name = "--entry",
       .target = &entry_,
       .help = "K.ptx: the kernel that runs; may be left out where the text has one",
       .value = "NAME",
       .group = "A PTX text alone, on a simulated GPU"},
      {.name = "--grid",
       .target = &grid_,
       .help = "K.ptx: how many blocks, 1 by default",
       .value = "X,Y,Z"},
      {.name = "--block",
       .target = &block_,
       .help = "K.ptx: how many threads in a block; those of .reqntid by default",
       .value = "X,Y,Z"},
      {.name = "--shared",
       .target = &shared_bytes_,
       .help = "K.ptx: bytes of dynamic shared memory, 0 by default",
       .value = "BYTES"},
      {.name = "--args",
       .target = &arguments_,
       .help = "K.ptx: its arguments in order, A,B or each after its own --args: IN.npy is read, "
               "out:f32[4,8] is printed, inout:F.npy both, =OUT.npy after these two writes it, "
               "u32:5 or f32:0.5 is a number, bf16:IN.npy names a type that numpy does not",
       .value = "ARGUMENTS"}};
}

std::string PtxRun::DefaultPlatform() {
  for (const replay::PlatformRow& row : replay::PlatformRows())
    if (row.Has(replay::kSimulatesGpu)) return std::string(row.name);
  return {};
}

Status PtxRun::Check(const std::vector<std::string>& files,
                     const std::vector<std::string>& given) const {
  const auto ptx = std::ranges::count_if(files, IsPtx);
  if (ptx > 0 && files.size() > 1)
    return InputError("a PTX text runs alone, these are " + std::to_string(files.size()) + " files",
                      "run them one after the other");
  const bool asked = !entry_.empty() || !grid_.empty() || !block_.empty() || shared_bytes_ != 0 ||
                     !arguments_.empty();
  if (ptx > 0) {
    constexpr std::string_view kTaken[] = {
        "--entry",   "--grid",     "--block",   "--shared",   "--args",          "--check",
        "--shuffle", "--deadline", "--threads", "--platform", "--print_literals"};
    for (const std::string& option : given) {
      if (std::ranges::find(kTaken, option) == std::end(kTaken))
        return InputError(option + ": not read where a PTX text runs alone",
                          fmt::format("options that are: {}", Join(kTaken, ", ")));
    }
    return {};
  }
  if (!asked) return {};
  return InputError("--entry, --grid, --block, --shared and --args are of a PTX text",
                    "name one: hloscope run K.ptx --args in.npy,out:f32[64]");
}

int PtxRun::Run(const std::string& file, const debug::RunSpec& run, bool print,
                const Context& context, const std::stop_token& stop) const {
  const auto ran = [&]() -> Result<PtxRunReport> {
    const replay::PlatformRow* const row = replay::FindPlatform(run.test.name);
    if (row == nullptr || !row->Has(replay::kSimulatesGpu)) {
      return InputError(fmt::format("a PTX text does not run on {}", run.test.name),
                        "platforms that run one: " + replay::PlatformNames(replay::kSimulatesGpu));
    }
    debug::PtxRunSpec spec;
    spec.file = file;
    spec.entry = entry_;
    if (!grid_.empty()) {
      HLOSCOPE_ASSIGN_OR_RETURN(spec.grid, debug::ExtentFromText("--grid", grid_));
    }
    if (!block_.empty()) {
      HLOSCOPE_ASSIGN_OR_RETURN(spec.block, debug::ExtentFromText("--block", block_));
    }
    spec.shared_bytes = shared_bytes_;
    spec.arguments = ArgumentParts(arguments_);
    spec.checks = run.checks;
    spec.limits = context.limits;
    spec.budget = run.budget;
    spec.budget.stop = stop;
    spec.budget.deadline = debug::DeadlineOf(run);
    return debug::RunPtx(spec);
  }();
  if (context.json) WriteOut(PtxReportJson(file, ran));
  if (!ran) {
    PrintError(ran.error());
    return ExitStatusOf(ran.error());
  }
  if (!context.json) PrintOut(PtxReportText(file, *ran, print));
  return ran->findings.empty() ? kGood : kDiffers;
}

}  // namespace hloscope::app
