// Options, capture plans and events as fields and data: one function for each type, which names
// every member, so that one that it forgets does not compile.
#include <array>
#include <utility>

#include "core/hlo/module_image.h"
#include "core/replay/workers/worker_protocol.h"

namespace hloscope::replay {

using hlo::Literal;

template <typename A>
void Archive(A& a, Archived<A, CaptureItem>& item) {
  auto& [scope, form, instructions] = item;
  a(scope, form, instructions);
  if constexpr (!A::kWrites) {
    if (scope > CaptureScope::kAll || form > CaptureForm::kStatistics) a.Fail();
  }
}

template <typename A>
void Archive(A& a, Archived<A, SearchRequest>& search) {
  auto& [name, request] = search;
  a(name, request);
}

template <typename A>
void Archive(A& a, Archived<A, CaptureUntil>& until) {
  auto& [instruction, execution] = until;
  a(instruction, execution);
}

template <typename A>
void Archive(A& a, Archived<A, CapturePlan>& plan) {
  auto& [stage, results, items, until, search] = plan;
  a(stage, results, items, until, search);
  if constexpr (!A::kWrites) {
    if (results > CaptureForm::kStatistics) a.Fail();
  }
}

template <typename A>
void Archive(A& a, Archived<A, PlatformSpec>& platform) {
  auto& [name, python, run_passes, xla_flags] = platform;
  a(name, python, run_passes, xla_flags);
}

template <typename A>
void Archive(A& a, Archived<A, LoadSpec>& load) {
  auto& [fill_elided, module_file, gpu_target, object_cache, autotune_mode, choices] = load;
  a(fill_elided, module_file, gpu_target, object_cache, autotune_mode, choices);
}

// What stays where the caller is: the stop of the budget, the environment, which the process was
// started in, and the feeds.
template <typename A>
void Archive(A& a, Archived<A, RunOptions>& options) {
  auto& [limits, budget, platform, load, checks, record, environment, rng_seed, capture, feeds] =
      options;
  auto& [threads, memory_bytes, seconds, deadline, stop] = budget;
  auto& [races, uninitialised, shuffle] = checks;
  auto& [steps, kernel_metrics, pc_sampling, loop_steps] = record;
  a(limits, threads, memory_bytes, seconds, deadline, platform, load, races, uninitialised, shuffle,
    steps, kernel_metrics, pc_sampling, loop_steps, rng_seed, capture);
}

template <typename A>
void Archive(A& a, Archived<A, TracedKernel>& kernel) {
  auto& [name, file, line, blocks, threads, static_bytes, dynamic_bytes] = kernel;
  a(name, file, line, blocks, threads, static_bytes, dynamic_bytes);
}

template <typename A>
void Archive(A& a, Archived<A, TracedLaunch>& launch) {
  auto& [step, kernel, bound, model_us, peak_us, figures, lines] = launch;
  a(step, kernel, bound, model_us, peak_us, figures, lines);
}

template <typename A>
void Archive(A& a, Archived<A, AlgorithmRecord::Tried>& tried) {
  auto& [way, time_us, refused] = tried;
  a(way, time_us, refused);
}

template <typename A>
void Archive(A& a, Archived<A, AlgorithmRecord>& library) {
  auto& [way, from, time_us, tried, notes] = library;
  a(way, from, time_us, tried, notes);
}

template <typename A>
void Archive(A& a, Archived<A, RunExecuted::Evaluated>& evaluated) {
  auto& [opcode, count, reason] = evaluated;
  a(opcode, count, reason);
}

template <typename A>
void Archive(A& a, Archived<A, RunExecuted::Choice>& choice) {
  auto& [opcode, library, reason, count, way] = choice;
  a(opcode, library, reason, count, way);
}

namespace {

template <typename A>
void Archive(A& a, Archived<A, LeafResult>& event) {
  auto& [device, leaf, value] = event;
  a(device, leaf, value);
}

template <typename A>
void Archive(A& a, Archived<A, CapturedValue>& event) {
  auto& [key, value] = event;
  a(key);
  if constexpr (A::kWrites) {
    a(static_cast<uint8_t>(value.index()));
  } else {
    switch (a.template Get<uint8_t>()) {
      case 0:
        value = Literal();
        break;
      case 1:
        value = uint64_t();
        break;
      case 2:
        value = ValueStatistics();
        break;
      case 3:
        value = Error();
        break;
      default:
        a.Fail();
        return;
    }
  }
  std::visit([&](auto& form) { a(form); }, value);
}

template <typename A>
void Archive(A& a, Archived<A, SearchFinding>& event) {
  auto& [name, fields, values, module] = event;
  a(name, fields, values, module);
}

template <typename A>
void Archive(A& a, Archived<A, RunWarning>& event) {
  auto& [text] = event;
  a(text);
}

template <typename A>
void Archive(A& a, Archived<A, RunFallback>& event) {
  auto& [instruction, opcode, reason, detail, bytes_moved, time_us] = event;
  a(instruction, opcode, reason, detail, bytes_moved, time_us);
}

template <typename A>
void Archive(A& a, Archived<A, RunExecuted>& event) {
  auto& [kernels, library_calls, copies, collectives, evaluated, evaluated_ops, choices,
         choice_rows, placement] = event;
  a(kernels, library_calls, copies, collectives, evaluated, evaluated_ops, choices, choice_rows,
    placement);
}

template <typename A>
void Archive(A& a, Archived<A, TraceSteps>& event) {
  auto& [device, recording, module_number, module, whole_loops, kernels, launches, model_device] =
      event;
  auto& [paths, steps, sums, live, lost, lost_ns] = recording;
  a(device, paths, steps, sums, live, lost, lost_ns, module_number, module, whole_loops, kernels,
    launches, model_device);
}

template <typename A>
void Archive(A& a, Archived<A, TraceSamples>& event) {
  auto& [name, unit, samples] = event;
  a(name, unit, samples);
}

template <typename A>
void Archive(A& a, Archived<A, TraceFile>& event) {
  auto& [bytes, start_ns] = event;
  a(bytes, start_ns);
}

template <typename A>
void Archive(A& a, Archived<A, RunProgress>& event) {
  auto& [what, done, total] = event;
  a(what, done, total);
}

template <typename A>
void Archive(A& a, Archived<A, RunFault>& event) {
  auto& [key, error] = event;
  a(key, error);
}

// A reader for each alternative of RunEvent, by its number.
template <typename Event>
RunEvent Read(ValueReader& in) {
  Event event;
  Archive(in, event);
  return event;
}
using Reader = RunEvent (*)(ValueReader&);
template <size_t... kIndex>
constexpr std::array<Reader, sizeof...(kIndex)> MakeReaders(std::index_sequence<kIndex...>) {
  return {&Read<std::variant_alternative_t<kIndex, RunEvent>>...};
}
constexpr auto kReaders = MakeReaders(std::make_index_sequence<std::variant_size_v<RunEvent>>());

}  // namespace

void PutEvent(ValueWriter& out, const RunEvent& event) {
  out.Put(static_cast<uint8_t>(event.index()));
  std::visit([&](const auto& alternative) { Archive(out, alternative); }, event);
}

std::optional<RunEvent> GetEvent(ValueReader& in) {
  const auto index = in.Get<uint8_t>();
  if (!in.ok() || index >= kReaders.size()) return in.Fail(), std::nullopt;
  RunEvent event = kReaders[index](in);
  if (!in.ok()) return std::nullopt;
  return event;
}

void PutOptions(ValueWriter& out, const RunOptions& options) { out(options); }

RunOptions GetOptions(ValueReader& in) { return in.Get<RunOptions>(); }

}  // namespace hloscope::replay
