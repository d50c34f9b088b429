// `info --memory`: what holds the memory at the peak; with --advise what would lower it.
#include <fmt/format.h>

#include "app/cancel.h"
#include "app/commands/info_lineage.h"
#include "app/dump_place.h"
#include "app/output.h"
#include "app/reports/dump_report.h"
#include "app/xla_options.h"
#include "core/analysis/memory/memory_report.h"
#include "core/backends/pjrt/compile_module.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/hlo/index_text.h"
#include "core/replay/gpu_targets.h"
#include "core/replay/platform_table.h"

namespace hloscope::app {
namespace {

using analysis::MemoryAdvice;
using analysis::MemoryReport;

constexpr size_t kShownDonations = 8;  // in text

std::string Place(const std::string& source) { return source.empty() ? "" : " at " + source; }

std::string Verdict(const MemoryAdvice& advice) {
  if (!advice.recompiled_bytes) {
    return "not verified" + (advice.not_verified.empty() ? "" : ": " + advice.not_verified);
  }
  const int64_t saved = *advice.recompiled_bytes;
  const std::string found = saved < 0   ? fmt::format("needs {} more", BytesText(-saved))
                            : saved > 0 ? "saves " + BytesText(saved)
                                        : "saves nothing";
  return fmt::format("{}: a compilation {}", advice.verified() ? "verified" : "not confirmed",
                     found);
}

// "1424 B instead of 1520 B"; to the byte where rounded sizes would be the same.
std::string InsteadText(int64_t now, int64_t before) {
  const std::string rounded = BytesText(now);
  if (rounded != BytesText(before)) {
    return FormatText("{} instead of {}", rounded, BytesText(before));
  }
  return FormatText("{} B instead of {} B", now, before);
}

std::string TextOf(const std::string& path, const std::vector<MemoryReport>& reports, bool advise) {
  std::string out = FormatText("{}: {}\n", path, Counted(reports.size(), "compiled module"));
  for (const MemoryReport& report : reports) {
    out += FormatText("  {}", report.module);
    if (report.peak_bytes >= 0) {
      out += FormatText(": {} ({} parameters, {} results, {} temporary, {} constants)",
                        BytesText(report.peak_bytes), BytesText(report.parameter_bytes),
                        BytesText(report.result_bytes), BytesText(report.temporary_bytes),
                        BytesText(report.constant_bytes));
    }
    if (report.live_peak_bytes >= 0) {
      out += FormatText("; at most {} live at once, at {}", BytesText(report.live_peak_bytes),
                        report.peak_instruction);
    }
    out += "\n";
    for (const analysis::MemoryHolder& holder : report.holders) {
      out += FormatText("    {:>10}  {:<9}  {}{} {}{}\n", BytesText(holder.bytes), holder.kind,
                        holder.instruction,
                        holder.shape_index.empty() ? "" : hlo::ShapeIndexText(holder.shape_index),
                        holder.shape, Place(holder.source));
    }
    if (report.left_out > 0) out += FormatText("    {} more\n", report.left_out);
    for (const MemoryAdvice& advice : report.advice) {
      out += FormatText("    advice: {}: {} less, {}; {}\n", advice.what,
                        BytesText(advice.saves_bytes),
                        InsteadText(advice.new_peak_bytes, report.peak_bytes), Verdict(advice));
      for (size_t i = 0; i < advice.donations.size() && i < kShownDonations; ++i) {
        const analysis::Donation& one = advice.donations[i];
        out += FormatText("      {:>10}  argument {} {}{} to result {}\n", BytesText(one.bytes),
                          one.parameter, one.name.empty() ? one.instruction : one.name,
                          Place(one.source), hlo::ShapeIndexText(one.output_index));
      }
      if (advice.donations.size() > kShownDonations)
        out += FormatText("      {} more\n", advice.donations.size() - kShownDonations);
    }
    if (advise && report.advice.empty() && report.peak_bytes >= 0) {
      out +=
          "    no advice: no argument could be donated, and no value at the peak is a copy of an "
          "argument or cheap to compute again\n";
    }
    for (const std::string& note : report.notes) out += FormatText("    note: {}\n", note);
  }
  return out;
}

std::string JsonOf(const std::string& path, const std::vector<MemoryReport>& reports) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("file", path).Key("modules").BeginArray();
  for (const MemoryReport& report : reports) {
    json.BeginObject().Field("module", report.module);
    for (const auto& [key, bytes] : {std::pair("peak_bytes", report.peak_bytes),
                                     std::pair("live_peak_bytes", report.live_peak_bytes),
                                     std::pair("simulated_bytes", report.simulated_bytes)}) {
      json.Key(key);
      bytes < 0 ? json.Null() : json.Value(bytes);
    }
    json.Field("peak_instruction", report.peak_instruction);
    json.Field("parameter_bytes", report.parameter_bytes);
    json.Field("result_bytes", report.result_bytes);
    json.Field("temporary_bytes", report.temporary_bytes);
    json.Field("constant_bytes", report.constant_bytes).Key("holders").BeginArray();
    for (const analysis::MemoryHolder& holder : report.holders) {
      json.BeginObject().Field("instruction", holder.instruction).Field("shape", holder.shape);
      json.Field("source", holder.source).Field("kind", holder.kind);
      json.Field("bytes", holder.bytes).EndObject();
    }
    json.EndArray().Field("left_out", report.left_out).Key("notes").BeginArray();
    for (const std::string& note : report.notes) json.Value(note);
    json.EndArray().EndObject();
  }
  json.EndArray().Key("advice").BeginArray();
  for (const MemoryReport& report : reports) {
    for (const MemoryAdvice& advice : report.advice) {
      json.BeginObject().Field("module", report.module).Field("kind", advice.kind);
      json.Field("what", advice.what).Field("instruction", advice.instruction);
      json.Field("source", advice.source);
      json.Field("saves_bytes", advice.saves_bytes);
      json.Field("new_peak_bytes", advice.new_peak_bytes);
      json.Field("verified", advice.verified()).Key("recompiled_bytes");
      advice.recompiled_bytes ? json.Value(*advice.recompiled_bytes) : json.Null();
      json.Field("not_verified", advice.not_verified).Key("donations").BeginArray();
      for (const analysis::Donation& one : advice.donations) {
        json.BeginObject().Field("parameter", one.parameter).Field("instruction", one.instruction);
        json.Field("name", one.name).Field("source", one.source).Key("result").BeginArray();
        for (const int64_t i : one.output_index) json.Value(i);
        json.EndArray().Field("bytes", one.bytes).EndObject();
      }
      json.EndArray().EndObject();
    }
  }
  json.EndArray().EndObject();
  return out + "\n";
}

// Compiles a module for the device of its dump, and says XLA's own peak.
class Recompiler {
 public:
  Recompiler(const dump::DumpModel& model, int32_t module, const std::stop_token& stop)
      : stop_(stop) {
    const dump::ModuleEntry& entry = model.modules()[static_cast<size_t>(module)];
    request_.options.limits = model.limits();
    request_.platform = replay::PluginPlatform(entry.device == "gpu" ? replay::Devices::kGpu
                                                                     : replay::Devices::kHost)
                            ->name;
    if (entry.device == "gpu") {
      request_.target = replay::GpuTargetOf(entry.target, model.limits());
      if (request_.target.empty()) {
        why_not_ = fmt::format("no description of a device with `{}`", entry.target);
      }
    } else if (entry.device != "cpu") {
      why_not_ = "the dump does not say for which device it was compiled";
    }
    const int32_t first = model.FindStage(module, "before_optimizations");
    if (why_not_.empty() && first < 0) {
      why_not_ = "the dump has no module before optimizations";
    }
    if (!why_not_.empty()) return;
    auto read = model.Module(module, first);
    if (!read) {
      why_not_ = read.error().message;
      return;
    }
    module_ = *std::move(read);
    before_ = Peak(module_);
  }

