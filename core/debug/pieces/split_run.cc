// SplitRun: stages in turn; loops, calls and conditionals around refused instructions are gone
// through here.
#include "core/debug/pieces/split_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "core/base/counted.h"
#include "core/runtime/recording.h"

namespace hloscope::debug {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Opcode;

namespace {

// Keeps results; what else a part tells goes on, but for what names instructions of the part.
class PartStream : public replay::RunStream {
 public:
  PartStream(replay::RunStream& next, size_t lists) : lists_(lists), next_(next) {}
  void Take(replay::RunEvent event) override {
    if (auto* result = std::get_if<replay::LeafResult>(&event)) {
      auto& leaves = lists_[static_cast<size_t>(result->device)];
      const auto at = static_cast<size_t>(result->leaf);
      if (at >= leaves.size()) leaves.resize(at + 1, InternalError("a result is missing"));
      leaves[at] = std::move(result->value);
    } else if (!std::holds_alternative<replay::TraceSteps>(event) &&
               !std::holds_alternative<replay::RunProgress>(event) &&
               !std::holds_alternative<replay::RunExecuted>(event)) {
      next_.Take(std::move(event));
    }
  }
  std::vector<std::vector<Result<Literal>>>& lists() { return lists_; }

 private:
  std::vector<std::vector<Result<Literal>>> lists_;
  replay::RunStream& next_;
};

}  // namespace

int64_t SplitRun::Bytes(InstructionId id) const {
  return module_.shape(id).ByteSize().value_or(0) * static_cast<int64_t>(lists_);
}

int64_t SplitRun::BytesOfLeaf(const Value& value, size_t leaf) {
  int64_t bytes = 0;
  for (const Leaves& leaves : value.lists) {
    if (leaf < leaves.size() && leaves[leaf].has_value())
      bytes += leaves[leaf]->shape().ByteSize().value_or(0);
  }
  return bytes;
}

SplitRun::Value SplitRun::Missing(InstructionId id, const Error& error) const {
  const Leaves leaves(module_.shape(id).LeafCount(), std::unexpected(error));
  return {std::vector<Leaves>(lists_, leaves)};
}

Status SplitRun::CheckStop() const {
  const auto& options = where_.options;
  if (options.budget.stop.stop_requested()) {
    return std::unexpected(Error{ErrorClass::kCancelled, "stopped on request", {}, {}});
  }
  if (options.budget.deadline && std::chrono::steady_clock::now() >= *options.budget.deadline) {
    return std::unexpected(Error{ErrorClass::kDeadlineExceeded, "the deadline passed", {}, {}});
  }
  return {};
}

Result<replay::RunResult> SplitRun::Run(std::span<const std::vector<Literal>> inputs) {
  lists_ = inputs.size();
  const hlo::ComputationId entry = module_.entry_id();
  std::vector<Value> arguments;
  std::vector<const Value*> pointers;
  size_t next = 0;
  for (const InstructionId id : module_.Parameters(entry)) {
    Value value{std::vector<Leaves>(lists_)};
    const size_t count = module_.shape(id).LeafCount();
    for (size_t d = 0; d < lists_; ++d) {
      if (next + count > inputs[d].size()) return InputError("fewer inputs than parameters");
      value.lists[d].assign(inputs[d].begin() + static_cast<std::ptrdiff_t>(next),
                            inputs[d].begin() + static_cast<std::ptrdiff_t>(next + count));
    }
    next += count;
    arguments.push_back(std::move(value));
  }
  for (const Value& value : arguments) pointers.push_back(&value);
  HLOSCOPE_ASSIGN_OR_RETURN(Value value, RunComputation(entry, pointers));
  const InstructionId root = module_.entry().root;
  for (size_t d = 0; d < lists_; ++d) {
    for (size_t leaf = 0; leaf < value.lists[d].size(); ++leaf) {
      replay::TellResult(
          stream_, where_.options.capture, root,
          {static_cast<int64_t>(d), static_cast<int64_t>(leaf), std::move(value.lists[d][leaf])});
    }
  }
  Tell();
  return result_;
}

Result<SplitRun::Value> SplitRun::RunComputation(hlo::ComputationId c,
                                                 const std::vector<const Value*>& arguments) {
  HLOSCOPE_TRY(CheckStop());
  Frame frame{c, &split_.SplitOf(c)};
  const std::vector<InstructionId> parameters = module_.Parameters(c);
  for (size_t i = 0; i < parameters.size() && i < arguments.size(); ++i) {
    frame.values.insert_or_assign(parameters[i], *arguments[i]);
  }
  const hlo::Computation& computation = module_[c];
  for (uint32_t i = 0; i < computation.instruction_count; ++i) {
    const InstructionId id(computation.first_instruction + i);
    if (frame.split->runs_on(id) != RunsOn::kNothing || frame.split->stage(id) >= 0) continue;
    PutTogether(frame, id);
  }
  for (size_t s = 0; s < frame.split->stages().size(); ++s) {
    HLOSCOPE_TRY(frame.split->stages()[s].is_on_device ? RunDeviceStage(frame, s)
                                                       : RunHostStage(frame, s));
  }
  if (frame.split->root_is_put_together()) PutTogether(frame, computation.root);
  const auto root = frame.values.find(computation.root);
  if (root == frame.values.end()) return InternalError("the root of a split module has no value");
  return std::move(root->second);
}

// What is made of values at hand without computing anything.
void SplitRun::PutTogether(Frame& frame, InstructionId id) {
  const hlo::Instruction& instruction = module_[id];
  if (instruction.opcode == Opcode::kParameter || frame.values.contains(id)) return;
  if (instruction.opcode == Opcode::kConstant) {
    const auto& literal = *module_.Get<Literal>(instruction, AttributeKey::kConstantValue);
    std::vector<Literal> leaves;
    frame.values[id] = {std::vector<Leaves>(lists_, Leaves{literal})};
    return;
  }
  Value value{std::vector<Leaves>(lists_)};
  size_t first = 0, count = 0;
  if (instruction.opcode == Opcode::kGetTupleElement) {
    const int64_t index = module_.GetInt(instruction, AttributeKey::kIndex);
    const hlo::LeafRange range =
        module_.shape(module_.operands(id)[0]).ElementLeaves(static_cast<size_t>(index));
    first = range.begin;
    count = range.count();
  }
  for (const InstructionId operand : module_.operands(id)) {
    const auto from = frame.values.find(operand);
    const Value source = from == frame.values.end()
                             ? Missing(operand, InternalError("a value is missing").error())
                             : from->second;
    for (size_t d = 0; d < lists_; ++d) {
      const Leaves& leaves = source.lists[d];
      const size_t taken = count == 0 ? leaves.size() : count;
      for (size_t i = 0; i < taken; ++i) value.lists[d].push_back(leaves[first + i]);
    }
    const size_t all = source.lists.empty() ? 0 : source.lists[0].size();
    for (size_t i = 0; i < (count == 0 ? all : count); ++i)
      value.origins.push_back(source.OriginOf(first + i));
    value.copy_us += source.copy_us;
  }
  frame.values.insert_or_assign(id, std::move(value));
}

const Error* SplitRun::FirstMissing(const Frame& frame, std::span<const InstructionId> ids) const {
  for (const InstructionId id : ids) {
    const auto value = frame.values.find(id);
    if (value == frame.values.end()) continue;  // a token
    for (const Leaves& leaves : value->second.lists) {
      for (const Result<Literal>& leaf : leaves) {
        if (!leaf.has_value()) return &leaf.error();
      }
    }
  }
  return nullptr;
}

Result<SplitRun::PartRun> SplitRun::RunPart(Frame& frame, const LoadedPart& part, Origin origin,
                                            std::string_view lane) {
  if (part.executable == nullptr) return PartRun{};
  std::vector<std::vector<Literal>> inputs(lists_);
  for (const InstructionId id : part.parameters) {
    const auto value = frame.values.find(id);
    if (value == frame.values.end()) return InternalError("a value is missing");
    for (size_t d = 0; d < lists_; ++d) {
      for (const Result<Literal>& leaf : value->second.lists[d]) inputs[d].push_back(*leaf);
    }
  }
  replay::RunOptions options = where_.options;
  options.capture = {};
  if (!lane.empty()) options.record.steps = 0;  // its time is told here
  PartStream stream(stream_, lists_);
  const int64_t start = runtime::SteadyNanoseconds();
  HLOSCOPE_ASSIGN_OR_RETURN(const replay::RunResult run,
                            part.executable->Run(inputs, options, stream));
  const int64_t wall_ns = runtime::SteadyNanoseconds() - start;
  if (!lane.empty() && where_.options.record.steps > 0) {
    const std::string_view name = module_.name(part.results[0]);
    stream_.Take(replay::TraceSlice{std::string(name), std::string(lane), start, wall_ns});
  }
  size_t next = 0;
  for (const InstructionId id : part.results) {
    Value value{std::vector<Leaves>(lists_)};
    const size_t count = module_.shape(id).LeafCount();
    for (size_t d = 0; d < lists_; ++d) {
      Leaves& all = stream.lists()[d];
      all.resize(std::max(all.size(), next + count), InternalError("a result is missing"));
      for (size_t i = 0; i < count; ++i) value.lists[d].push_back(std::move(all[next + i]));
    }
    next += count;
    value.origins.assign(count, origin);
    frame.values.insert_or_assign(id, std::move(value));
  }
  result_.peak_bytes = std::max(result_.peak_bytes, run.peak_bytes);
  return PartRun{run.run_us, static_cast<double>(wall_ns) / 1e3};
}

Status SplitRun::RunDeviceStage(Frame& frame, size_t stage) {
  const Piece& piece = frame.split->stages()[stage].piece;
  PartRun run;
  if (const Error* missing = FirstMissing(frame, piece.frontier)) {
    HLOSCOPE_ASSIGN_OR_RETURN(run, RunWithout(frame, piece, Error(*missing)));
  } else {
    HLOSCOPE_ASSIGN_OR_RETURN(
        run, RunPart(frame, split_.Stage(frame.computation, stage), {.on_device = true}, {}));
  }
  result_.run_us += run.run_us;
  ChargeCopies(frame, piece, std::max(run.wall_us - run.run_us, 0.0));
  return {};
}

// What of a stage does not depend on values that are missing.
Result<SplitRun::PartRun> SplitRun::RunWithout(Frame& frame, const Piece& piece,
                                               const Error& missing) {
  std::set<InstructionId> lost;
  for (const InstructionId id : piece.frontier) {
    if (FirstMissing(frame, {&id, 1}) != nullptr) lost.insert(id);
  }
  for (const InstructionId id : piece.taken) {
    const auto operands = module_.operands(id);
    if (std::ranges::any_of(operands, [&](auto it) { return lost.contains(it); })) lost.insert(id);
  }
  Piece rest;
  const auto keep = [&](const auto& from, auto& to) {
    std::ranges::copy_if(from, std::back_inserter(to), [&](auto id) { return !lost.contains(id); });
  };
  keep(piece.taken, rest.taken);
  keep(piece.frontier, rest.frontier);
  keep(piece.results, rest.results);
  for (const InstructionId id : piece.results) {
    if (lost.contains(id)) frame.values.insert_or_assign(id, Missing(id, missing));
  }
  if (rest.results.empty()) return PartRun{};
  HLOSCOPE_ASSIGN_OR_RETURN(const LoadedPart part,
                            SplitModule::LoadPart(module_, rest, where_.device, where_.options));
  return RunPart(frame, part, {.on_device = true}, {});
}

// The time around a run on the device goes by bytes to what came and went: to fallbacks what was
// brought for them or came of them, to nobody the inputs and results of the module.
void SplitRun::ChargeCopies(Frame& frame, const Piece& piece, double copies_us) {
  // Nothing is copied of a value that failed.
  const auto bytes = [&](InstructionId id) {
    return FirstMissing(frame, {&id, 1}) == nullptr ? Bytes(id) : 0;
  };
  int64_t all = 0;
  for (const InstructionId id : piece.frontier) all += bytes(id);
  for (const InstructionId id : piece.results) all += bytes(id);
  if (all == 0) return;
  const auto share = [&](int64_t moved) {
    return copies_us * static_cast<double>(moved) / static_cast<double>(all);
  };
  for (const InstructionId id : piece.results) frame.values[id].copy_us = share(bytes(id));
  for (const InstructionId id : piece.frontier) {
    if (bytes(id) == 0) continue;
    const Value& value = frame.values[id];
    for (size_t leaf = 0; leaf < value.origins.size(); ++leaf) {
      if (!value.origins[leaf].on_host.valid()) continue;
      const int64_t moved = BytesOfLeaf(value, leaf);
      Tally& tally = tallies_[value.origins[leaf].on_host];
      tally.bytes += moved;
      tally.us += share(moved);
      result_.run_us += share(moved);
    }
  }
}

Status SplitRun::RunHostStage(Frame& frame, size_t stage) {
  for (const InstructionId id : frame.split->stages()[stage].instructions) {
    HLOSCOPE_TRY(CheckStop());
    switch (frame.split->runs_on(id)) {
      case RunsOn::kNothing:
        PutTogether(frame, id);
        break;
      case RunsOn::kInTurn: {
        HLOSCOPE_ASSIGN_OR_RETURN(Value value, RunInTurn(frame, id));
        frame.values.insert_or_assign(id, std::move(value));
        break;
      }
      default:
        if (!RunsWithItsDone(module_[id].opcode)) HLOSCOPE_TRY(RunOnHost(frame, id));
    }
  }
  return {};
}

Status SplitRun::RunOnHost(Frame& frame, InstructionId id) {
  const LoadedPart& part = split_.Host(frame.computation, id);
  if (const Error* missing = FirstMissing(frame, part.parameters)) {
    frame.values.insert_or_assign(id, Missing(id, Error(*missing)));
    return {};
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const PartRun run,
                            RunPart(frame, part, {.on_host = id}, kFallbackLane));
  Tally& tally = tallies_[id];
  ++tally.executions;
  double us = run.wall_us;
  for (const InstructionId operand : part.parameters) {
    const Value& value = frame.values[operand];
    us += value.copy_us;
    for (size_t leaf = 0; leaf < value.origins.size(); ++leaf) {
      if (value.origins[leaf].on_device) tally.bytes += BytesOfLeaf(value, leaf);
    }
  }
  tally.us += us;
  result_.run_us += us;
  return {};
}

Result<int64_t> SplitRun::Choice(const Value& value) const {
  std::optional<int64_t> chosen;
  for (const Leaves& leaves : value.lists) {
    HLOSCOPE_ASSIGN_OR_RETURN(const Literal own, leaves.at(0));
    const int64_t number = own.shape().element_type() == hlo::ElementType::kPred
                               ? static_cast<int64_t>(own.bytes()[0] != std::byte{0})
                               : int64_t{own.data<int32_t>()[0]};
    if (chosen && *chosen != number) {
      return UnsupportedError(
          "devices take different branches around an instruction that runs on the host",
          "run the module on one device");
    }
    chosen = number;
  }
  return chosen.value_or(0);
}

Result<SplitRun::Value> SplitRun::RunInTurn(Frame& frame, InstructionId id) {
  const hlo::Instruction& instruction = module_[id];
  std::vector<const Value*> operands;
  for (const InstructionId operand : module_.operands(id)) {
    operands.push_back(&frame.values[operand]);
  }
  if (instruction.opcode == Opcode::kWhile) return RunLoop(instruction, *operands[0]);
  const std::vector<hlo::ComputationId> callees = module_.CalledComputations(instruction);
  if (instruction.opcode == Opcode::kCall) return RunComputation(callees[0], operands);
  const Result<int64_t> chosen = Choice(*operands[0]);
  if (!chosen.has_value()) return Missing(id, chosen.error());
  // Of a predicate the first is for true; an index out of range means the last.
  const auto branches = std::ssize(callees);
  const bool is_pred =
      module_.shape(module_.operands(id)[0]).element_type() == hlo::ElementType::kPred;
  const int64_t index = is_pred                              ? (*chosen != 0 ? 0 : 1)
                        : *chosen < 0 || *chosen >= branches ? branches - 1
                                                             : *chosen;
  return RunComputation(callees[static_cast<size_t>(index)],
                        {operands[static_cast<size_t>(index) + 1]});
}

Result<SplitRun::Value> SplitRun::RunLoop(const hlo::Instruction& loop, Value state) {
  const hlo::ComputationId body = module_.GetComputation(loop, AttributeKey::kBody);
  const hlo::ComputationId condition = module_.GetComputation(loop, AttributeKey::kCondition);
  while (true) {
    HLOSCOPE_ASSIGN_OR_RETURN(const Value goes_on, RunComputation(condition, {&state}));
    const Result<int64_t> chosen = Choice(goes_on);
    if (!chosen.has_value()) {
      for (Leaves& leaves : state.lists) {
        for (Result<Literal>& leaf : leaves) leaf = std::unexpected(chosen.error());
      }
      return state;
    }
    if (*chosen == 0) return state;
    HLOSCOPE_ASSIGN_OR_RETURN(state, RunComputation(body, {&state}));
  }
}

void SplitRun::Tell() {
  for (const auto& [id, refusal] : split_.refusals()) {
    const Tally tally = tallies_[id];
    std::string detail = refusal.detail;
    if (tally.executions != 1)
      detail += fmt::format("; it ran {}", Counted(tally.executions, "time"));
    stream_.Take(replay::RunFallback{.instruction = std::string(module_.name(id)),
                                     .opcode = std::string(hlo::ToString(module_[id].opcode)),
                                     .reason = std::string(Describe(refusal.reason)),
                                     .detail = std::move(detail),
                                     .bytes_moved = tally.bytes,
                                     .time_us = tally.us});
  }
}

}  // namespace hloscope::debug
