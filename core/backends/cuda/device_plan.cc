// The steps of a plan as launches and copies on the device's own memory.
#include "core/backends/cuda/device_plan.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/backends/cuda/device_kernels.h"
#include "core/replay/device_lost.h"
#include "core/runtime/recording.h"

namespace hloscope::replay::cuda {
namespace {

using compile::BufferNumber;
using compile::Place;
using compile::PlannedBuffer;
using compile::PlannedStep;
using compile::StepKind;
using runtime::Value;

constexpr std::chrono::microseconds kBetweenLooks{20};

const DeviceCode& CodeOf(const compile::KernelCode& code) {
  return static_cast<const DeviceCode&>(*code.library);
}

// Whether a sequence is nothing but kernels, copies and loops of such, whatever the values are.
bool CanBeGraph(const ModuleCode& code, compile::SequenceNumber sequence, int64_t& loops) {
  return std::ranges::all_of(code.plan->sequences[sequence], [&](const PlannedStep& step) {
    if (step.kind == StepKind::kCopy) return true;
    if (step.kind == StepKind::kWhile) {
      // The condition stands before the loop and in each turn.
      const auto [condition, body] = std::pair(step.sequences[0], step.sequences[1]);
      ++loops;
      return CanBeGraph(code, condition, loops) && CanBeGraph(code, condition, loops) &&
             CanBeGraph(code, body, loops);
    }
    if (step.kind != StepKind::kKernel && step.kind != StepKind::kLibraryCall) return false;
    const compile::KernelCode* const kernel = code.kernels[step.id.index];
    return kernel != nullptr && CodeOf(*kernel).can_be_recorded();
  });
}

template <typename T>
Status StatusOf(const Result<T>& result) {
  if (result.has_value()) return {};
  return std::unexpected(result.error());
}

void AddTimes(PlanState::Counts& to, const PlanState::Counts& of, uint64_t turns) {
  const auto times = static_cast<int64_t>(turns);
  to.launches += times * of.launches;
  to.code.AddRan(of.code, times);
  for (const auto& [id, count] : of.code.chosen) to.code.chosen[id] += times * count;
}

// Counts a copy while it lives.
class CopyTime {
 public:
  CopyTime(CodeCounts::Moved& moved, int64_t bytes)
      : moved_(moved), start_ns_(runtime::SteadyNanoseconds()) {
    moved_.bytes += bytes;
  }
  ~CopyTime() { moved_.nanoseconds += runtime::SteadyNanoseconds() - start_ns_; }
  CopyTime(const CopyTime&) = delete;
  CopyTime& operator=(const CopyTime&) = delete;

 private:
  CodeCounts::Moved& moved_;
  int64_t start_ns_;
};

class DevicePlanRun : public PlanRun {
 public:
  DevicePlanRun(const ModuleCode& code, eval::Machine& machine, const DevicePlans& plans)
      : PlanRun(code, machine),
        plans_(plans),
        driver_(plans.device()->driver()),
        recorder_(plans.recorder()) {}
  ~DevicePlanRun() override {
    recorder_.Launched(launches_);
    // What waits for others for ever would keep its memory.
    if (pending_.clique != nullptr && !is_done_) pending_.clique->Abort();
    // One that failed may have work on its stream yet.
    if (state_ != nullptr && is_done_) plans_.GiveBack(std::move(state_));
  }

 protected:
  // The limit is of what the host evaluates: a device does that much in a moment.
  Status Charge(int64_t) override { return machine_.run().Look(); }

  Status Allocate() override {
    HLOSCOPE_TRY(plans_.device()->Enter());
    HLOSCOPE_ASSIGN_OR_RETURN(state_, plans_.Take(code_));
    return {};
  }