  void Verify(MemoryAdvice& advice) {
    if (!advice.not_verified.empty()) return;  // nothing could be compiled for it
    advice.not_verified = why_not_;
    if (!why_not_.empty()) return;
    const auto changed = analysis::WithAdvice(module_, advice);
    if (!changed) {
      advice.not_verified = changed.error().message;
      return;
    }
    const int64_t after = Peak(*changed);
    advice.not_verified = why_not_;
    if (why_not_.empty()) advice.recompiled_bytes = before_ - after;
  }

 private:
  int64_t Peak(const std::shared_ptr<const hlo::Module>& module) {
    const auto report = replay::CompileModule(module, request_, stop_);
    if (!report) {
      why_not_ = report.error().message;
      return 0;
    }
    for (const auto& [name, bytes] : report->memory) {
      if (name == "peak") return bytes;
    }
    why_not_ = "this XLA does not say what memory a program needs";
    return 0;
  }

  std::stop_token stop_;
  replay::CompileModuleRequest request_;
  std::shared_ptr<const hlo::Module> module_;
  int64_t before_ = 0;
  std::string why_not_;
};

}  // namespace

Result<std::string> MemoryText(const std::string& path, const MemoryRequest& request,
                               const Context& context) {
  HLOSCOPE_ASSIGN_OR_RETURN(auto model, dump::DumpModel::Open(path, context.limits));
  int32_t only = -1;
  if (!request.module.empty()) {
    HLOSCOPE_ASSIGN_OR_RETURN(only, FindModule(*model, request.module));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(auto reports, analysis::MemoryReportsOf(*model, only, request.advise));
  if (request.verify) {
    const CancelOnSignals cancel;
    const std::string unused =
        XlaOptions::UnusedEnvironment("--verify compiles with XLA's defaults");
    if (!unused.empty()) PrintError("warning: " + unused);
    for (MemoryReport& report : reports) {
      if (report.advice.empty()) continue;
      Recompiler recompiler(*model, report.position, cancel.token());
      for (MemoryAdvice& advice : report.advice) recompiler.Verify(advice);
    }
  }
  return context.json ? JsonOf(path, reports) : TextOf(path, reports, request.advise);
}

}  // namespace hloscope::app
