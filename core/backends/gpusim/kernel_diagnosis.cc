// The child's work on a case, and how it is asked for.
#include "core/backends/gpusim/kernel_diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <ranges>
#include <set>
#include <span>
#include <tuple>

#include "core/backends/gpusim/earlier_memory.h"
#include "core/backends/gpusim/line_suspicion.h"
#include "core/backends/gpusim/run_checks.h"
#include "core/ptx/checks/kernel_facts.h"
#include "core/ptx/module.h"
#include "core/ptx/reference/scalar_reference.h"
#include "core/ptx/switches/roundings.h"
#include "core/ptx/trace/doubled_terms.h"
#include "core/ptx/trace/slice.h"
#include "core/ptx/trace/trace_archive.h"
#include "core/replay/workers/typed_task.h"
#include "core/replay/workers/worker_protocol.h"

namespace hloscope::replay {

template <typename A>
void Archive(A& a, Archived<A, StudiedThreads>& v) {
  a(v.launch, v.block, v.threads, v.first, v.most);
}
template <typename A>
void Archive(A& a, Archived<A, StudiedByte>& v) {
  a(v.result, v.byte, v.states);
}
template <typename A>
void Archive(A& a, Archived<A, EditTarget>& v) {
  a(v.result, v.expected, v.type, v.absolute, v.relative);
}
template <typename A>
void Archive(A& a, Archived<A, EditTrials>& v) {
  a(v.result, v.expected, v.type, v.absolute, v.relative, v.launch, v.block, v.element,
    v.is_missing, v.others, v.sizes, v.lines);
}
template <typename A>
void Archive(A& a, Archived<A, TriedEdit>& v) {
  a(v.kernel, v.line, v.now, v.inserts, v.wrong, v.was_wrong, v.of_block);
}
template <typename A>
void Archive(A& a, Archived<A, EditAnswer>& v) {
  a(v.edits, v.is_only_block);
}
template <typename A>
void Archive(A& a, Archived<A, KernelDiagnosis>& v) {
  a(v.kernels, v.switches, v.roundings, v.directed, v.checks, v.byte, v.reference, v.trace, v.edits,
    v.threads);
}
template <typename A>
void Archive(A& a, Archived<A, SwitchedRun>& v) {
  a(v.which, v.lines, v.memory, v.error);
}
template <typename A>
void Archive(A& a, Archived<A, DirectedRun>& v) {
  a(v.file, v.form, v.line, v.memory);
}
template <typename A>
void Archive(A& a, Archived<A, StudiedStep>& v) {
  a(v.thread, v.line, v.text, v.values, v.opcode, v.type, v.carries, v.control, v.distance,
    v.suspicion, v.needs, v.kernel);
}
template <typename A>
void Archive(A& a, Archived<A, ByteDiagnosis>& v) {
  a(v.launch, v.argument, v.offset, v.block, v.thread, v.line, v.column, v.file, v.form, v.stores,
    v.steps, v.complete, v.shortened, v.trace_error);
}
template <typename A>
void Archive(A& a, Archived<A, ScalarReferenceAnswer>& v) {
  a(v.checked, v.agrees, v.difference);
}
template <typename A>
void Archive(A& a, Archived<A, KernelDiagnosisAnswer>& v) {
  a(v.memory, v.switches, v.rounded, v.directed, v.findings, v.byte, v.reference, v.trace, v.edits);
}

namespace {

uint32_t Flattened(const std::array<uint32_t, 3>& at, const std::array<uint32_t, 3>& sizes) {
  return at[0] + sizes[0] * (at[1] + sizes[1] * at[2]);
}

// Other arithmetic; what it leaves is as wrong as a test has it.
class Switched : public ptx::StepChanger {
 public:
  Switched(const ptx::StepChanger& steps, const ptx::StepChanger* fault)
      : steps_(steps), fault_(fault) {}
  ptx::Step Changed(const ptx::Instruction& instruction, ptx::Step usual) const override {
    const ptx::Step switched = steps_.Changed(instruction, usual);
    if (switched != usual || fault_ == nullptr) return switched;
    return fault_->Changed(instruction, usual);
  }

