#include "core/debug/run/run_recorder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <ranges>

#include "core/base/checked.h"
#include "core/base/counted.h"
#include "core/base/limits.h"
#include "core/debug/pieces/split_run.h"
#include "core/hlo/proto/proto.h"
#include "core/replay/platform_table.h"
#include "profiler/attribution.h"
#include "profiler/launch_figures.h"
#include "profiler/profile_comparison.h"
#include "profiler/ptx_lines.h"

namespace hloscope::debug {

using profiler::Argument;
using profiler::LaneRole;

namespace {

constexpr int64_t kPicoseconds = 1000;     // in a nanosecond
constexpr int64_t kFewestSteps = 1 << 14;  // of a run, however many came before
constexpr std::string_view kCommandGroup = "hloscope";
constexpr std::string_view kCommandLane = "command";
constexpr std::string_view kAloneLane = "timed alone, not in the run";
constexpr int64_t kLastPlace = int64_t{1} << 32;  // behind any number of groups

// "while.3 [5] > call.2": the calls that lead to a computation, with the iteration of loops.
std::string PathText(const hlo::Module& module, std::span<const runtime::CallPath> paths,
                     uint32_t path) {
  std::vector<uint32_t> calls;
  for (; path != 0; path = paths[path].parent) calls.push_back(path);
  std::string text;
  for (const uint32_t call : std::views::reverse(calls)) {
    if (!text.empty()) text += " > ";
    text += module.name(paths[call].caller);
    if (paths[call].iteration == runtime::CallPath::kSummed) {
      text += " [summed]";
    } else if (module[paths[call].caller].opcode == hlo::Opcode::kWhile) {
      text += fmt::format(" [{}]", paths[call].iteration);
    }
  }
  return text;
}

}  // namespace

// Arguments are made of the steps when they are asked for. A place is the number of the batch, from
// 1, and the step in it.
class RunRecorder::Arguments : public profiler::ArgumentSource {
 public:
  struct Batch {
    std::shared_ptr<const hlo::Module> module;
    int64_t run = 0;
    replay::TraceSteps told;
    std::shared_ptr<const profiler::EventStore> trace = {};  // instead, with its events
  };

  uint64_t Add(Batch batch) {
    batches_.push_back(std::move(batch));
    return uint64_t{batches_.size()} << 32;
  }
  const replay::TraceSteps& told(uint64_t place) const { return batches_[(place >> 32) - 1].told; }

  std::vector<Argument> Read(uint64_t where) const override {
    if (where >> 32 == 0 || where >> 32 > batches_.size()) return {};
    const Batch& batch = batches_[(where >> 32) - 1];
    if (batch.trace != nullptr) {
      return batch.trace->Arguments(profiler::EventId(static_cast<uint32_t>(where)));
    }
    const runtime::DeviceRecording& told = batch.told.steps;
    const auto index = static_cast<uint32_t>(where);
    const runtime::RecordedStep& step = told.steps[index];
    const hlo::Module& module = *batch.module;
    std::vector<Argument> all = {{"run", batch.run}, {"device", batch.told.device}};
    if (step.path != 0) AddPath(module, told, step.path, all);
    if (!step.instruction.valid()) return all;
    const hlo::Instruction& instruction = module[step.instruction];
    all.push_back({"computation", std::string(module[module[instruction.computation].name])});
    if (const auto bytes = module.shape(step.instruction).ByteSize()) {
      all.push_back({"bytes", *bytes});
    }
    const auto target = module.GetString(instruction, hlo::AttributeKey::kCustomCallTarget);
    if (!target.empty()) all.push_back({"kernel", std::string(target)});
    AddSum(told, index, all);
    AddLaunch(batch.told, index, all);
    return all;
  }

