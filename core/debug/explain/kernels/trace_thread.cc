// A case of the kernel, its thread traced, and what the instructions inside make of its operands.
#include "core/debug/explain/kernels/trace_thread.h"

#include <fmt/format.h>

#include <utility>

#include "core/backends/gpusim/kernel_diagnosis.h"
#include "core/debug/explain/kernels/case_of_run.h"
#include "core/debug/explain/kernels/value_signatures.h"
#include "core/debug/run/capture_collector.h"
#include "core/debug/run/run_module.h"
#include "core/replay/platform_table.h"

namespace hloscope::debug {
namespace {

using Index = std::array<uint32_t, 3>;

Result<uint64_t> LaunchOf(const replay::KernelCase& kernels, const std::string& name) {
  for (size_t i = 0; i < kernels.launches.size(); ++i) {
    if (kernels.launches[i].kernel == name) return i;
  }
  return InternalError("the kernel case has no kernel");
}

Status CheckThread(const replay::CaseLaunch& launch, const Index& block, const Index& thread) {
  const auto check = [&](const char* what, const auto& at, const auto& sizes) -> Status {
    for (size_t i = 0; i < 3; ++i) {
      if (at[i] < sizes[i]) continue;
      return InputError(fmt::format("kernel {} has no {} {}", launch.kernel, what, IndexText(at)),
                        fmt::format("it was launched with {} × {} × {}, numbered from 0", sizes[0],
                                    sizes[1], sizes[2]));
    }
    return {};
  };
  HLOSCOPE_TRY(check("block", block, launch.blocks));
  return check("thread", thread, launch.threads);
}

// What each instruction inside makes of the operands, by the reference evaluator in a child
// process.
Result<ValueSignatures> SignaturesOf(const KernelQuestion& question, const RunSpec& request,
                                     int64_t stored_byte, const std::stop_token& stop) {
  const hlo::Module& alone = *question.alone;
  RunSpec run = DerivedSpec(request, TestOn(request, replay::ReferencePlatform().name),
                            request.inputs.With(question.arguments));
  run.load.module_file.clear();
  replay::CapturePlan plan;
  plan.results = replay::CaptureForm::kNone;
  plan.items = {{replay::CaptureScope::kAll, replay::CaptureForm::kBytes, {}}};
  CaptureCollector collector;
  HLOSCOPE_TRY(RunCapturing(question.alone, run, plan, collector, stop));
  std::vector<std::pair<hlo::InstructionId, hlo::Literal>> values;
  for (uint32_t i = 0; i < alone.instructions().size(); ++i) {
    const hlo::InstructionId id(i);
    if (auto value = collector.ValueOf(alone, id)) values.emplace_back(id, *std::move(value));
  }
  const hlo::Shape& shape = alone.shape(alone.entry().root);
  const int64_t elements = shape.IsArray() ? shape.ElementCount().value_or(0) : 0;
  const int64_t bytes = shape.IsArray() ? shape.ByteSize().value_or(0) : 0;
  const int64_t element = elements > 0 && bytes >= elements ? stored_byte / (bytes / elements) : 0;
  return ValueSignatures::Of(alone, values, element, elements);
}

// Where in an argument the thread first writes; 0 where it writes to none.
int64_t StoredByte(const ptx::ThreadTrace& thread) {
  for (const ptx::TracedAccess& access : thread.accesses) {
    if (access.writes && access.space == ptx::TracedSpace::kArgument)
      return static_cast<int64_t>(access.offset);
  }
  return 0;
}

std::vector<std::string> ValuesOf(const TracedThread& traced, const ValueSignatures& signatures) {
  std::vector<std::string> names;
  for (const ptx::TracedStep& step : traced.thread().steps) {
    const ptx::TracedInstruction& in = traced.trace.instructions[step.instruction];
    const auto values = traced.trace.ValuesOf(traced.thread(), step);
    std::string& name = names.emplace_back();
    for (size_t i = 0; i < in.operands.size() && name.empty(); ++i) {
      if (in.Makes(i)) {
        name = signatures.FindIn(values[i].bits, in.operands[i].bytes, in.type).instruction;
      }
    }
  }
  return names;
}

// "p.1", "p.1 and the result": whose bytes each argument has.
std::vector<std::string> ArgumentNames(const KernelQuestion& question,
                                       const replay::CaseLaunch& launch) {
  std::vector<std::string> names;
  for (const replay::CaseSlice& argument : launch.arguments) {
    std::string& name = names.emplace_back();
    const auto add = [&](const replay::CaseSlice& slice, const std::string& text) {
      if (slice.region != argument.region || slice.offset != argument.offset ||
          slice.bytes != argument.bytes || name.find(text) != std::string::npos) {
        return;
      }
      name += (name.empty() ? "" : " and ") + text;
    };
    for (size_t i = 0; i < question.operand_leaves.size(); ++i) {
      add(question.kernels.operands[i], question.operand_leaves[i].name);
    }
    for (size_t i = 0; i < question.result_leaves.size(); ++i) {
      add(question.kernels.results[i],
          question.result_leaves.size() == 1 ? "the result" : fmt::format("result {}", i));
    }
  }
  return names;
}

}  // namespace

Result<TracedThread> TraceThread(const std::shared_ptr<const hlo::Module>& module,
                                 const RunSpec& request, const std::string& kernel,
                                 const Index& block, const Index& thread,
                                 const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(const replay::KernelOutcome outcome,
                            CaseOfKernel(module, request, kernel, 0, stop));
  HLOSCOPE_ASSIGN_OR_RETURN(const KernelQuestion question, QuestionOf(outcome));
  replay::KernelDiagnosis diagnosis;
  diagnosis.kernels = question.kernels;
  HLOSCOPE_ASSIGN_OR_RETURN(const uint64_t number, LaunchOf(diagnosis.kernels, kernel));
  const replay::CaseLaunch& launch = diagnosis.kernels.launches[number];
  HLOSCOPE_TRY(CheckThread(launch, block, thread));
  const auto [x, y, z] = thread;
  diagnosis.trace = {.launch = number,
                     .block = block,
                     .threads = {x + launch.threads[0] * (y + launch.threads[1] * z)}};
  HLOSCOPE_ASSIGN_OR_RETURN(replay::KernelDiagnosisAnswer answer,
                            replay::DiagnoseKernel(diagnosis, TestOptions(request), stop));
  if (!answer.trace || answer.trace->threads.empty()) return InternalError("no thread was traced");
  TracedThread traced;
  traced.trace = *std::move(answer.trace);
  traced.arguments = ArgumentNames(question, launch);
  const ptx::ThreadTrace& steps = traced.thread();
  for (int64_t step = steps.first; steps.Has(step); ++step) {
    traced.steps_of[traced.LineOf(step)].push_back(step);
  }
  if (const auto signatures = SignaturesOf(question, request, StoredByte(steps), stop)) {
    traced.values_of = ValuesOf(traced, *signatures);
    for (int64_t step = steps.first; steps.Has(step); ++step) {
      if (const std::string& name = traced.ValueOf(step); !name.empty())
        traced.lines_of[name].insert(traced.LineOf(step));
    }
  } else {
    traced.values_of.resize(steps.steps.size());
    traced.no_values = signatures.error().ToString();
  }
  return traced;
}

std::string IndexText(const std::array<uint32_t, 3>& index) {
  if (index[1] == 0 && index[2] == 0) return std::to_string(index[0]);
  return fmt::format("{},{},{}", index[0], index[1], index[2]);
}

}  // namespace hloscope::debug