 private:
  const ptx::StepChanger& steps_;
  const ptx::StepChanger* fault_;
};

// Of what a slice reads from arguments, asked of each earlier launch.
constexpr size_t kMaxReads = 4;
// Traced for a slice: those that it goes on in, and those that did what none of them did.
constexpr size_t kSlicedThreads = 64, kUnlikeThreads = 16;

class Diagnosis {
 public:
  Diagnosis(const KernelDiagnosis& diagnosis, const std::vector<ptx::Module>& code)
      : diagnosis_(diagnosis), kernels_(diagnosis.kernels), code_(code) {
    options_.changer = diagnosis.fault;
    options_.threads = static_cast<int>(std::max<int64_t>(1, diagnosis.threads));
  }

  Result<KernelDiagnosisAnswer> Run() {
    if (diagnosis_.trace) {
      HLOSCOPE_TRY(TraceThreads());
      return std::move(answer_);
    }
    if (diagnosis_.edits) {
      HLOSCOPE_ASSIGN_OR_RETURN(answer_.edits,
                                TryEdits(kernels_, code_, *diagnosis_.edits, options_));
      return std::move(answer_);
    }
    HLOSCOPE_ASSIGN_OR_RETURN(answer_.memory, RunKernelCase(kernels_, code_, options_));
    if (diagnosis_.switches) RunSwitches();
    if (diagnosis_.roundings) HLOSCOPE_TRY(RunRoundings());
    if (diagnosis_.directed) HLOSCOPE_TRY(RunToNearest());
    if (diagnosis_.checks) HLOSCOPE_TRY(Check());
    if (diagnosis_.byte) HLOSCOPE_TRY(DiagnoseByte());
    return std::move(answer_);
  }

 private:
  void RunSwitches() {
    for (const ptx::SwitchRow& row : ptx::SwitchRows()) {
      SwitchedRun run;
      run.which = static_cast<uint32_t>(row.which);
      for (const CaseLaunch& launch : kernels_.launches) {
        for (const uint32_t line :
             ptx::SwitchedLines(code_[launch.code], launch.kernel, row.which)) {
          run.lines.emplace_back(launch.kernel, line);
        }
      }
      if (run.lines.empty()) continue;
      auto memory = RunWith(ptx::SwitchedSteps(row.which));
      if (memory.has_value()) {
        run.memory = *std::move(memory);
      } else {
        run.error = memory.error().ToString();
      }
      answer_.switches.push_back(std::move(run));
    }
  }

  Result<CaseMemory> RunWith(const ptx::StepChanger& changer) const {
    const Switched steps(changer, diagnosis_.fault);
    ptx::LaunchOptions options = options_;
    options.changer = &steps;
    return RunKernelCase(kernels_, code_, options);
  }

  Status RunRoundings() {
    for (const CaseLaunch& launch : kernels_.launches) {
      if (!ptx::RoundingsAreDrawn(code_[launch.code], launch.kernel)) return {};
    }
    for (uint32_t draw = 0; draw < ptx::RandomRounding::kDraws; ++draw) {
      HLOSCOPE_ASSIGN_OR_RETURN(CaseMemory memory, RunWith(ptx::RandomRounding(draw)));
      answer_.rounded.push_back(std::move(memory));
    }
    return {};
  }

  // Each by itself, of every entry once.
  Status RunToNearest() {
    std::set<std::tuple<uint64_t, uint32_t, uint32_t>> seen;
    for (const CaseLaunch& launch : kernels_.launches) {
      for (const ptx::DirectedRounding& at :
           ptx::DirectedRoundings(code_[launch.code], launch.kernel)) {
        if (!seen.emplace(launch.code, at.position.line, at.position.column).second) continue;
        HLOSCOPE_ASSIGN_OR_RETURN(CaseMemory memory, RunWith(ptx::RoundingToNearest(at.position)));
        if (memory == answer_.memory) continue;
        answer_.directed.push_back(
            {kernels_.code[launch.code].file, at.form, at.position.line, std::move(memory)});
      }
    }
    return {};
  }

  static std::span<const std::byte> BytesOf(const CaseMemory& memory, const CaseSlice& slice) {
    return std::span(memory[slice.region]).subspan(slice.offset, slice.bytes);
  }

  std::string NameOf(const CaseSlice& argument) const {
    const auto holds = [&](const CaseSlice& slice) {
      return slice.region == argument.region && slice.offset == argument.offset;
    };
    const auto operand = std::ranges::find_if(kernels_.operands, holds);
    if (operand != kernels_.operands.end())
      return fmt::format("operand {}", operand - kernels_.operands.begin());
    const auto result = std::ranges::find_if(kernels_.results, holds);
    if (result != kernels_.results.end())
      return fmt::format("result {}", result - kernels_.results.begin());
    return "an array";
  }