 private:
  static void AddPath(const hlo::Module& module, const runtime::DeviceRecording& told,
                      uint32_t path, std::vector<Argument>& all) {
    all.push_back({"path", PathText(module, told.paths, path)});
    for (; path != 0; path = told.paths[path].parent) {
      const runtime::CallPath& call = told.paths[path];
      if (call.iteration == runtime::CallPath::kSummed) return;
      if (module[call.caller].opcode != hlo::Opcode::kWhile) continue;
      all.push_back({"iteration", call.iteration});
      return;
    }
  }
  static void AddSum(const runtime::DeviceRecording& told, uint64_t step,
                     std::vector<Argument>& all) {
    const auto sum = std::ranges::lower_bound(told.sums, step, {}, &runtime::SummedSteps::step);
    if (sum == told.sums.end() || sum->step != step) return;
    all.push_back({std::string(profiler::kExecutionsArgument), sum->count});
    all.push_back({std::string(profiler::kTotalArgument), sum->total_ns});
    all.push_back({std::string(profiler::kMinArgument), sum->min_ns});
    all.push_back({std::string(profiler::kMaxArgument), sum->max_ns});
  }

  static void AddLaunch(const replay::TraceSteps& told, uint64_t step, std::vector<Argument>& all) {
    const auto launch =
        std::ranges::lower_bound(told.launches, step, {}, &replay::TracedLaunch::step);
    if (launch == told.launches.end() || launch->step != step) return;
    const replay::TracedKernel& kernel = told.kernels[launch->kernel];
    all.push_back({"kernel", kernel.name});
    all.push_back({"kernel_file", kernel.file});
    all.push_back({"kernel_line", kernel.line});
    // As XLA's own profiler writes it, but for registers, which PTX does not assign.
    all.push_back({"kernel_details",
                   fmt::format("static_shared:{} dynamic_shared:{} grid:{} block:{}",
                               kernel.static_shared_bytes, kernel.dynamic_shared_bytes,
                               fmt::join(kernel.blocks, ","), fmt::join(kernel.threads, ","))});
    all.push_back({"thread_instructions_executed", launch->figures.threads()});
    profiler::AppendFigures(launch->figures, all);
    if (!launch->lines.empty()) {
      all.push_back({std::string(profiler::kExecutedLinesArgument), launch->lines});
    }
    if (launch->bound == profiler::ModelBound::kNone) return;
    all.push_back({std::string(profiler::kModelTimeArgument), launch->model_us});
    all.push_back({std::string(profiler::kModelPeakArgument), launch->model_peak_us});
    all.push_back(
        {std::string(profiler::kModelBoundArgument), std::string(ToString(launch->bound))});
    all.push_back({std::string(profiler::kModelDeviceArgument), told.model_device});
  }

