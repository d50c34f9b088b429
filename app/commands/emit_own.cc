// Compiles in child processes.
#include "app/commands/emit_own.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "app/output.h"
#include "core/backends/ahead/compile_ahead.h"
#include "core/backends/ahead/own_compile.h"
#include "core/backends/pjrt/compile_module.h"
#include "core/backends/pjrt/gpu_architecture.h"
#include "core/backends/sass/machine_code.h"
#include "core/base/counted.h"
#include "core/base/file.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/base/machine_memory.h"
#include "core/dump/plan_file.h"
#include "core/replay/gpu_targets.h"

namespace hloscope::app {
namespace {

using replay::CodeForm;

struct CodeRow {
  std::string_view name;
  CodeForm form;
  std::string_view what;
  bool is_assembled = false;
};
constexpr CodeRow kCode[] = {
    {"llvm", CodeForm::kLlvm, "LLVM IR of the kernels"},
    {"asm", CodeForm::kAssembly, "assembly of the kernels"},
    {"ptx", CodeForm::kPtx, "PTX of the kernels"},
    {"cubin", CodeForm::kPtx, "machine code of the kernels", true},
    {"object", CodeForm::kObject, "the module as an object"},
};
constexpr CodeRow kPlanFile = {"plan", CodeForm::kPlan, "the plan, its kernels and constants"};
constexpr std::string_view kPlan = "plan", kNative = "native";
constexpr const char* kUsualDevice = "h100";  // that PTX is for

Status Write(const std::string& path, std::string_view bytes) {
  if (path != "-") return WriteFileAtomically(path, bytes);
  WriteOut(bytes);
  return {};
}

Result<EmitReport> EmitPlan(const hlo::Module& module, const EmitRequest& request,
                            const std::stop_token& stop) {
  replay::OwnCompileRequest own;
  own.wants_plan = true;
  own.limits = request.limits;
  HLOSCOPE_ASSIGN_OR_RETURN(const replay::OwnCompileReport compiled,
                            replay::OwnCompile(module, own, stop));
  HLOSCOPE_TRY(Write(request.output, compiled.plan));
  EmitReport report;
  report.kernels = compiled.kernels;
  report.compile_ms = compiled.compile_ms;
  report.files.push_back({request.output, "the plan"});
  return report;
}

constexpr std::string_view kHeaderEnd = ".h", kCMakeEnd = ".cmake";

Status CheckObjectFile(const std::string& output) {
  const std::filesystem::path path(output);
  const std::string end = path.extension().string();
  if (output != "-" && path.has_stem() && end != kHeaderEnd && end != kCMakeEnd) return {};
  return InputError("--emit object writes a header and a CMake file next to the object",
                    "name the object: -o model.o");
}

// The header and the CMake file of an object.
Status WriteBeside(const std::string& object, const replay::AheadAnswer& answer,
                   EmitReport& report) {
  const std::filesystem::path path(object);
  const auto write = [&](std::string_view end, const std::string& text,
                         const char* what) -> Status {
    const std::string file = std::filesystem::path(path).replace_extension(end).string();
    HLOSCOPE_TRY(Write(file, text));
    report.files.push_back({file, what});
    return {};
  };
  HLOSCOPE_TRY(write(kHeaderEnd, answer.c_header, "its C header"));
  HLOSCOPE_TRY(write(kCMakeEnd, answer.cmake, "its CMake target"));
  report.object_bytes = std::ssize(answer.code);
  report.temp_bytes = answer.temp_bytes;
  return {};
}

}  // namespace

bool IsPlanFileName(std::string_view output) { return output.ends_with(dump::kPlanFileEnding); }

std::vector<std::string> EmittedCode() {
  std::vector<std::string> names = {std::string(kPlan)};
  for (const CodeRow& row : kCode) names.emplace_back(row.name);
  return names;
}

Result<EmitReport> EmitOwn(const std::shared_ptr<const hlo::Module>& module,
                           const EmitRequest& request, const std::stop_token& stop) {
  if (request.what == kPlan && !IsPlanFileName(request.output)) {
    return EmitPlan(*module, request, stop);
  }
  const CodeRow* row = std::ranges::find(kCode, request.what, &CodeRow::name);
  if (request.what == kPlan) row = &kPlanFile;
  if (row == std::end(kCode)) return InputError("--emit " + request.what + ": no such code");
  if (row->form == CodeForm::kObject) HLOSCOPE_TRY(CheckObjectFile(request.output));
  replay::AheadRequest ahead;
  ahead.object_file = request.output;
  ahead.form = row->form;
  ahead.target = request.target == kNative ? "" : request.target;
  const bool is_for_gpu = row->form == CodeForm::kPtx || row->form == CodeForm::kPlan;
  if (is_for_gpu) {
    HLOSCOPE_ASSIGN_OR_RETURN(
        ahead.target, replay::GpuArchitecture(ahead.target.empty() ? kUsualDevice : ahead.target,
                                              request.limits));
  }
  ahead.threads = static_cast<int>(request.jobs);
  ahead.deadline = std::chrono::seconds(request.limits.run_deadline_seconds);
  ahead.memory_bytes = MachineMemoryBytes() / 100 * request.limits.run_memory_percent;
  HLOSCOPE_ASSIGN_OR_RETURN(const replay::AheadAnswer answer,
                            replay::CompileAhead(*module, ahead, stop));
  EmitReport report;
  if (row->is_assembled) {
    HLOSCOPE_ASSIGN_OR_RETURN(
        const replay::AssembledCode assembled,
        replay::AssemblePtx(answer.code, ahead.deadline, replay::FindCudaTools(), stop));
    HLOSCOPE_TRY(Write(request.output, assembled.cubin));
    int64_t registers = 0, spilled = 0;
    for (const auto& [name, resources] : assembled.kernels) {
      registers = std::max(registers, resources.registers.value_or(0));
      spilled += resources.spill_store_bytes.value_or(0) + resources.spill_load_bytes.value_or(0);
    }
    report.files.push_back(
        {request.output,
         fmt::format("{} for {}, by {}: up to {} a thread, {}", row->what, ahead.target,
                     assembled.assembler, Counted(registers, "register"),
                     spilled == 0 ? "nothing spilled" : Counted(spilled, "byte") + " of spills")});
    // An architecture is no device: then there is no occupancy.
    const auto described = replay::ReadGpuTarget(
        request.target.empty() || request.target == kNative ? kUsualDevice : request.target,
        request.limits);
    report.assembled = OnDevice(
        assembled, answer.code,
        described.has_value() ? profiler::FactsFromTarget(*described) : profiler::DeviceFacts());
  } else {
    HLOSCOPE_TRY(Write(request.output, answer.code));
    report.files.push_back({request.output, std::string(row->what)});
  }
  if (row->form == CodeForm::kObject) HLOSCOPE_TRY(WriteBeside(request.output, answer, report));
  report.kernels = answer.kernels;
  report.functions = answer.functions;
  report.compile_ms = answer.compile_ms;
  return report;
}

std::string EmitReportText(const EmitReport& report, const std::string& module) {
  std::string out = FormatText("{}: compiled in {:.1f} ms: {}", module, report.compile_ms,
                               Counted(report.kernels, "kernel"));
  if (report.functions > 0) out += FormatText(", {}", Counted(report.functions, "function"));
  out += "\n";
  for (const auto& [path, what] : report.files) out += FormatText("  {}: {}\n", path, what);
  if (report.object_bytes > 0) {
    out += FormatText("  {}; a call takes {} of scratch memory in addition to its arrays\n",
                      Counted(report.object_bytes, "byte"), Counted(report.temp_bytes, "byte"));
  }
  return out + KernelsText(report.assembled);
}

std::string EmitReportJson(const EmitReport& report, const std::string& module,
                           const std::string& emit) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject()
      .Field("module", module)
      .Field("status", "ok")
      .Field("emit", emit)
      .Field("compile_ms", report.compile_ms)
      .Field("kernels", report.kernels)
      .Field("functions", report.functions)
      .Field("object_bytes", report.object_bytes)
      .Field("temp_bytes", report.temp_bytes)
      .Key("files")
      .BeginArray();
  for (const WrittenFile& file : report.files) json.Value(file.path);
  json.EndArray();
  AppendKernels(report.assembled, json);
  json.EndObject();
  return out + "\n";
}

}  // namespace hloscope::app