  // Everything is uninitialised but operands and what is copied from them.
  Status Check() {
    RunOptions asked;
    asked.checks = {.races = true, .uninitialised = true};
    RunChecks checks(asked);
    CaseMemory memory = kernels_.memory;
    for (const std::vector<std::byte>& region : memory) checks.Allocated(region);
    for (const CaseSlice& operand : kernels_.operands) checks.Written(BytesOf(memory, operand));
    BeginKernelCase(kernels_, memory);
    for (const auto& [from, to] : kernels_.copies) {
      checks.Copied(BytesOf(memory, from).data(), BytesOf(memory, to).data(),
                    std::min(from.bytes, to.bytes));
    }
    for (const CaseLaunch& launch : kernels_.launches) {
      const LaunchedFor launched{kernels_.instruction,
                                 [&](size_t i) { return NameOf(launch.arguments[i]); }};
      HLOSCOPE_ASSIGN_OR_RETURN(const ptx::LaunchResult result,
                                checks.Launch(launched, code_[launch.code],
                                              RequestOf(kernels_, launch, memory), options_));
      if (result.fault) break;
    }
    for (size_t i = 0; i < kernels_.results.size(); ++i) {
      checks.CheckResult(kernels_.instruction, i, BytesOf(memory, kernels_.results[i]));
    }
    answer_.findings = checks.Findings();
    return {};
  }

  // The argument of a launch that holds the byte.
  static std::optional<std::pair<uint32_t, uint64_t>> ArgumentWith(const CaseLaunch& launch,
                                                                   uint64_t region, uint64_t at) {
    for (size_t i = launch.arguments.size(); i-- > 0;) {
      const CaseSlice& slice = launch.arguments[i];
      if (slice.region == region && slice.offset <= at && at < slice.offset + slice.bytes) {
        return std::pair(static_cast<uint32_t>(i), at - slice.offset);
      }
    }
    return std::nullopt;
  }

  // Launch by launch; the last that writes the byte counts.
  Status DiagnoseByte() {
    if (diagnosis_.byte->result >= kernels_.results.size()) return InputError("no such result");
    const CaseSlice& result = kernels_.results[diagnosis_.byte->result];
    const uint64_t at = result.offset + diagnosis_.byte->byte;
    CaseMemory memory = kernels_.memory;
    BeginKernelCase(kernels_, memory);
    std::optional<ptx::Writer> last;
    CaseMemory before_last;
    ByteDiagnosis diagnosis;
    for (size_t i = 0; i < kernels_.launches.size(); ++i) {
      const CaseLaunch& launch = kernels_.launches[i];
      CaseMemory before = memory;
      const ptx::LaunchRequest request = RequestOf(kernels_, launch, memory);
      const auto argument = ArgumentWith(launch, result.region, at);
      if (!argument) {
        HLOSCOPE_TRY(ptx::Launch(code_[launch.code], request, options_));
        continue;
      }
      HLOSCOPE_ASSIGN_OR_RETURN(const auto writer,
                                ptx::FindWriter(code_[launch.code], request, argument->first,
                                                argument->second, options_));
      if (!writer && last) continue;
      last = writer;
      before_last = std::move(before);
      diagnosis.launch = i;
      std::tie(diagnosis.argument, diagnosis.offset) = *argument;
    }
    if (before_last.empty()) return {};
    if (last) {
      diagnosis.block = last->block;
      diagnosis.thread = last->thread;
      diagnosis.line = static_cast<uint32_t>(last->place.line);
      diagnosis.column = static_cast<uint32_t>(last->place.column);
      diagnosis.file = last->place.file;
      diagnosis.form = last->form;
      diagnosis.stores = last->stores;
    } else {
      HLOSCOPE_TRY(FindThread(before_last, diagnosis));
    }
    const std::vector<MemoryRead> reads = TraceBack(before_last, diagnosis);
    if (last && !diagnosis_.byte->states.empty())
      HLOSCOPE_TRY(SuspectLines(before_last, diagnosis));
    HLOSCOPE_TRY(TraceEarlier(diagnosis, reads));
    if (diagnosis_.reference) answer_.reference = CompareWithReference(before_last, diagnosis);
    answer_.byte = std::move(diagnosis);
    return {};
  }