  std::vector<Batch> batches_;
};

RunRecorder::RunRecorder(int64_t most_steps)
    : most_steps_(most_steps),
      origin_ns_(runtime::SteadyNanoseconds()),
      origin_epoch_ns_(std::chrono::duration_cast<std::chrono::nanoseconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count()),
      arguments_(std::make_shared<Arguments>()) {
  builder_.set_origin_ns(origin_epoch_ns_);
  builder_.set_arguments(arguments_);
  Lane(std::string(kCommandGroup), std::string(kCommandLane));
}

RunRecorder::~RunRecorder() = default;

uint32_t RunRecorder::AddProgram(std::shared_ptr<const hlo::Module> module,
                                 std::string_view platform, bool is_reference) {
  Program program;
  program.label = fmt::format("{} on {}", module->name(), platform);
  program.group = fmt::format("{}{}", platform, is_reference ? " (reference)" : "");
  program.number = next_number_++;
  program.is_reference = is_reference;
  program.operations.resize(module->instructions().size());
  program.module = std::move(module);
  AddFact(fmt::format("program {}", program.number),
          program.label + (is_reference ? ", the reference" : ""));
  programs_.push_back(std::move(program));
  return static_cast<uint32_t>(programs_.size() - 1);
}

int64_t RunRecorder::steps_left() const {
  return std::max(most_steps_ - static_cast<int64_t>(builder_.size()), kFewestSteps);
}

bool RunRecorder::Take(uint32_t program, replay::RunEvent& event) {
  Program& of = programs_[program];
  if (const auto* fallback = std::get_if<replay::RunFallback>(&event)) {
    AddFallback(of, *fallback);
    return false;  // the report has it too
  }
  if (const auto* slice = std::get_if<replay::TraceSlice>(&event)) {
    if (slice->lane == kFallbackLane) return AddOnHost(of, *slice);
    Add(Lane(of.group, slice->lane), slice->start_ns, slice->duration_ns, slice->name);
  } else if (auto* steps = std::get_if<replay::TraceSteps>(&event)) {
    AddSteps(of, std::move(*steps));
  } else if (const auto* samples = std::get_if<replay::TraceSamples>(&event)) {
    AddSamples(of, *samples);
  } else if (auto* trace = std::get_if<replay::TraceFile>(&event)) {
    AddTrace(of, std::move(*trace));
  } else {
    return false;
  }
  return true;
}

// Once for each instruction, of the first run.
void RunRecorder::AddFallback(const Program& program, const replay::RunFallback& fallback) {
  if (program.runs > 1) return;
  std::string text = fmt::format("{}: {}", fallback.opcode, fallback.reason);
  if (fallback.bytes_moved > 0)
    text += fmt::format(", {} moved", Counted(fallback.bytes_moved, "byte"));
  if (fallback.time_us > 0) text += fmt::format(", {:.1f} us", fallback.time_us);
  if (!fallback.detail.empty()) text += ": " + fallback.detail;
  AddFact(fmt::format("{}{} of program {}", kFallbackFact, fallback.instruction, program.number),
          std::move(text));
}

// An instruction of the module that ran outside of its platform, by name.
bool RunRecorder::AddOnHost(Program& program, const replay::TraceSlice& slice) {
  const auto& all = program.module->instructions();
  const auto named = std::ranges::find_if(all, [&](const hlo::Instruction& instruction) {
    return (*program.module)[instruction.name] == slice.name;
  });
  profiler::OperationId operation;
  if (named != all.end()) {
    operation = OperationOf(program, hlo::InstructionId(static_cast<size_t>(named - all.begin())));
  }
  Add(Lane(program.group, slice.lane), slice.start_ns, slice.duration_ns, slice.name, operation);
  return true;
}

void RunRecorder::AddAlone(uint32_t program, std::string_view instruction, double run_us) {
  std::vector<Alone>& alone = programs_[program].alone;
  const auto lasted = static_cast<int64_t>(run_us * 1e3);
  const int64_t start = alone.empty() ? runtime::SteadyNanoseconds() - lasted
                                      : alone.back().start_ns + alone.back().duration_ns;
  alone.push_back({std::string(instruction), start, lasted});
}

// Says what was timed where the platform tells less than instructions in the run.
void RunRecorder::TellAlone(Program& program) {
  const profiler::LaneId lane =
      program.alone.empty() ? profiler::LaneId() : Lane(program.group, std::string(kAloneLane));
  int64_t together = 0;
  for (const Alone& alone : program.alone) {
    profiler::OperationId operation;
    const hlo::Computation& entry = program.module->entry();
    for (uint32_t i = 0; i < entry.instruction_count && !program.tells_instructions; ++i) {
      const hlo::InstructionId id(entry.first_instruction + i);
      if (program.module->name(id) == alone.instruction) operation = OperationOf(program, id);
    }
    Add(lane, alone.start_ns, alone.duration_ns, alone.instruction, operation);
    together += alone.duration_ns;
  }
  if (program.tells_instructions || program.runs == 0) return;
  std::string text = fmt::format(
      "{}: it does not report the time of each instruction; only the run as a whole and its "
      "surroundings are timed",
      program.label);
  if (!program.alone.empty()) {
    text += fmt::format(
        ". The times of {} are those of each compiled and run by itself, the least of some runs: "
        "{:.1f} us together, without the fusion with others and with the call around each",
        Counted(program.alone.size(), "instruction"), static_cast<double>(together) / 1e3);
  } else {
    text += "; --isolate_instructions times each instruction by itself";
    if (const auto* row = replay::PlatformWith(replay::kNeedsPython); row != nullptr) {
      text += fmt::format(", and --platform {} has a profiler", row->name);
    }
  }
  warnings_.push_back(std::move(text));
}

void RunRecorder::AddCommand(std::string_view what, int64_t start_ns, int64_t end_ns) {
  Add(Lane(std::string(kCommandGroup), std::string(kCommandLane)), start_ns, end_ns - start_ns,
      what);
}

Result<std::shared_ptr<const profiler::Profile>> RunRecorder::Finish(Jobs& jobs) {
  for (Program& program : programs_) TellAlone(program);
  HLOSCOPE_TRY(status_);
  auto profile = std::make_shared<profiler::Profile>(FileView::FromBytes("", ""),
                                                     profiler::ProfileFormat::kHloprof);
  for (const Program& program : programs_) {
    profiler::EmbeddedModule module{.name = std::string(program.module->name()),
                                    .program = program.number};
    hlo::ProtoFile file;
    file.kind = hlo::ProtoKind::kHlo;
    file.module = program.module;
    module.owned = std::make_shared<const std::string>(hlo::HloToProto(file));
    module.hlo_proto = *module.owned;
    profile->modules.push_back(std::move(module));
  }
  AddReferencePrograms();
  std::ranges::move(traced_modules_, std::back_inserter(profile->modules));
  std::ranges::stable_sort(profile->modules, {}, &profiler::EmbeddedModule::program);
  if (std::ranges::any_of(programs_, &Program::has_steps)) {
    AddFact("recording an execution",
            fmt::format("takes {:.0f} ns on this machine, which are part of the time of each",
                        runtime::MeasuredStepCost()));
  }
  profile->environment = std::move(environment_);
  profile->warnings = std::move(warnings_);
  profile->losses = std::move(losses_);
  HLOSCOPE_ASSIGN_OR_RETURN(profile->store, builder_.Finish(jobs));
  return std::shared_ptr<const profiler::Profile>(std::move(profile));
}

void RunRecorder::AddReferencePrograms() {
  std::string numbers;
  for (const Program& program : programs_) {
    if (!program.is_reference) continue;
    numbers += fmt::format("{}{}", numbers.empty() ? "" : " ", program.number);
    for (const auto& [own, number] : program.traced) numbers += fmt::format(" {}", number);
  }
  if (!numbers.empty()) AddFact(std::string(profiler::kReferencePrograms), numbers);
}

uint32_t RunRecorder::Group(const std::string& name, bool is_device) {
  const auto [entry, is_new] = groups_.try_emplace(name, 0);
  if (is_new) {
    // Platforms first, as devices are in other traces: they are what most look for.
    const int64_t place = name == kCommandGroup ? kLastPlace : std::ssize(groups_);
    entry->second = builder_.AddGroup(name, is_device, place);
  }
  return entry->second;
}

profiler::LaneId RunRecorder::Lane(const std::string& group, const std::string& lane, LaneRole role,
                                   bool is_device) {
  const auto [entry, is_new] = lanes_.try_emplace({group, lane});
  if (is_new) {
    entry->second =
        builder_.AddLane(Group(group, is_device), lane, role, static_cast<int64_t>(lanes_.size()));
  }
  return entry->second;
}

profiler::OperationId RunRecorder::OperationOf(Program& program, hlo::InstructionId id) {
  profiler::OperationId& operation = program.operations[id.index];
  if (!operation.valid()) {
    operation = builder_.AddOperation({.module = builder_.Name(program.module->name()),
                                       .name = builder_.Name(program.module->name(id)),
                                       .program = program.number});
  }
  return operation;
}

void RunRecorder::Add(profiler::LaneId lane, int64_t start_ns, int64_t duration_ns,
                      std::string_view name, profiler::OperationId operation, uint64_t where) {
  const Status added =
      builder_.Add(lane, (start_ns - origin_ns_) * kPicoseconds, duration_ns * kPicoseconds,
                   builder_.Name(name), operation, where);
  if (!added.has_value() && status_.has_value()) status_ = added;
}

void RunRecorder::AddSamples(const Program& program, const replay::TraceSamples& samples) {
  const auto [entry, is_new] = counters_.try_emplace({program.group, samples.name});
  if (is_new) {
    entry->second = builder_.AddCounter(Group(program.group), samples.name, samples.unit);
  }
  for (const auto& [time_ns, value] : samples.samples) {
    const Status added =
        builder_.AddSample(entry->second, (time_ns - origin_ns_) * kPicoseconds, value);
    if (!added.has_value() && status_.has_value()) status_ = added;
  }
}

// What the trace says stays as it is, but for the numbers of programs: they are its process's own.
void RunRecorder::AddTrace(Program& program, replay::TraceFile file) {
  Jobs alone(1);
  const auto read =
      profiler::ReadProfile(FileView::FromBytes("trace", std::move(file.bytes)), Limits(), alone);
  if (!read.has_value()) {
    warnings_.push_back(program.label + ": its trace cannot be read: " + read.error().message);
    return;
  }
  const profiler::Profile& trace = **read;
  const profiler::EventStore& store = *trace.store;
  for (const std::string& warning : trace.warnings) {
    std::string text = program.label + ": " + warning;
    if (std::ranges::find(warnings_, text) == warnings_.end()) warnings_.push_back(std::move(text));
  }
  const auto number_of = [&](int64_t own) {
    if (own < 0) return own;
    const auto [entry, is_new] = program.traced.try_emplace(own, next_number_);
    if (is_new) ++next_number_;
    return entry->second;
  };
  for (const profiler::EmbeddedModule& module : trace.modules) {
    if (program.traced.contains(module.program)) continue;
    profiler::EmbeddedModule own{.name = module.name, .program = number_of(module.program)};
    own.owned = std::make_shared<const std::string>(module.hlo_proto);
    own.hlo_proto = *own.owned;
    AddFact(fmt::format("program {}", own.program),
            fmt::format("{} as compiled, of {}{}", module.name, program.label,
                        program.is_reference ? ", the reference" : ""));
    traced_modules_.push_back(std::move(own));
  }
  std::vector<profiler::OperationId> operations;
  for (const profiler::Operation& o : store.operations()) {
    const auto name = [&](profiler::NameId id) {
      return id.valid() ? builder_.Name(store.text(id)) : id;
    };
    // Where it has no numbers, those of our own module that ran are the program's.
    const bool is_own =
        o.program < 0 && o.module.valid() && store.text(o.module) == program.module->name();
    operations.push_back(
        builder_.AddOperation({.module = name(o.module),
                               .name = name(o.name),
                               .program = is_own ? program.number : number_of(o.program)}));
  }
  // Times that are no time of day count from the start of the profiler; where nothing says when
  // that was, it ended just before now.
  std::optional<int64_t> begin_ns;
  if (store.origin_ns() > origin_epoch_ns_ / 2) {
    begin_ns = CheckedSub(store.origin_ns(), origin_epoch_ns_);
  } else if (file.start_ns > 0) {
    begin_ns = CheckedAdd(file.start_ns - origin_ns_, store.origin_ns());
  }
  constexpr int64_t kFarthest = profiler::kLongestTime / kPicoseconds;
  if (begin_ns && (*begin_ns < -kFarthest || *begin_ns > kFarthest)) begin_ns.reset();
  int64_t shift = begin_ns.value_or(0) * kPicoseconds;
  if (!begin_ns) {
    shift = (runtime::SteadyNanoseconds() - origin_ns_) * kPicoseconds - store.range().end;
    if (program.runs == 1) {
      warnings_.push_back(program.label +
                          ": its trace has no time of day; it is shown as if it had ended when it "
                          "was received");
    }
  }
  const uint64_t place =
      arguments_->Add({program.module, program.runs - 1, {}, read.value()->store});
  for (const profiler::Row& row : store.rows()) {
    const profiler::Lane& lane = store.lanes()[row.lane.index];
    const profiler::Group& group = store.groups()[lane.group];
    const profiler::LaneId own =
        Lane(fmt::format("{} {}", program.group, store.text(group.name)),
             std::string(store.text(lane.name)), lane.role, group.is_device);
    for (uint32_t i = row.first_event; i < row.first_event + row.event_count; ++i) {
      const profiler::EventId e(i);
      const profiler::OperationId operation = store.operation(e);
      program.tells_instructions |= operation.valid();
      const Status added = builder_.Add(
          own, store.start(e) + shift, store.duration(e), builder_.Name(store.text(store.name(e))),
          operation.valid() ? operations[operation.index] : operation, place | i);
      if (!added.has_value() && status_.has_value()) status_ = added;
    }
  }
}

void RunRecorder::AddSteps(Program& program, replay::TraceSteps steps) {
  const bool has_some = !steps.steps.steps.empty();
  program.tells_instructions |= has_some;
  program.has_steps |= has_some;
  const profiler::LaneId lane =
      Lane(program.group, std::string(replay::kDeviceLane) + std::to_string(steps.device));
  replay::TraceSamples live{"live bytes of values", "bytes", {}};
  for (const runtime::LiveBytes& sample : steps.steps.live) {
    live.samples.emplace_back(sample.time_ns, static_cast<double>(sample.bytes));
  }
  // Zeros alone: the platform does not count them.
  const bool are_counted =
      std::ranges::any_of(live.samples, [](const auto& sample) { return sample.second != 0; });
  if (are_counted) AddSamples(program, live);
  if (steps.module != nullptr && steps.module != program.module) {
    program.module = steps.module;  // what ran
    program.operations.assign(program.module->instructions().size(), {});
  }
  if (!steps.whole_loops.empty() && program.runs <= 1 && steps.device == 0) {
    std::vector<std::string_view> names;
    for (const hlo::InstructionId loop : steps.whole_loops) {
      names.push_back(program.module->name(loop));
    }
    AddFact(fmt::format("loops of program {} that ran as one function", program.number),
            fmt::format("{}; what is in them has no times of its own (--loop-steps gives them)",
                        fmt::join(names, ", ")));
  }
  if (!steps.launches.empty() && !std::exchange(program.is_simulated, true)) {
    warnings_.push_back(fmt::format("{}: {}", program.label, profiler::kSimulatedTimes));
    AddFact(fmt::format("times of program {}", program.number),
            std::string(profiler::kSimulatedTimes));
  }
  const uint64_t place =
      arguments_->Add({program.module, program.runs - 1, std::move(steps), nullptr});
  const runtime::DeviceRecording& told = arguments_->told(place).steps;
  auto sum = told.sums.begin();
  std::string name;
  for (uint32_t i = 0; i < told.steps.size(); ++i) {
    const runtime::RecordedStep& step = told.steps[i];
    const uint64_t where = place | i;
    if (!step.instruction.valid()) {
      Add(lane, step.start_ns, step.duration_ns, replay::kWaitSlice, {}, where);
      continue;
    }
    name = program.module->name(step.instruction);
    if (sum != told.sums.end() && sum->step == i) {
      name += profiler::kSummedSuffix;
      ++sum;
    }
    Add(lane, step.start_ns, step.duration_ns, name, OperationOf(program, step.instruction), where);
  }
  CountSums(program, told);
}

void RunRecorder::CountSums(const Program& program, const runtime::DeviceRecording& told) {
  int64_t executions = 0;
  for (const runtime::SummedSteps& sum : told.sums) executions += sum.count;
  if (executions > 0) {
    warnings_.push_back(
        fmt::format("{}: {} of instructions are summed by instruction (`{}` after the "
                    "name), since more than {} ran",
                    program.label, Counted(executions, "execution"),
                    profiler::kSummedSuffix.substr(1), most_steps_));
  }
  if (told.lost == 0) return;
  losses_.push_back({"executions of instructions that were too many even to be summed", told.lost,
                     fmt::format("{}, {} us in all", program.label, told.lost_ns / 1000)});
}

}  // namespace hloscope::debug
