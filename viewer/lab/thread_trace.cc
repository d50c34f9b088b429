// A case of the kernel, its thread traced, and what the instructions inside make of its operands.
#include "viewer/lab/thread_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "core/backends/gpusim/kernel_diagnosis.h"
#include "core/debug/explain/kernels/case_of_run.h"
#include "core/debug/explain/kernels/value_signatures.h"
#include "core/debug/run/capture_collector.h"
#include "core/debug/run/run_module.h"
#include "core/replay/platform_table.h"
#include "viewer/model/anchor.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/experiment.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

struct ThreadKey : ThreadChoice {
  using Value = TracedThread;
  auto operator<=>(const ThreadKey&) const = default;
};

struct Job {
  std::shared_ptr<const dump::DumpModel> dump;
  ThreadChoice choice;
  std::string kernel;
  debug::RunSpec request;
};

Result<uint64_t> LaunchOf(const replay::KernelCase& kernels, const std::string& name) {
  for (size_t i = 0; i < kernels.launches.size(); ++i) {
    if (kernels.launches[i].kernel == name) return i;
  }
  return InternalError("the kernel case has no kernel");
}

Status CheckThread(const replay::CaseLaunch& launch, const ThreadChoice& choice) {
  const auto check = [&](const char* what, const auto& at, const auto& sizes) -> Status {
    for (size_t i = 0; i < 3; ++i) {
      if (at[i] < sizes[i]) continue;
      return InputError(fmt::format("kernel {} has no {} {}", launch.kernel, what, IndexText(at)),
                        fmt::format("it was launched with {} × {} × {}, numbered from 0", sizes[0],
                                    sizes[1], sizes[2]));
    }
    return {};
  };
  HLOSCOPE_TRY(check("block", choice.block, launch.blocks));
  return check("thread", choice.thread, launch.threads);
}

// What each instruction inside makes of the operands, by the reference evaluator in a child
// process.
Result<debug::ValueSignatures> SignaturesOf(const debug::KernelQuestion& question, const Job& job,
                                            int64_t stored_byte, const std::stop_token& stop) {
  const hlo::Module& alone = *question.alone;
  debug::RunSpec run =
      debug::DerivedSpec(job.request, debug::TestOn(job.request, replay::ReferencePlatform().name),
                         job.request.inputs.With(question.arguments));
  run.load.module_file.clear();
  replay::CapturePlan plan;
  plan.results = replay::CaptureForm::kNone;
  plan.items = {{replay::CaptureScope::kAll, replay::CaptureForm::kBytes, {}}};
  debug::CaptureCollector collector;
  HLOSCOPE_TRY(debug::RunCapturing(question.alone, run, plan, collector, stop));
  std::vector<std::pair<hlo::InstructionId, hlo::Literal>> values;
  for (uint32_t i = 0; i < alone.instructions().size(); ++i) {
    const hlo::InstructionId id(i);
    if (auto value = collector.ValueOf(alone, id)) values.emplace_back(id, *std::move(value));
  }
  const hlo::Shape& shape = alone.shape(alone.entry().root);
  const int64_t elements = shape.IsArray() ? shape.ElementCount().value_or(0) : 0;
  const int64_t bytes = shape.IsArray() ? shape.ByteSize().value_or(0) : 0;
  const int64_t element = elements > 0 && bytes >= elements ? stored_byte / (bytes / elements) : 0;
  return debug::ValueSignatures::Of(alone, values, element, elements);
}

// Where in an argument the thread first writes; 0 where it writes to none.
int64_t StoredByte(const ptx::ThreadTrace& thread) {
  for (const ptx::TracedAccess& access : thread.accesses) {
    if (access.writes && access.space == ptx::TracedSpace::kArgument)
      return static_cast<int64_t>(access.offset);
  }
  return 0;
}