  Status SuspectLines(const CaseMemory& before, ByteDiagnosis& diagnosis) const {
    const CaseSlice& result = kernels_.results[diagnosis_.byte->result];
    const CaseSlice& argument = kernels_.launches[diagnosis.launch].arguments[diagnosis.argument];
    if (result.offset < argument.offset) return {};
    const uint64_t first = result.offset - argument.offset;
    HLOSCOPE_ASSIGN_OR_RETURN(
        const auto lines,
        SuspicionOfLines({kernels_, code_, before, diagnosis.launch, diagnosis.argument, first,
                          diagnosis.offset, diagnosis.block,
                          result.bytes / diagnosis_.byte->states.size(), diagnosis_.byte->states},
                         options_));
    for (StudiedStep& step : diagnosis.steps) {
      if (const auto line = lines.find(step.line); line != lines.end())
        step.suspicion = std::max(step.suspicion, line->second);
    }
    return {};
  }

  // Whose steps are to say why nobody stores the byte.
  Status FindThread(const CaseMemory& before, ByteDiagnosis& diagnosis) const {
    const CaseLaunch& launch = kernels_.launches[diagnosis.launch];
    CaseMemory memory = before;
    const ptx::LaunchRequest request = RequestOf(kernels_, launch, memory);
    HLOSCOPE_ASSIGN_OR_RETURN(const ptx::StoringThread found,
                              ptx::FindNearestStore(code_[launch.code], request,
                                                    static_cast<uint32_t>(diagnosis.argument),
                                                    diagnosis.offset, options_));
    diagnosis.file = kernels_.code[launch.code].file;
    diagnosis.block = found.block;
    diagnosis.thread = found.thread;
    return {};
  }

  // A read of an argument: where in the memory of the case, and by which step.
  struct MemoryRead {
    uint64_t region = 0, at = 0;
    uint32_t step = 0, distance = 0;
  };

  // What earlier launches wrote of what the steps read, nearest first: one thread of each.
  Status TraceEarlier(ByteDiagnosis& diagnosis, std::vector<MemoryRead> reads) {
    std::array<uint32_t, 3> block = diagnosis.block;
    EarlierMemory memory = MemoryBefore(diagnosis.launch);
    for (uint64_t i = diagnosis.launch; i-- > 0 && !reads.empty();) {
      const CaseLaunch& launch = kernels_.launches[i];
      // What it cannot write it has not written.
      const auto writes = [&](const MemoryRead& read) {
        return ArgumentWith(launch, read.region, read.at).has_value();
      };
      if (std::ranges::none_of(reads | std::views::take(kMaxReads), writes)) continue;
      HLOSCOPE_ASSIGN_OR_RETURN(const CaseMemory* const state, memory.Before(i));
      const CaseMemory& before = *state;
      for (const MemoryRead& read : std::span(reads).first(std::min(reads.size(), kMaxReads))) {
        ByteDiagnosis earlier;
        earlier.launch = i;
        HLOSCOPE_ASSIGN_OR_RETURN(const bool is_found,
                                  FindIn(launch, before, read, block, earlier));
        if (!is_found) continue;
        std::vector<MemoryRead> further = TraceBack(before, earlier);
        if (earlier.steps.empty()) continue;
        block = earlier.block;
        for (MemoryRead& each : further) each.distance += read.distance + 1;
        PutBefore(std::move(earlier), launch.kernel, read, diagnosis);
        reads = std::move(further);
        break;
      }
    }
    return {};
  }

  // Who writes it in that launch; the block of that number, where there is one, is asked first.
  Result<bool> FindIn(const CaseLaunch& launch, const CaseMemory& before, const MemoryRead& read,
                      const std::array<uint32_t, 3>& block, ByteDiagnosis& diagnosis) const {
    const auto argument = ArgumentWith(launch, read.region, read.at);
    if (!argument) return false;
    std::tie(diagnosis.argument, diagnosis.offset) = *argument;
    ptx::LaunchOptions options = options_;
    if (block[0] < launch.blocks[0] && block[1] < launch.blocks[1] && block[2] < launch.blocks[2])
      options.only_block = block;
    CaseMemory memory = before;
    HLOSCOPE_ASSIGN_OR_RETURN(
        const auto writer, ptx::FindWriter(code_[launch.code], RequestOf(kernels_, launch, memory),
                                           argument->first, argument->second, options));
    if (!writer) return false;
    diagnosis.block = writer->block;
    diagnosis.thread = writer->thread;
    diagnosis.stores = writer->stores;
    return true;
  }