  Result<bool> RunAll() override {
    int64_t loops = 0;
    if (state_->runs == 0 || recorder_.needs_steps() || !state_->can_be_graph ||
        !CanBeGraph(code_, 0, loops)) {
      return RunSequence(0);
    }
    // What a turn of a loop does is recorded turn by turn.
    if (loops > 0 && (!driver_.has_conditional_nodes() || recorder_.is_recording())) {
      return RunSequence(0);
    }
    if (!state_->graph) HLOSCOPE_TRY(MakeGraph(loops));
    if (!state_->graph) return RunSequence(0);
    HLOSCOPE_TRY(Charge(1));
    HLOSCOPE_TRY(driver_.Check(driver_->GraphLaunch(state_->graph.get(), state_->stream.get()),
                               "launching the graph of {}", plan_.module->name()));
    PlanState::Counts counts = state_->graph_counts;
    if (state_->loops.has_value()) {
      HLOSCOPE_TRY(WaitForLoops());
      HLOSCOPE_ASSIGN_OR_RETURN(const std::vector<LoopNodes::Turns> turns,
                                state_->loops->TurnsOf(*state_->transfers));
      for (size_t i = 0; i < state_->loop_counts.size(); ++i) {
        AddTimes(counts, state_->loop_counts[i].condition, turns[i].decided);
        AddTimes(counts, state_->loop_counts[i].body, turns[i].begun);
      }
    }
    counts_ = std::move(counts.code);
    launches_ = counts.launches;
    return true;
  }

  Status RunKernel(const PlannedStep& step) override {
    const compile::KernelCode& code = *code_.kernels[step.id.index];
    std::vector<Address> addresses;
    for (const BufferNumber b : step.operands) addresses.push_back(state_->addresses[b]);
    for (const BufferNumber b : step.results) addresses.push_back(state_->addresses[b]);
    addresses.push_back(state_->scratch);
    HLOSCOPE_TRY(Charge(1));
    const DeviceCode& launched = CodeOf(code);
    HLOSCOPE_TRY(launched.Launch(stream(), addresses));
    // A library that refuses is no library call from then on.
    counts_.Add(code);
    if (code_.choices != nullptr) ++counts_.chosen[step.id];
    launches_ += launched.launches();
    return {};
  }

  Status Copy(BufferNumber to, BufferNumber from) override {
    const int64_t bytes = plan_.buffers[to].bytes;
    if (bytes == 0) return {};
    const DeviceScope scope(recorder_, InstructionOf(to), stream(),
                            [&] { return CopyActivity("copy device to device", bytes); });
    return driver_.Check(driver_->CopyOnDevice(state_->addresses[to], state_->addresses[from],
                                               static_cast<size_t>(bytes), stream()),
                         "copying {} bytes on the device", bytes);
  }

  Result<std::vector<std::byte>> BytesOf(BufferNumber b) const override {
    std::vector<std::byte> out(static_cast<size_t>(plan_.buffers[b].bytes));
    HLOSCOPE_TRY(WaitForOthers());
    const DeviceScope scope = Download(b);
    HLOSCOPE_TRY(state_->transfers->Download(out.data(), state_->addresses[b], std::ssize(out)));
    return out;
  }

  Result<Value> ValueOf(BufferNumber b, const hlo::Shape& shape) override {
    if (shape.IsToken()) return Value::Token();
    const Value& value = state_->values[b];
    if (value.is_array()) return value.shape() == shape ? value : value.WithShape(shape);
    HLOSCOPE_ASSIGN_OR_RETURN(runtime::Buffer bytes, machine_.Allocate(plan_.buffers[b].bytes));
    // Kernels before it are not part of the copy.
    HLOSCOPE_TRY(WaitForOthers());
    HLOSCOPE_TRY(WaitForStream(InstructionOf(b)));
    const CopyTime time(moved_, plan_.buffers[b].bytes);
    const DeviceScope scope = Download(b);
    HLOSCOPE_TRY(
        state_->transfers->Download(bytes.data(), state_->addresses[b], plan_.buffers[b].bytes));
    return Value::Array(shape, std::move(bytes));
  }

  Status TakeLeaf(const Value& value, BufferNumber b) override {
    const PlannedBuffer& buffer = plan_.buffers[b];
    Value& there = state_->values[b];
    const bool is_kept = buffer.place == Place::kParameter || buffer.place == Place::kOutside;
    // The same bytes as in the run before, which nobody can have changed since they are held.
    if (is_kept && there.is_array() && there.data() == value.data()) return {};
    HLOSCOPE_TRY(WaitForOthers());
    const CopyTime time(moved_, buffer.bytes);
    const DeviceScope scope(recorder_, InstructionOf(b), state_->stream.get(),
                            [&] { return CopyActivity("copy host to device", buffer.bytes); });
    HLOSCOPE_TRY(state_->transfers->Upload(state_->addresses[b], value.data(), buffer.bytes));
    if (is_kept) there = value;
    return {};
  }