std::vector<std::string> ValuesOf(const TracedThread& traced,
                                  const debug::ValueSignatures& signatures) {
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
std::vector<std::string> ArgumentNames(const debug::KernelQuestion& question,
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

Computed<TracedThread> Trace(const Job& job, const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(
      const std::shared_ptr<const hlo::Module> module,
      job.dump->Module(job.choice.module, job.dump->FinalStage(job.choice.module)));
  HLOSCOPE_ASSIGN_OR_RETURN(const replay::KernelOutcome outcome,
                            debug::CaseOfKernel(module, job.request, job.kernel, 0, stop));
  HLOSCOPE_ASSIGN_OR_RETURN(const debug::KernelQuestion question, debug::QuestionOf(outcome));
  replay::KernelDiagnosis diagnosis;
  diagnosis.kernels = question.kernels;
  HLOSCOPE_ASSIGN_OR_RETURN(const uint64_t number, LaunchOf(diagnosis.kernels, job.kernel));
  const replay::CaseLaunch& launch = diagnosis.kernels.launches[number];
  HLOSCOPE_TRY(CheckThread(launch, job.choice));
  const auto [x, y, z] = job.choice.thread;
  diagnosis.trace = {.launch = number,
                     .block = job.choice.block,
                     .threads = {x + launch.threads[0] * (y + launch.threads[1] * z)}};
  HLOSCOPE_ASSIGN_OR_RETURN(
      replay::KernelDiagnosisAnswer answer,
      replay::DiagnoseKernel(diagnosis, debug::TestOptions(job.request), stop));
  if (!answer.trace || answer.trace->threads.empty()) return InternalError("no thread was traced");
  auto traced = std::make_shared<TracedThread>();
  traced->trace = *std::move(answer.trace);
  traced->inputs = InputsText(job.request);
  traced->arguments = ArgumentNames(question, launch);
  const ptx::ThreadTrace& thread = traced->thread();
  for (int64_t step = thread.first; thread.Has(step); ++step) {
    traced->steps_of[traced->LineOf(step)].push_back(step);
  }
  if (const auto signatures = SignaturesOf(question, job, StoredByte(thread), stop)) {
    traced->values_of = ValuesOf(*traced, *signatures);
    for (int64_t step = thread.first; thread.Has(step); ++step) {
      if (const std::string& name = traced->ValueOf(step); !name.empty())
        traced->lines_of[name].insert(traced->LineOf(step));
    }
  } else {
    traced->values_of.resize(thread.steps.size());
    traced->no_values = signatures.error().ToString();
  }
  return traced;
}

// As the last run of the module was given its inputs.
debug::RunSpec RequestFor(Context& context, int32_t module) {
  debug::RunSpec request;
  const Experiment& experiment = context.experiment;
  if (experiment.report() != nullptr && experiment.request().module_index == module) {
    request = debug::DerivedSpec(experiment.request(), experiment.request().test,
                                 experiment.request().inputs);
  }
  request.test.name = replay::PlatformWith(replay::kRunsDumps)->name;
  request.load.gpu_target.clear();
  request.checks = {.shuffle = request.checks.shuffle};
  request.execution.workers = experiment.workers();
  const dump::DumpModel& dump = *context.document.dump();
  if (const int32_t file = dump.ModuleFile(module, dump.FinalStage(module)); file >= 0)
    request.load.module_file = dump.FullPath(file);
  return request;
}

}  // namespace

void ThreadMarks::Rebase(const dump::DumpModel& before, const dump::DumpModel& now,
                         std::vector<std::string>& /*lost*/) {
  if (!wanted || wanted->module < 0) return wanted.reset();
  wanted->module = FindModule(now, AnchorOfModule(before, wanted->module));
}

const Pending<TracedThread>* ThreadTraceOf(Context& context, const ThreadChoice& choice) {
  return context.cache.Find(ThreadKey{choice});
}

void AskThreadTrace(Context& context, const ThreadChoice& choice) {
  const Pending<dump::KernelTable>& kernels = context.data.Kernels(choice.module);
  if (!kernels.ready() || choice.kernel < 0 || choice.kernel >= std::ssize(kernels->kernels))
    return;
  const ThreadKey key{choice};
  if (const auto* known = context.cache.Find(key); known != nullptr && known->failed())
    context.cache.Drop(key);
  const std::string& name = kernels->kernels[static_cast<size_t>(choice.kernel)].name;
  Job job{context.document.dump().value, choice, name, RequestFor(context, choice.module)};
  context.cache.Get(
      key, "tracing a thread of " + name,
      [job = std::move(job)](TaskControl& control) { return Trace(job, control.stop()); });
}

std::optional<std::array<uint32_t, 3>> IndexOf(std::string_view text) {
  std::array<uint32_t, 3> index{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (uint32_t& number : index) {
    while (at != end && *at == ' ') ++at;
    const auto [stopped, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return std::nullopt;
    at = stopped;
    while (at != end && *at == ' ') ++at;
    if (at == end) return index;
    if (*at++ != ',') return std::nullopt;
  }
  return std::nullopt;
}

std::string IndexText(const std::array<uint32_t, 3>& index) {
  if (index[1] == 0 && index[2] == 0) return std::to_string(index[0]);
  return fmt::format("{},{},{}", index[0], index[1], index[2]);
}

}  // namespace hloscope::viewer