  EarlierMemory MemoryBefore(uint64_t launches) const {
    CaseMemory first = kernels_.memory;
    BeginKernelCase(kernels_, first);
    return {
        std::move(first), launches, [this](uint64_t i, CaseMemory& memory) -> Status {
          const CaseLaunch& each = kernels_.launches[i];
          HLOSCOPE_TRY(ptx::Launch(code_[each.code], RequestOf(kernels_, each, memory), options_));
          return {};
        }};
  }

  // The last of `earlier` is the store of what `read` has read.
  static void PutBefore(ByteDiagnosis earlier, const std::string& kernel, const MemoryRead& read,
                        ByteDiagnosis& diagnosis) {
    const auto count = static_cast<uint32_t>(earlier.steps.size());
    for (StudiedStep& step : earlier.steps) {
      step.kernel = kernel;
      step.distance += read.distance + 1;
    }
    for (StudiedStep& step : diagnosis.steps) {
      for (uint32_t& need : step.needs) need += count;
    }
    diagnosis.steps[read.step].needs.push_back(count - 1);
    diagnosis.steps.insert(diagnosis.steps.begin(), std::make_move_iterator(earlier.steps.begin()),
                           std::make_move_iterator(earlier.steps.end()));
    diagnosis.complete &= earlier.complete;
    diagnosis.shortened |= earlier.shortened;
  }

  // Gives the reads of arguments among the steps, nearest first.
  std::vector<MemoryRead> TraceBack(const CaseMemory& before, ByteDiagnosis& diagnosis) {
    const CaseLaunch& launch = kernels_.launches[diagnosis.launch];
    CaseMemory memory = before;
    const ptx::LaunchRequest request = RequestOf(kernels_, launch, memory);
    const auto restore = [&] {
      for (size_t r = 0; r < memory.size(); ++r) std::ranges::copy(before[r], memory[r].begin());
    };
    const ptx::SliceQuestion question{diagnosis.block, Flattened(diagnosis.thread, launch.threads),
                                      static_cast<uint32_t>(diagnosis.argument), diagnosis.offset,
                                      diagnosis.stores == 0};
    auto traced = ptx::TraceSlice(code_[launch.code], request, question, options_, restore,
                                  kSlicedThreads, kUnlikeThreads);
    if (!traced.has_value()) {
      diagnosis.trace_error = traced.error().ToString();
      return {};
    }
    if (traced->begins.empty()) {
      diagnosis.trace_error =
          diagnosis.stores == 0
              ? "no path of the kernel leads to a store"
              : "the block alone does not write the byte: it depends on other blocks";
      return {};
    }
    diagnosis.complete = traced->slice.complete && traced->slice.other_threads.empty();
    diagnosis.shortened = traced->slice.shortened;
    const auto doubled = ptx::LinesOfDoubledTerms(traced->trace, traced->begins);
    std::vector<MemoryRead> reads;
    for (const ptx::SliceStep& step : traced->slice.steps) {
      const ptx::ThreadTrace& thread = *traced->trace.Find(step.step.thread);
      for (const ptx::TracedAccess& access : thread.AccessesOf(thread.at(step.step.step))) {
        if (access.writes || access.space != ptx::TracedSpace::kArgument) continue;
        const CaseSlice& argument = launch.arguments[access.number];
        reads.push_back({argument.region, argument.offset + access.offset,
                         static_cast<uint32_t>(diagnosis.steps.size()), step.distance});
      }
      StudiedStep& told = diagnosis.steps.emplace_back(StepAt(traced->trace, step.step));
      told.control = step.control;
      told.distance = step.distance;
      told.needs = step.needs;
      if (const auto line = doubled.find(told.line); line != doubled.end())
        told.suspicion = 1 + 1.0 / (1 + line->second);
    }
    std::ranges::stable_sort(reads, {}, &MemoryRead::distance);
    return reads;
  }

  static StudiedStep StepAt(const ptx::BlockTrace& trace, const ptx::StepRef& ref) {
    const ptx::ThreadTrace& thread = *trace.Find(ref.thread);
    const ptx::TracedStep& step = thread.at(ref.step);
    const ptx::TracedInstruction& in = trace.instructions[step.instruction];
    StudiedStep out{static_cast<uint32_t>(ref.thread),
                    in.line,
                    in.text,
                    ptx::StepText(trace, thread, step),
                    in.opcode,
                    in.type,
                    {},
                    false,
                    0,
                    0,
                    {},
                    {}};
    const auto values = trace.ValuesOf(thread, step);
    for (size_t i = 0; i < in.operands.size(); ++i) {
      if (in.Makes(i)) out.carries.emplace_back(values[i].bits, in.operands[i].bytes);
    }
    return out;
  }