  Result<bool> Evaluate(const PlannedStep& step) override {
    const hlo::Opcode opcode = (*plan_.module)[step.id].opcode;
    if (opcode == hlo::Opcode::kReplicaId || opcode == hlo::Opcode::kPartitionId) {
      HLOSCOPE_TRY(WriteNumber(step, opcode == hlo::Opcode::kReplicaId));
      return true;
    }
    if (plans_.collectives() != nullptr) {
      HLOSCOPE_ASSIGN_OR_RETURN(const bool is_done, Communicate(step));
      if (is_done) return true;
    }
    moved_ = {};
    handed_over_ = step.id;
    std::optional<HostFallback> told(std::in_place, recorder_, step.id);
    HLOSCOPE_ASSIGN_OR_RETURN(const bool is_done, PlanRun::Evaluate(step));
    handed_over_ = {};
    told.reset();
    HLOSCOPE_TRY(plans_.device()->Enter());
    CodeCounts::Moved& moved = counts_.moved[step.id];
    moved.bytes += moved_.bytes;
    moved.nanoseconds += moved_.nanoseconds;
    return is_done;
  }

  Result<Value> TakeRoot() override {
    size_t next = 0;
    const hlo::InstructionId root = (*plan_.module)[plan_.computation].root;
    // Other GPUs get their work before the host waits for this one's.
    if (machine_.devices().counts().devices() > 1) {
      HLOSCOPE_TRY(machine_.devices().turns().Yield(machine_.device()));
      HLOSCOPE_TRY(plans_.device()->Enter());
      HLOSCOPE_TRY(WaitForOthers());
    }
    HLOSCOPE_ASSIGN_OR_RETURN(Value value,
                              PlanRun::ValueOf(plan_.module->shape(root), plan_.results, next));
    HLOSCOPE_TRY(WaitForStream(root));
    ++state_->runs;
    is_done_ = true;
    return value;
  }

 private:
  // Whose copy one of the buffer is.
  hlo::InstructionId InstructionOf(BufferNumber b) const {
    if (handed_over_.valid()) return handed_over_;
    const PlannedBuffer& buffer = plan_.buffers[b];
    if (buffer.place == Place::kConstant) {
      return hlo::InstructionId(static_cast<uint32_t>(buffer.at));
    }
    if (buffer.place == Place::kParameter) {
      int64_t array = 0;
      for (const hlo::InstructionId id : plan_.module->Parameters(plan_.computation)) {
        array += static_cast<int64_t>(plan_.module->shape(id).LeafCount());
        if (buffer.at < array) return id;
      }
    }
    return buffer.made_by.valid() ? buffer.made_by : (*plan_.module)[plan_.computation].root;
  }
  DeviceScope Download(BufferNumber b) const {
    return {recorder_, InstructionOf(b), state_->stream.get(),
            [&] { return CopyActivity("copy device to host", plan_.buffers[b].bytes); }};
  }
  // Which device it is.
  Status WriteNumber(const PlannedStep& step, bool of_replica) {
    const int64_t partitions = machine_.devices().counts().partitions;
    const int64_t number =
        of_replica ? machine_.device() / partitions : machine_.device() % partitions;
    const DeviceScope scope(recorder_, step.id, state_->stream.get(),
                            [&] { return CopyActivity("fill on device", sizeof(uint32_t)); });
    return driver_.Check(driver_->SetWords(state_->addresses[step.results[0]],
                                           static_cast<unsigned>(number), 1, state_->stream.get()),
                         "writing the number of a device");
  }
  // Whether the step is on the streams.
  Result<bool> Communicate(const PlannedStep& step) {
    Collectives::Arrival own;
    own.stream = state_->stream.get();
    own.scratch = state_->pieces.get();
    for (const BufferNumber b : step.operands) own.operands.push_back(state_->addresses[b]);
    for (const BufferNumber b : step.results) own.results.push_back(state_->addresses[b]);
    HLOSCOPE_ASSIGN_OR_RETURN(Collectives::Pending pending,
                              plans_.collectives()->Run(step.id, machine_, std::move(own)));
    HLOSCOPE_TRY(plans_.device()->Enter());
    if (!pending.is_on_streams) return false;
    ++counts_.chosen[step.id];
    ++counts_.collectives;
    if (pending.clique == nullptr) return true;
    pending_ = std::move(pending);
    recorder_.OthersLaunch();
    return true;
  }
  // For what NCCL was given, so that one that fails, or a deadline, ends the run and not the host's
  // patience; other devices have their turns.
  Status WaitForOthers() const {
    while (pending_.clique != nullptr) {
      const Answer answer = driver_->StreamQuery(state_->stream.get());
      if (answer != kNotReady) {
        HLOSCOPE_TRY(
            driver_.Check(answer, "waiting for {}", plans_.collectives()->NameOf(pending_.id)));
        HLOSCOPE_TRY(plans_.collectives()->Look(pending_, machine_.device()));
        pending_ = {};
        break;
      }
      HLOSCOPE_TRY(plans_.collectives()->Look(pending_, machine_.device()));
      if (Status status = machine_.run().Look(); !status.has_value()) {
        status.error().message +=
            fmt::format("; device {} waited for others in {}", machine_.device(),
                        plans_.collectives()->NameOf(pending_.id));
        return status;
      }
      std::this_thread::sleep_for(kBetweenLooks);
      HLOSCOPE_TRY(machine_.devices().turns().Yield(machine_.device()));
      HLOSCOPE_TRY(plans_.device()->Enter());
    }
    return {};
  }
  Status WaitForStream(hlo::InstructionId id) const {
    const DeviceScope scope(recorder_, id);
    return driver_.Check(driver_->StreamSynchronize(state_->stream.get()),
                         "waiting for the kernels of {}", plan_.module->name());
  }

