// The child's work on a case, and how it is asked for.
#include "core/backends/gpusim/kernel_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <span>
#include <tuple>

#include "core/backends/gpusim/line_suspicion.h"
#include "core/ptx/switches/roundings.h"
#include "core/ptx/trace/doubled_terms.h"
#include "core/ptx/trace/slice.h"
#include "core/ptx/trace/trace_archive.h"
#include "core/ptx/twin/twin.h"
#include "core/replay/workers/typed_task.h"

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
void Archive(A& a, Archived<A, KernelStudy>& v) {
  a(v.kernels, v.switches, v.roundings, v.directed, v.byte, v.twin, v.trace, v.threads);
}
template <typename A>
void Archive(A& a, Archived<A, SwitchedRun>& v) {
  a(v.which, v.instructions, v.memory, v.error);
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
void Archive(A& a, Archived<A, ByteStudy>& v) {
  a(v.launch, v.argument, v.offset, v.block, v.thread, v.line, v.column, v.file, v.form, v.stores,
    v.steps, v.complete, v.shortened, v.trace_error);
}
template <typename A>
void Archive(A& a, Archived<A, TwinStudy>& v) {
  a(v.checked, v.agrees, v.difference);
}
template <typename A>
void Archive(A& a, Archived<A, KernelStudyAnswer>& v) {
  a(v.memory, v.switches, v.rounded, v.directed, v.byte, v.twin, v.trace);
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
constexpr size_t kMostReads = 4;
// Traced for a slice: those that it goes on in, and those that did what none of them did.
constexpr size_t kSlicedThreads = 64, kUnlikeThreads = 16;

class Study {
 public:
  Study(const KernelStudy& study, const std::vector<ptx::Module>& code)
      : study_(study), kernels_(study.kernels), code_(code) {
    options_.changer = study.fault;
    options_.threads = static_cast<int>(std::max<int64_t>(1, study.threads));
  }

  Result<KernelStudyAnswer> Run() {
    if (study_.trace) {
      HLOSCOPE_TRY(TraceThreads());
      return std::move(answer_);
    }
    HLOSCOPE_ASSIGN_OR_RETURN(answer_.memory, RunKernelCase(kernels_, code_, options_));
    if (study_.switches) RunSwitches();
    if (study_.roundings) HLOSCOPE_TRY(RunRoundings());
    if (study_.directed) HLOSCOPE_TRY(RunToNearest());
    if (study_.byte) HLOSCOPE_TRY(StudyByte());
    return std::move(answer_);
  }

 private:
  void RunSwitches() {
    for (const ptx::SwitchRow& row : ptx::SwitchRows()) {
      SwitchedRun run;
      run.which = static_cast<uint32_t>(row.which);
      for (const CaseLaunch& launch : kernels_.launches) {
        run.instructions += ptx::SwitchedInstructions(code_[launch.code], launch.kernel, row.which);
      }
      if (run.instructions == 0) continue;
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
    const Switched steps(changer, study_.fault);
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
  Status StudyByte() {
    if (study_.byte->result >= kernels_.results.size()) return InputError("no such result");
    const CaseSlice& result = kernels_.results[study_.byte->result];
    const uint64_t at = result.offset + study_.byte->byte;
    CaseMemory memory = kernels_.memory;
    BeginKernelCase(kernels_, memory);
    std::optional<ptx::Writer> last;
    CaseMemory before_last;
    ByteStudy study;
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
      study.launch = i;
      std::tie(study.argument, study.offset) = *argument;
    }
    if (before_last.empty()) return {};
    if (last) {
      study.block = last->block;
      study.thread = last->thread;
      study.line = static_cast<uint32_t>(last->place.line);
      study.column = static_cast<uint32_t>(last->place.column);
      study.file = last->place.file;
      study.form = last->form;
      study.stores = last->stores;
    } else {
      HLOSCOPE_TRY(FindThread(before_last, study));
    }
    const std::vector<MemoryRead> reads = TraceBack(before_last, study);
    if (last && !study_.byte->states.empty()) HLOSCOPE_TRY(SuspectLines(before_last, study));
    HLOSCOPE_TRY(TraceEarlier(study, reads));
    if (study_.twin) answer_.twin = BesideTwin(before_last, study);
    answer_.byte = std::move(study);
    return {};
  }

  Status SuspectLines(const CaseMemory& before, ByteStudy& study) const {
    const CaseSlice& result = kernels_.results[study_.byte->result];
    const CaseSlice& argument = kernels_.launches[study.launch].arguments[study.argument];
    if (result.offset < argument.offset) return {};
    const uint64_t first = result.offset - argument.offset;
    HLOSCOPE_ASSIGN_OR_RETURN(
        const auto lines,
        SuspicionOfLines(
            {kernels_, code_, before, study.launch, study.argument, first, study.offset,
             study.block, result.bytes / study_.byte->states.size(), study_.byte->states},
            options_));
    for (StudiedStep& step : study.steps) {
      if (const auto line = lines.find(step.line); line != lines.end())
        step.suspicion = std::max(step.suspicion, line->second);
    }
    return {};
  }

  // Whose steps are to say why nobody stores the byte.
  Status FindThread(const CaseMemory& before, ByteStudy& study) const {
    const CaseLaunch& launch = kernels_.launches[study.launch];
    CaseMemory memory = before;
    const ptx::LaunchRequest request = RequestOf(kernels_, launch, memory);
    HLOSCOPE_ASSIGN_OR_RETURN(
        const ptx::StoringThread found,
        ptx::FindNearestStore(code_[launch.code], request, static_cast<uint32_t>(study.argument),
                              study.offset, options_));
    study.file = kernels_.code[launch.code].file;
    study.block = found.block;
    study.thread = found.thread;
    return {};
  }

  // A read of an argument: where in the memory of the case, and by which step.
  struct MemoryRead {
    uint64_t region = 0, at = 0;
    uint32_t step = 0, distance = 0;
  };

  // What earlier launches wrote of what the steps read, nearest first: one thread of each.
  Status TraceEarlier(ByteStudy& study, std::vector<MemoryRead> reads) {
    std::array<uint32_t, 3> block = study.block;
    for (uint64_t i = study.launch; i-- > 0 && !reads.empty();) {
      const CaseLaunch& launch = kernels_.launches[i];
      HLOSCOPE_ASSIGN_OR_RETURN(const CaseMemory before, MemoryBefore(i));
      for (const MemoryRead& read : std::span(reads).first(std::min(reads.size(), kMostReads))) {
        ByteStudy earlier;
        earlier.launch = i;
        HLOSCOPE_ASSIGN_OR_RETURN(const bool is_found,
                                  FindIn(launch, before, read, block, earlier));
        if (!is_found) continue;
        std::vector<MemoryRead> further = TraceBack(before, earlier);
        if (earlier.steps.empty()) continue;
        block = earlier.block;
        for (MemoryRead& each : further) each.distance += read.distance + 1;
        PutBefore(std::move(earlier), launch.kernel, read, study);
        reads = std::move(further);
        break;
      }
    }
    return {};
  }

  // Who writes it in that launch; the block of that number, where there is one, is asked first.
  Result<bool> FindIn(const CaseLaunch& launch, const CaseMemory& before, const MemoryRead& read,
                      const std::array<uint32_t, 3>& block, ByteStudy& study) const {
    const auto argument = ArgumentWith(launch, read.region, read.at);
    if (!argument) return false;
    std::tie(study.argument, study.offset) = *argument;
    ptx::LaunchOptions options = options_;
    if (block[0] < launch.blocks[0] && block[1] < launch.blocks[1] && block[2] < launch.blocks[2])
      options.only_block = block;
    CaseMemory memory = before;
    HLOSCOPE_ASSIGN_OR_RETURN(
        const auto writer, ptx::FindWriter(code_[launch.code], RequestOf(kernels_, launch, memory),
                                           argument->first, argument->second, options));
    if (!writer) return false;
    study.block = writer->block;
    study.thread = writer->thread;
    study.stores = writer->stores;
    return true;
  }

  Result<CaseMemory> MemoryBefore(uint64_t launch) const {
    CaseMemory memory = kernels_.memory;
    BeginKernelCase(kernels_, memory);
    for (uint64_t i = 0; i < launch; ++i) {
      const CaseLaunch& each = kernels_.launches[i];
      HLOSCOPE_TRY(ptx::Launch(code_[each.code], RequestOf(kernels_, each, memory), options_));
    }
    return memory;
  }

  // The last of `earlier` is the store of what `read` has read.
  static void PutBefore(ByteStudy earlier, const std::string& kernel, const MemoryRead& read,
                        ByteStudy& study) {
    const auto count = static_cast<uint32_t>(earlier.steps.size());
    for (StudiedStep& step : earlier.steps) {
      step.kernel = kernel;
      step.distance += read.distance + 1;
    }
    for (StudiedStep& step : study.steps) {
      for (uint32_t& need : step.needs) need += count;
    }
    study.steps[read.step].needs.push_back(count - 1);
    study.steps.insert(study.steps.begin(), std::make_move_iterator(earlier.steps.begin()),
                       std::make_move_iterator(earlier.steps.end()));
    study.complete &= earlier.complete;
    study.shortened |= earlier.shortened;
  }

  // Gives the reads of arguments among the steps, nearest first.
  std::vector<MemoryRead> TraceBack(const CaseMemory& before, ByteStudy& study) {
    const CaseLaunch& launch = kernels_.launches[study.launch];
    CaseMemory memory = before;
    const ptx::LaunchRequest request = RequestOf(kernels_, launch, memory);
    const auto restore = [&] {
      for (size_t r = 0; r < memory.size(); ++r) std::ranges::copy(before[r], memory[r].begin());
    };
    const ptx::SliceQuestion question{study.block, Flattened(study.thread, launch.threads),
                                      static_cast<uint32_t>(study.argument), study.offset,
                                      study.stores == 0};
    auto traced = ptx::TraceSlice(code_[launch.code], request, question, options_, restore,
                                  kSlicedThreads, kUnlikeThreads);
    if (!traced.has_value()) {
      study.trace_error = traced.error().ToString();
      return {};
    }
    if (traced->begins.empty()) {
      study.trace_error =
          study.stores == 0 ? "no path of the kernel leads to a store"
                            : "the block alone does not write the byte: it depends on other blocks";
      return {};
    }
    study.complete = traced->slice.complete && traced->slice.other_threads.empty();
    study.shortened = traced->slice.shortened;
    const auto doubled = ptx::LinesOfDoubledTerms(traced->trace, traced->begins);
    std::vector<MemoryRead> reads;
    for (const ptx::SliceStep& step : traced->slice.steps) {
      const ptx::ThreadTrace& thread = *traced->trace.Find(step.step.thread);
      for (const ptx::TracedAccess& access : thread.AccessesOf(thread.at(step.step.step))) {
        if (access.writes || access.space != ptx::TracedSpace::kArgument) continue;
        const CaseSlice& argument = launch.arguments[access.number];
        reads.push_back({argument.region, argument.offset + access.offset,
                         static_cast<uint32_t>(study.steps.size()), step.distance});
      }
      StudiedStep& told = study.steps.emplace_back(StepAt(traced->trace, step.step));
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

  TwinStudy BesideTwin(const CaseMemory& before, const ByteStudy& study) const {
    const CaseLaunch& launch = kernels_.launches[study.launch];
    CaseMemory memory = before;
    const auto report = ptx::RunTwin(code_[launch.code], RequestOf(kernels_, launch, memory),
                                     study.block, options_);
    TwinStudy twin;
    if (!report.has_value()) {
      twin.difference = report.error().ToString();
      return twin;
    }
    twin.checked = report->checked;
    twin.agrees = report->agrees();
    if (report->missing) twin.difference = report->missing->ToString();
    if (report->fault) twin.difference = report->fault->ToString();
    if (report->first) {
      twin.difference =
          fmt::format("{}: `{}` {}; thread {}", report->first->place.ToString(),
                      report->first->form, report->first->what, report->first->thread);
    }
    if (twin.agrees && !SameBytes(memory, study)) {
      twin.agrees = false;
      twin.difference = "the block alone writes another value than together with the others";
    }
    return twin;
  }

  // The block by itself has left at the byte what the launch left there.
  bool SameBytes(const CaseMemory& memory, const ByteStudy& study) const {
    const CaseSlice& slice = kernels_.launches[study.launch].arguments[study.argument];
    const size_t at = slice.offset + study.offset;
    return memory[slice.region][at] == answer_.memory[slice.region][at];
  }

  Status TraceThreads() {
    const StudiedThreads& wanted = *study_.trace;
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

  const KernelStudy& study_;
  const KernelCase& kernels_;
  const std::vector<ptx::Module>& code_;
  ptx::LaunchOptions options_;
  KernelStudyAnswer answer_;
};

}  // namespace

Result<KernelStudyAnswer> StudyKernelHere(const KernelStudy& study) {
  HLOSCOPE_ASSIGN_OR_RETURN(const std::vector<ptx::Module> code, LoadKernelCase(study.kernels));
  return Study(study, code).Run();
}

Result<std::string> StudyKernelTask(std::string_view request) {
  return DoTypedTask<KernelStudy>(request, StudyKernelHere);
}

Result<KernelStudyAnswer> StudyKernel(const KernelStudy& study, const RunOptions& options,
                                      const std::stop_token& stop) {
  using std::chrono::milliseconds;
  IsolatedTaskRequest request;
  request.name = "kernel";
  request.deadline = milliseconds(1000 * options.limits.run_deadline_seconds);
  if (options.deadline) {
    request.deadline = std::chrono::duration_cast<milliseconds>(*options.deadline -
                                                                std::chrono::steady_clock::now());
  }
  request.memory_bytes = options.memory_bytes;
  return RunTypedTask<KernelStudyAnswer>(std::move(request), study, stop);
}

}  // namespace hloscope::replay