  ScalarReferenceAnswer CompareWithReference(const CaseMemory& before,
                                             const ByteDiagnosis& diagnosis) const {
    const CaseLaunch& launch = kernels_.launches[diagnosis.launch];
    CaseMemory memory = before;
    const auto report = ptx::RunScalarReference(
        code_[launch.code], RequestOf(kernels_, launch, memory), diagnosis.block, options_);
    ScalarReferenceAnswer reference;
    if (!report.has_value()) {
      reference.difference = report.error().ToString();
      return reference;
    }
    reference.checked = report->checked;
    reference.agrees = report->agrees();
    if (report->missing) reference.difference = report->missing->ToString();
    if (report->fault) reference.difference = report->fault->ToString();
    if (report->first) {
      reference.difference =
          fmt::format("{}: `{}` {}; thread {}", report->first->place.ToString(),
                      report->first->form, report->first->what, report->first->thread);
    }
    // Of what several blocks add to, one alone leaves less.
    if (reference.agrees && !UpdatesGlobal(launch) && !SameBytes(memory, diagnosis)) {
      reference.agrees = false;
      reference.difference = "the block alone writes another value than together with the others";
    }
    return reference;
  }

  bool UpdatesGlobal(const CaseLaunch& launch) const {
    const auto kernel = ptx::KernelOf(code_[launch.code], launch.kernel);
    return kernel.has_value() && ptx::FactsOf(**kernel).updates_global;
  }

  // The block by itself has left at the byte what the launch left there.
  bool SameBytes(const CaseMemory& memory, const ByteDiagnosis& diagnosis) const {
    const CaseSlice& slice = kernels_.launches[diagnosis.launch].arguments[diagnosis.argument];
    const size_t at = slice.offset + diagnosis.offset;
    return memory[slice.region][at] == answer_.memory[slice.region][at];
  }

  Status TraceThreads() {
    const StudiedThreads& wanted = *diagnosis_.trace;
    if (wanted.launch >= kernels_.launches.size()) return InputError("no such launch");
    CaseMemory memory = kernels_.memory;
    BeginKernelCase(kernels_, memory);
    for (size_t i = 0; i <= wanted.launch; ++i) {
      const CaseLaunch& launch = kernels_.launches[i];
      const ptx::LaunchRequest request = RequestOf(kernels_, launch, memory);
      if (i < wanted.launch) {
        HLOSCOPE_TRY(ptx::Launch(code_[launch.code], request, options_));
        continue;
      }
      ptx::TraceRequest trace{wanted.block, wanted.threads, wanted.first, wanted.most};
      HLOSCOPE_ASSIGN_OR_RETURN(answer_.trace,
                                ptx::Trace(code_[launch.code], request, trace, options_));
    }
    return {};
  }

  const KernelDiagnosis& diagnosis_;
  const KernelCase& kernels_;
  const std::vector<ptx::Module>& code_;
  ptx::LaunchOptions options_;
  KernelDiagnosisAnswer answer_;
};

}  // namespace

Result<KernelDiagnosisAnswer> DiagnoseKernelHere(const KernelDiagnosis& diagnosis) {
  HLOSCOPE_ASSIGN_OR_RETURN(const std::vector<ptx::Module> code, LoadKernelCase(diagnosis.kernels));
  return Diagnosis(diagnosis, code).Run();
}

Result<std::string> DiagnoseKernelTask(std::string_view request) {
  return DoTypedTask<KernelDiagnosis>(request, DiagnoseKernelHere);
}

Result<KernelDiagnosisAnswer> DiagnoseKernel(const KernelDiagnosis& diagnosis,
                                             const RunOptions& options,
                                             const std::stop_token& stop) {
  using std::chrono::milliseconds;
  IsolatedTaskRequest request;
  request.name = "kernel";
  request.deadline = milliseconds(1000 * options.limits.run_deadline_seconds);
  if (options.budget.deadline) {
    request.deadline = std::chrono::duration_cast<milliseconds>(*options.budget.deadline -
                                                                std::chrono::steady_clock::now());
  }
  request.memory_bytes = options.budget.memory_bytes;
  return RunTypedTask<KernelDiagnosisAnswer>(std::move(request), diagnosis, stop);
}

}  // namespace hloscope::replay