  // What launches and copies are put on.
  StreamHandle stream() const { return recording_ != nullptr ? recording_ : state_->stream.get(); }

  // A loop that never ends would keep the host waiting: the deadline ends the process with it.
  Status WaitForLoops() {
    while (true) {
      const Answer answer = driver_->StreamQuery(state_->stream.get());
      if (answer != kNotReady) {
        return driver_.Check(answer, "waiting for the loops of {}", plan_.module->name());
      }
      if (Status status = machine_.run().Look(); !status.has_value()) {
        MarkDeviceLost();
        static_cast<void>(state_.release());  // giving it back would wait, too
        return status;
      }
      std::this_thread::sleep_for(kBetweenLooks);
    }
  }

  // Of all launches and copies of the plan, on the addresses that they always have. None is made
  // where that is refused: launches one by one do the same.
  Status MakeGraph(int64_t loops) {
    const Status made = TryGraph(loops);
    if (made.has_value() || IsDeviceLost()) return made;
    HLOSCOPE_TRY(machine_.run().Look());
    state_->can_be_graph = false;
    recorder_.Warn(fmt::format("{} is launched kernel by kernel, not as a CUDA graph: {}",
                               plan_.module->name(), made.error().message));
    return {};
  }

  Status TryGraph(int64_t loops) {
    StreamHandle const stream = state_->stream.get();
    if (loops > 0) {
      HLOSCOPE_ASSIGN_OR_RETURN(state_->loops, LoopNodes::Make(plans_.device(), loops));
      state_->loop_counts.clear();
    }
    HLOSCOPE_TRY(driver_.Check(driver_->StreamBeginCapture(stream, kCaptureThread),
                               "recording the launches of {}", plan_.module->name()));
    recorder_.BeginCapture();
    Status recorded;
    if (loops > 0) recorded = state_->loops->Reset(stream);
    if (recorded.has_value()) {
      const Result<PlanState::Counts> counts = RecordOn(stream, 0);
      recorded = StatusOf(counts);
      if (counts.has_value()) state_->graph_counts = *counts;
    }
    GraphHandle handle = nullptr;
    const Answer ended = driver_->StreamEndCapture(stream, &handle);
    recorder_.EndCapture();
    const Graph graph(plans_.device(), handle);
    HLOSCOPE_TRY(std::move(recorded));
    HLOSCOPE_TRY(driver_.Check(ended, "recording the launches of {}", plan_.module->name()));
    GraphExecHandle exec = nullptr;
    HLOSCOPE_TRY(driver_.Check(driver_->GraphInstantiate(&exec, graph.get(), 0),
                               "making a graph of the launches of {}", plan_.module->name()));
    state_->graph = GraphExec(plans_.device(), exec);
    return {};
  }

  // Puts the steps of a sequence on a stream that records. Returns what of them runs once.
  Result<PlanState::Counts> RecordOn(StreamHandle stream, compile::SequenceNumber sequence) {
    StreamHandle const outer = std::exchange(recording_, stream);
    PlanState::Counts counts = {std::exchange(counts_, {}), std::exchange(launches_, 0)};
    Status recorded;
    for (const PlannedStep& step : plan_.sequences[sequence]) {
      if (recorded.has_value()) recorded = Record(step);
    }
    recording_ = outer;
    std::swap(counts.code, counts_);
    std::swap(counts.launches, launches_);
    HLOSCOPE_TRY(std::move(recorded));
    return counts;
  }

