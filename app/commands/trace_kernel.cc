// Windows of steps, so that a long trace is printed as it comes.
#include "app/commands/trace_kernel.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "app/output.h"
#include "core/backends/gpusim/kernel_diagnosis.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/base/strings.h"
#include "core/debug/explain/kernels/case_of_run.h"
#include "core/replay/platform_table.h"

namespace hloscope::app {
namespace {

constexpr int64_t kWindow = 1 << 16;  // steps
constexpr int64_t kMaxSteps = 1 << 20;

template <typename T>
bool ReadNumber(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool ReadTriple(std::string_view text, std::array<uint32_t, 3>& triple) {
  const auto parts = StrSplit(text, ',');
  if (parts.size() > 3) return false;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!ReadNumber(parts[i], triple[i])) return false;
  }
  return true;
}

void WriteTriple(JsonWriter& json, std::string_view key, const std::array<uint32_t, 3>& triple) {
  json.Key(key).BeginArray();
  for (const uint32_t value : triple) json.Value(value);
  json.EndArray();
}

void WriteFrom(JsonWriter& json, const ptx::StepRef& from) {
  if (from.thread < 0) return;
  json.Field("from_thread", from.thread);
  if (from.step >= 0) json.Field("from_step", from.step);
}

std::string StepJson(const TraceSpec& spec, const ptx::BlockTrace& trace,
                     const ptx::ThreadTrace& thread, int64_t number) {
  const ptx::TracedStep& step = thread.at(number);
  const ptx::TracedInstruction& in = trace.instructions[step.instruction];
  const auto values = trace.ValuesOf(thread, step);
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("kernel", trace.kernel);
  WriteTriple(json, "block", spec.block);
  WriteTriple(json, "thread", spec.thread);
  json.Field("step", number).Field("line", in.line).Field("text", in.text);
  json.Key("operands").BeginArray();
  for (size_t i = 0; i < in.operands.size(); ++i) {
    const ptx::TracedOperand& operand = in.operands[i];
    if (operand.kind == ptx::TracedOperand::Kind::kConstant) continue;
    json.BeginObject().Field("name", operand.name).Field("written", operand.written);
    json.Field("bits", fmt::format("{:#x}", values[i].bits));
    json.Field("value", ptx::ValueText(values[i].bits, operand.bytes, in.type));
    WriteFrom(json, values[i].from);
    json.EndObject();
  }
  json.EndArray().Key("accesses").BeginArray();
  for (const ptx::TracedAccess& access : thread.AccessesOf(step)) {
    json.BeginObject().Field("space", ptx::NameOf(access.space)).Field("number", access.number);
    json.Field("offset", access.offset).Field("bytes", access.bytes);
    json.Field("writes", access.writes);
    WriteFrom(json, access.from);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return out + "\n";
}

std::string StepLine(const ptx::BlockTrace& trace, const ptx::ThreadTrace& thread, int64_t number) {
  const ptx::TracedStep& step = thread.at(number);
  const ptx::TracedInstruction& in = trace.instructions[step.instruction];
  return FormatText("{:>6} line {:<5} {:<56} {}\n", number, in.line, in.text,
                    ptx::StepText(trace, thread, step));
}

// The launch of the case that is meant: of the instruction's the first, unless the kernel is named.
Result<uint64_t> LaunchOf(const replay::KernelCase& kernels, const TraceSpec& spec) {
  for (size_t i = 0; i < kernels.launches.size(); ++i) {
    if (kernels.launches[i].kernel == spec.kernel) return i;
  }
  if (kernels.launches.empty()) return InternalError("a case without launches");
  return 0;
}

Status CheckThread(const replay::CaseLaunch& launch, const TraceSpec& spec) {
  for (size_t i = 0; i < 3; ++i) {
    if (spec.block[i] >= launch.blocks[i]) {
      return InputError(fmt::format("--trace: kernel {} has no such block", launch.kernel),
                        fmt::format("its grid has {}×{}×{} blocks, counted from 0",
                                    launch.blocks[0], launch.blocks[1], launch.blocks[2]));
    }
    if (spec.thread[i] >= launch.threads[i]) {
      return InputError(fmt::format("--trace: kernel {} has no such thread", launch.kernel),
                        fmt::format("its blocks have {}×{}×{} threads, counted from 0",
                                    launch.threads[0], launch.threads[1], launch.threads[2]));
    }
  }
  return {};
}

}  // namespace

Result<TraceSpec> ReadTraceSpec(std::string_view text) {
  TraceSpec spec;
  const auto parts = StrSplit(text, ':');
  bool sound = (parts.size() == 3 || parts.size() == 4) && !parts[0].empty();
  sound = sound && ReadTriple(parts[1], spec.block) && ReadTriple(parts[2], spec.thread);
  if (sound && parts.size() == 4) sound = ReadNumber(parts[3], spec.execution);
  if (!sound || spec.execution < 0) {
    return InputError(fmt::format("--trace: expected KERNEL:BLOCK:THREAD, got {}", text),
                      "as in fusion_3:0:17 or fusion_3:1,0,0:4,2,0; a fourth number is which "
                      "execution of the kernel");
  }
  spec.kernel = parts[0];
  return spec;
}

Status TraceKernel(const TraceSpec& spec, const std::shared_ptr<const hlo::Module>& module,
                   const debug::RunSpec& request, bool json, const std::stop_token& stop) {
  const replay::PlatformRow* row = replay::FindPlatform(request.test.name);
  if (row == nullptr || !row->Has(replay::kRunsDumps)) {
    return InputError("--trace: the platform does not run kernels of XLA:GPU",
                      fmt::format("--platform {}", replay::PlatformNames(replay::kRunsDumps)));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(
      replay::KernelOutcome outcome,
      debug::CaseOfKernel(module, request, spec.kernel, spec.execution, stop));
  replay::KernelDiagnosis diagnosis;
  diagnosis.kernels = *std::move(outcome.kernels_case);
  HLOSCOPE_ASSIGN_OR_RETURN(const uint64_t launch, LaunchOf(diagnosis.kernels, spec));
  const replay::CaseLaunch& own = diagnosis.kernels.launches[launch];
  HLOSCOPE_TRY(CheckThread(own, spec));
  const uint32_t thread =
      spec.thread[0] + own.threads[0] * (spec.thread[1] + own.threads[1] * spec.thread[2]);
  if (!json) {
    PrintOut(FormatText("kernel {} of {}, block ({}, {}, {}), thread ({}, {}, {})\n", own.kernel,
                        outcome.instruction, spec.block[0], spec.block[1], spec.block[2],
                        spec.thread[0], spec.thread[1], spec.thread[2]));
  }
  for (int64_t first = 0;; first += kWindow) {
    diagnosis.trace = replay::StudiedThreads{launch, spec.block, {thread}, first, kWindow};
    HLOSCOPE_ASSIGN_OR_RETURN(const replay::KernelDiagnosisAnswer answer,
                              debug::DiagnoseWithin(diagnosis, request, stop));
    const ptx::BlockTrace& trace = *answer.trace;
    const ptx::ThreadTrace& traced = trace.threads[0];
    for (int64_t step = first; traced.Has(step); ++step) {
      json ? WriteOut(StepJson(spec, trace, traced, step))
           : PrintOut(StepLine(trace, traced, step));
    }
    FlushOut();
    if (trace.fault && !json)
      PrintOut(FormatText("the block ends with {}\n", trace.fault->ToString()));
    if (first + kWindow >= traced.executed) return {};
    if (first + kWindow >= kMaxSteps) {
      PrintError(FormatText("--trace: {} of {} were printed", first + kWindow,
                            Counted(traced.executed, "step")));
      return {};
    }
  }
}

}  // namespace hloscope::app