  Status Record(const PlannedStep& step) {
    if (step.kind == StepKind::kCopy) {
      ++counts_.copies;
      return Copy(step.results[0], step.operands[0]);
    }
    if (step.kind != StepKind::kWhile) return RunKernel(step);
    const size_t number = state_->loop_counts.size();
    state_->loop_counts.emplace_back();
    HLOSCOPE_ASSIGN_OR_RETURN(const PlanState::Counts of_condition,
                              RecordOn(stream(), step.sequences[0]));
    PlanState::Counts of_turn;
    HLOSCOPE_TRY(state_->loops->Add(
        stream(), number, state_->addresses[step.operands[0]], [&](StreamHandle inner) -> Status {
          HLOSCOPE_ASSIGN_OR_RETURN(of_turn, RecordOn(inner, step.sequences[1]));
          return StatusOf(RecordOn(inner, step.sequences[0]));
        }));
    state_->loop_counts[number] = {of_condition, of_turn};
    return {};
  }

  const DevicePlans& plans_;
  const Driver& driver_;
  DeviceRecorder& recorder_;
  std::unique_ptr<PlanState> state_;
  hlo::InstructionId handed_over_;    // that is being handed over
  StreamHandle recording_ = nullptr;  // for a graph; null: nothing is recorded
  mutable Collectives::Pending pending_;
  int64_t launches_ = 0;
  CodeCounts::Moved moved_;  // since the hand-over at hand began
  bool is_done_ = false;
};

}  // namespace

std::unique_ptr<PlanRun> DevicePlans::Start(const ModuleCode& code, eval::Machine& machine) const {
  return std::make_unique<DevicePlanRun>(code, machine, *this);
}

Result<std::unique_ptr<PlanState>> DevicePlans::Take(const ModuleCode& code) const {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<PlanState> state = std::move(free_.back());
      free_.pop_back();
      return state;
    }
  }
  return Make(code);
}

void DevicePlans::GiveBack(std::unique_ptr<PlanState> state) const {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(state));
}

Result<std::unique_ptr<PlanState>> DevicePlans::Make(const ModuleCode& code) const {
  const compile::Plan& plan = *code.plan;
  auto state = std::make_unique<PlanState>();
  HLOSCOPE_ASSIGN_OR_RETURN(state->stream, MakeStream(device_));
  HLOSCOPE_ASSIGN_OR_RETURN(state->transfers, Transfers::Make(device_, state->stream.get()));
  // The arena and scratch first, then every other buffer.
  const int64_t scratch = compile::AlignedBytes(plan.arena_bytes);
  int64_t bytes = scratch + compile::AlignedBytes(code.scratch_bytes);
  for (const PlannedBuffer& buffer : plan.buffers) {
    if (buffer.place == Place::kArena) {
      state->addresses.push_back(static_cast<Address>(buffer.at));
    } else {
      state->addresses.push_back(static_cast<Address>(bytes));
      bytes += compile::AlignedBytes(buffer.bytes);
    }
  }
  HLOSCOPE_ASSIGN_OR_RETURN(state->memory, AllocateOnDevice(device_, bytes));
  for (Address& address : state->addresses) address += state->memory.get();
  state->scratch = state->memory.get() + static_cast<Address>(scratch);
  if (collectives_ != nullptr) {
    HLOSCOPE_ASSIGN_OR_RETURN(state->pieces,
                              AllocateOnDevice(device_, collectives_->ScratchBytes()));
  }
  state->values.resize(plan.buffers.size());
  for (BufferNumber b = 0; b < plan.buffers.size(); ++b) {
    const PlannedBuffer& buffer = plan.buffers[b];
    if (buffer.place != Place::kConstant) continue;
    const hlo::InstructionId id(static_cast<uint32_t>(buffer.at));
    const auto* literal =
        plan.module->Get<hlo::Literal>((*plan.module)[id], hlo::AttributeKey::kConstantValue);
    state->values[b] = Value::FromLiteral(*literal);
    const DeviceScope scope(*recorder_, id, state->stream.get(),
                            [&] { return CopyActivity("copy host to device", buffer.bytes); });
    HLOSCOPE_TRY(
        state->transfers->Upload(state->addresses[b], state->values[b].data(), buffer.bytes));
  }
  return state;
}

}  // namespace hloscope::replay::cuda
