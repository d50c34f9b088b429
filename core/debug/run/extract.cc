#include "core/debug/run/extract.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <ranges>
#include <set>
#include <utility>

#include "core/analysis/place/placement.h"
#include "core/base/counted.h"
#include "core/debug/run/capture_collector.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/effects.h"
#include "core/hlo/rewrite/copy_module.h"
#include "core/hlo/rewrite/module_copier.h"
#include "core/hlo/rewrite/rewriter.h"
#include "core/hlo/sharding/manual_region.h"
#include "core/hlo/sharding/topology.h"

namespace hloscope::debug {
namespace {

using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

// The part of a computation that is taken over; by position in it.
class Cut {
 public:
  Cut(const Module& module, InstructionId root, int64_t depth, const std::vector<bool>& own,
      OfConstants of_constants)
      : module_(module),
        own_(own),
        is_own_(own[root.index]),
        first_(module[module[root].computation].first_instruction),
        taken_(module[module[root].computation].instruction_count, false),
        frontier_(taken_.size(), false),
        of_constants_(taken_.size(), false) {
    if (of_constants == OfConstants::kKept) FindOfConstants();
    Take(root, depth);
  }

  std::vector<InstructionId> taken() const { return Ids(taken_); }
  std::vector<InstructionId> frontier() const { return Ids(frontier_); }

 private:
  struct Visit {
    InstructionId id;
    int64_t depth;
  };

  // The halves of an asynchronous pair cannot be cut apart.
  static bool NeedsItsStart(Opcode opcode) {
    return hlo::HasFlag(opcode, hlo::kFlagDone) || opcode == Opcode::kAsyncUpdate;
  }

  // Breadth first, so that each is reached with the largest depth left.
  void Take(InstructionId root, int64_t depth) {
    std::queue<Visit> pending;
    pending.push({root, depth});
    taken_[root.index - first_] = true;
    while (!pending.empty()) {
      const Visit visit = pending.front();
      pending.pop();
      const Opcode opcode = module_[visit.id].opcode;
      for (InstructionId operand : module_.operands(visit.id)) {
        if (taken_[operand.index - first_]) continue;
        // A manual region cannot be cut either: its values are each device's own.
        const bool region =
            !is_own_ && (own_[operand.index] || hlo::IsShardingAt(module_, visit.id, operand));
        const bool pair = NeedsItsStart(opcode) || region;
        if (!pair && !IsWanted(operand, visit.depth)) {
          frontier_[operand.index - first_] = true;
          continue;
        }
        taken_[operand.index - first_] = true;
        pending.push({operand, pair ? visit.depth : visit.depth - 1});
      }
    }
    for (size_t i = 0; i < taken_.size(); ++i) frontier_[i] = frontier_[i] && !taken_[i];
  }

  bool IsWanted(InstructionId operand, int64_t depth) const {
    const hlo::Instruction& instruction = module_[operand];
    if (instruction.opcode == Opcode::kParameter || IsHostCallback(operand)) return false;
    if (is_own_ && hlo::IsManualBorder(module_, operand)) return false;
    if (instruction.opcode == Opcode::kConstant) return IsKnownConstant(instruction);
    return depth > 0 || of_constants_[operand.index - first_];
  }

  bool IsKnownConstant(const hlo::Instruction& instruction) const {
    const auto* value = module_.Get<hlo::Literal>(instruction, hlo::AttributeKey::kConstantValue);
    return instruction.opcode == Opcode::kConstant && value != nullptr && !value->elided();
  }

  // Calls, random numbers and side effects left out.
  void FindOfConstants() {
    for (size_t i = 0; i < taken_.size(); ++i) {
      const InstructionId id(first_ + i);
      const hlo::Instruction& instruction = module_[id];
      const auto operands = module_.operands(id);
      constexpr auto kOthers = hlo::kFlagCalls | hlo::kFlagSideEffect | hlo::kFlagCollective |
                               hlo::kFlagStart | hlo::kFlagDone;
      const bool is_pure = (hlo::Info(instruction.opcode).flags & kOthers) == 0 &&
                           instruction.opcode != Opcode::kCustomCall &&
                           instruction.opcode != Opcode::kRngBitGenerator;
      const bool begins = IsKnownConstant(instruction) || instruction.opcode == Opcode::kIota;
      of_constants_[i] = begins || (is_pure && !operands.empty() &&
                                    std::ranges::all_of(operands, [&](InstructionId operand) {
                                      return of_constants_[operand.index - first_];
                                    }));
    }
  }

  // Its function is in no dump: a part without it runs.
  bool IsHostCallback(InstructionId id) const {
    return analysis::IsHostCallback(module_, module_[id]);
  }

  std::vector<InstructionId> Ids(const std::vector<bool>& set) const {
    std::vector<InstructionId> ids;
    for (size_t i = 0; i < set.size(); ++i) {
      if (set[i]) ids.push_back(InstructionId(first_ + i));
    }
    return ids;
  }

  const Module& module_;
  const std::vector<bool>& own_;
  bool is_own_;  // the root's value: all that is taken is of one device
  uint32_t first_;
  std::vector<bool> taken_, frontier_, of_constants_;
};

bool TellsDevicesApart(const Module& module, InstructionId id) {
  const hlo::Category category = hlo::Info(module[id].opcode).category;
  return category == hlo::Category::kCollective || category == hlo::Category::kHostTransfer ||
         hlo::IsDeviceWork(module, id);
}

// A value on one side of a shard boundary alone: the whole array goes in, or comes out.
Status CanBeExtracted(const Module& module, InstructionId root, bool is_own) {
  const Opcode opcode = module[root].opcode;
  if (opcode == Opcode::kParameter) {
    return InputError(fmt::format("{} is a parameter: nothing to run", module.name(root)));
  }
  if (hlo::HasFlag(opcode, hlo::kFlagStart)) {
    return InputError(fmt::format("{} is the start of an asynchronous pair", module.name(root)),
                      "extract its done instruction, which includes the start");
  }
  if (hlo::IsManualBorder(module, root) && is_own) {
    return InputError(
        fmt::format("{} is a shard boundary: it takes another form of array than it gives",
                    module.name(root)),
        "extract an instruction inside the manual region, or the one that leaves it, which "
        "includes "
        "the region");
  }
  return {};
}

// Of what each device has on its own nothing says that it is yet to be partitioned.
void MakePartitioned(hlo::ModuleBuilder& builder) {
  std::erase_if(builder.header().frontend_attributes.entries,
                [&](const hlo::FrontendAttribute& entry) {
                  const std::string_view key = builder.module()[entry.key];
                  return key == hlo::kOwnValues || key == "xla.sdy.meshes";
                });
}

std::string EntryName(const Module& module, InstructionId root) {
  std::string name = "extract." + std::string(module.name(root));
  const auto taken = [&](const hlo::Computation& c) { return module[c.name] == name; };
  while (std::ranges::any_of(module.computations(), taken)) name += ".1";
  return name;
}

// A value at the cut: a parameter, or a token made anew.
InstructionId AddFrontier(const Module& module, InstructionId id, int64_t& number, bool is_own,
                          Metadata metadata, hlo::ModuleCopier& copier,
                          hlo::ModuleBuilder& builder) {
  const hlo::Instruction& instruction = module[id];
  std::vector<hlo::Attribute> attributes;
  Opcode opcode = Opcode::kAfterAll;
  if (!module.shape(id).IsToken()) {
    opcode = Opcode::kParameter;
    attributes.push_back(builder.MakeInt(hlo::AttributeKey::kParameterNumber, number++));
  }
  for (const hlo::AttributeKey key : {hlo::AttributeKey::kSharding, hlo::AttributeKey::kMetadata}) {
    const hlo::Attribute* a = module.Find(id, key);
    const bool is_left_out =
        key == hlo::AttributeKey::kMetadata ? metadata == Metadata::kStripped : is_own;
    if (a != nullptr && !is_left_out) attributes.push_back(copier.Copy(*a));
  }
  return builder.AddInstruction(copier.Copy(instruction.name), opcode,
                                copier.Copy(instruction.shape), {}, attributes);
}

std::unexpected<Error> NoSuchExecution(const Module& module, InstructionId root, int64_t executions,
                                       int64_t iteration) {
  return InputError(fmt::format("{} runs {}: no execution {}", module.name(root),
                                Counted(executions, "time"), iteration),
                    executions == 0 ? "no result depends on it, or its computation is never called"
                                    : "--iteration counts from 0");
}

// By instruction: true for those that `is` holds for and for all that call one of them, however far
// away.
template <typename Is>
std::vector<bool> IsOrCalls(const Module& module, Is is) {
  std::vector<bool> found(module.instructions().size(), false);
  std::vector<bool> marked(module.computations().size(), false);
  for (uint32_t i = 0; i < found.size(); ++i) {
    const hlo::Instruction& instruction = module.instructions()[i];
    if (!is(instruction)) continue;
    found[i] = true;
    marked[instruction.computation.index] = true;
  }
  const std::span<const hlo::Call> calls = hlo::CallGraphOf(module).calls();
  marked = hlo::WithCallers(calls, std::move(marked));
  for (const hlo::Call& call : calls) {
    if (marked[call.callee.index]) found[call.caller.index] = true;
  }
  return found;
}

// By instruction: true for what moves the random generator or the queue of infeeds.
std::vector<bool> MovesState(const Module& module) {
  std::vector<bool> moves =
      IsOrCalls(module, [](const hlo::Instruction& i) { return i.opcode == Opcode::kInfeed; });
  const hlo::Effects& effects = hlo::EffectsOf(module);
  for (uint32_t i = 0; i < moves.size(); ++i)
    moves[i] = moves[i] || effects.Draws(InstructionId(i));
  return moves;
}

// The instructions of the entry that receive on a channel, and those that send on it: also through
// what they call.
struct Channel {
  std::vector<uint32_t> receives, sends;
};

// What of the entry runs the instruction: itself, or what calls its computation, however far away.
std::vector<uint32_t> InEntry(const Module& module, InstructionId id) {
  std::vector<uint32_t> found;
  std::vector<InstructionId> pending = {id};
  std::set<hlo::ComputationId> seen;
  while (!pending.empty()) {
    const InstructionId next = pending.back();
    pending.pop_back();
    const hlo::ComputationId computation = module[next].computation;
    if (computation == module.entry_id()) {
      found.push_back(next.index);
    } else if (seen.insert(computation).second) {
      const auto callers = hlo::CallGraphOf(module).callers(computation);
      pending.insert(pending.end(), callers.begin(), callers.end());
    }
  }
  return found;
}

std::vector<Channel> ChannelsOf(const Module& module) {
  std::map<int64_t, Channel> by_number;
  std::set<int64_t> received;
  for (uint32_t k = 0; k < module.instructions().size(); ++k) {
    const hlo::Instruction& i = module.instructions()[k];
    const bool receives = i.opcode == Opcode::kRecv || i.opcode == Opcode::kRecvDone;
    if (!receives && i.opcode != Opcode::kSend && i.opcode != Opcode::kSendDone) continue;
    const int64_t number = module.GetInt(i, hlo::AttributeKey::kChannelId);
    if (i.opcode == Opcode::kRecv) received.insert(number);
    Channel& channel = by_number[number];
    std::vector<uint32_t>& all = receives ? channel.receives : channel.sends;
    const std::vector<uint32_t> more = InEntry(module, InstructionId(k));
    all.insert(all.end(), more.begin(), more.end());
  }
  std::vector<Channel> channels;
  for (const int64_t number : received) channels.push_back(std::move(by_number[number]));
  return channels;
}

// By instruction of the entry: true for what `root` depends on, by operands, by the state of
// generators and infeeds, or because it receives what that sends.
std::vector<bool> NeededFor(const Module& module, InstructionId root) {
  std::vector<bool> is_needed(module.instructions().size(), false);
  is_needed[root.index] = true;
  const std::vector<bool> moves_state = MovesState(module);
  std::vector<Channel> channels = ChannelsOf(module);
  std::multimap<uint32_t, Channel*> received;  // by what of the entry receives
  for (Channel& channel : channels) {
    for (const uint32_t i : channel.receives) received.emplace(i, &channel);
  }
  const hlo::Computation& entry = module[module.entry_id()];
  const uint32_t first = entry.first_instruction, end = first + entry.instruction_count;
  // Another round for each channel at most: its sends may stand behind what receives from them.
  for (bool again = true; again;) {
    again = false;
    // Backwards: users come behind operands, and what reads a state behind what moved it.
    bool is_state_needed = false;
    for (uint32_t i = end; i-- > first;) {
      if (is_state_needed && moves_state[i]) is_needed[i] = true;
      if (!is_needed[i]) continue;
      is_state_needed = is_state_needed || moves_state[i];
      for (const InstructionId operand : module.operands(InstructionId(i))) {
        is_needed[operand.index] = true;
      }
      const auto [begin, behind] = received.equal_range(i);
      for (const auto& [by, channel] : std::ranges::subrange(begin, behind)) {
        for (const uint32_t k : std::exchange(channel->sends, {})) {
          again = again || !is_needed[k];
          is_needed[k] = true;
        }
      }
    }
  }
  return is_needed;
}

// By instruction: true for what a run comes to.
std::vector<bool> Executed(const Module& module) {
  std::vector<bool> executed(module.instructions().size(), false);
  std::vector<bool> entered(module.computations().size(), false);
  std::vector<hlo::ComputationId> pending = {module.entry_id()};
  entered[module.entry_id().index] = true;
  while (!pending.empty()) {
    const hlo::ComputationId id = pending.back();
    pending.pop_back();
    const std::vector<bool> live = hlo::LiveInstructions(module, id);
    for (uint32_t i = 0; i < live.size(); ++i) {
      const InstructionId at(module[id].first_instruction + i);
      executed[at.index] = live[i];
      if (!live[i]) continue;
      for (const hlo::ComputationId callee : module.CalledComputations(module[at])) {
        if (!entered[callee.index]) pending.push_back(callee);
        entered[callee.index] = true;
      }
    }
  }
  return executed;
}

// What draws without an effect (GetRngSeed) and is executed gets one: where its result is of no use
// to what is left, the state that it moves is.
std::shared_ptr<const Module> WithSaidDraws(std::shared_ptr<const Module> module) {
  std::vector<InstructionId> silent;
  for (uint32_t i = 0; i < module->instructions().size(); ++i) {
    const InstructionId id(i);
    if (hlo::DrawsItself(*module, id) && !hlo::HasOwnEffect(*module, id)) silent.push_back(id);
  }
  if (silent.empty()) return module;
  const std::vector<bool> executed = Executed(*module);
  hlo::ModuleBuilder builder = hlo::CopyModule(*module);
  for (const InstructionId id : silent) {
    if (!executed[id.index]) continue;
    builder.SetAttribute(id, builder.MakeBool(hlo::AttributeKey::kCustomCallHasSideEffect, true));
  }
  return builder.Build();
}

}  // namespace

Result<ExtractedModule> ExtractModule(const Module& module, InstructionId root, int64_t depth,
                                      Metadata metadata, OfConstants of_constants) {
  const std::vector<bool> own = hlo::OwnValues(module);
  const bool is_own = own[root.index];
  HLOSCOPE_TRY(CanBeExtracted(module, root, is_own));
  const Cut cut(module, root, depth, own, of_constants);
  const std::vector<InstructionId> taken = cut.taken();
  hlo::ModuleBuilder builder;
  hlo::ModuleCopier copier(module, builder);
  if (metadata == Metadata::kStripped) copier.DropMetadata();
  copier.CopyHeader();
  if (is_own) MakePartitioned(builder);
  builder.header().name = builder.Intern(fmt::format("{}.{}", module.name(), module.name(root)));
  copier.CopyCallees(taken);
  bool devices =
      std::ranges::any_of(taken, [&](InstructionId id) { return TellsDevicesApart(module, id); });
  for (uint32_t i = 0; i < builder.module().instructions().size() && !devices; ++i) {
    devices = TellsDevicesApart(builder.module(), InstructionId(i));
  }
  if (devices) {
    builder.header().replica_count = module.header().replica_count;
    builder.header().num_partitions = module.header().num_partitions;
  }
  const hlo::ComputationId entry =
      builder.DeclareComputation(builder.Intern(EntryName(module, root)));
  builder.BeginComputation(entry);
  ExtractedModule extracted;
  std::vector<InstructionId> new_ids(module.instructions().size());
  int64_t parameters = 0;
  for (InstructionId id : cut.frontier()) {
    new_ids[id.index] = AddFrontier(module, id, parameters, is_own, metadata, copier, builder);
    if (!module.shape(id).IsToken()) extracted.parameters.push_back(id);
  }
  for (InstructionId id : taken) {
    std::vector<InstructionId> operands;
    for (InstructionId operand : module.operands(id)) operands.push_back(new_ids[operand.index]);
    new_ids[id.index] = copier.CopyInstruction(id, operands);
  }
  builder.EndComputation(new_ids[root.index]);
  builder.SetEntry(entry);
  extracted.instructions = taken.size();
  extracted.module = builder.Build();
  return extracted;
}

Result<std::shared_ptr<const Module>> OnlyFor(std::shared_ptr<const Module> module,
                                              InstructionId root) {
  if ((*module)[root].computation != module->entry_id()) return module;
  module = WithSaidDraws(std::move(module));
  const std::vector<bool> is_needed = NeededFor(*module, root);
  hlo::Rewriter rewriter(module);
  rewriter.SetRoot(module->entry_id(), root);
  for (uint32_t i = 0; i < module->instructions().size(); ++i) {
    const hlo::Instruction& instruction = module->instructions()[i];
    const bool stays = is_needed[i] || instruction.opcode == Opcode::kParameter;
    if (!stays && instruction.computation == module->entry_id()) rewriter.Remove(InstructionId(i));
  }
  rewriter.RemoveDeadCode();
  // What the header states of results is of others.
  hlo::ModuleHeader& header = rewriter.builder().header();
  header.entry_layout.reset();
  header.input_output_alias.clear();
  header.buffer_donors.clear();
  header.allow_spmd_sharding_propagation_to_output.clear();
  header.spmd_output_sharding.reset();
  HLOSCOPE_ASSIGN_OR_RETURN(hlo::RewriteResult made, rewriter.Finish());
  return std::move(made.module);
}

std::vector<bool> NeedsCallback(const Module& module) {
  std::vector<bool> needs = IsOrCalls(
      module, [&](const hlo::Instruction& i) { return analysis::IsHostCallback(module, i); });
  const std::vector<bool> moves_state = MovesState(module);
  std::vector<Channel> channels = ChannelsOf(module);
  const hlo::Computation& entry = module[module.entry_id()];
  const uint32_t first = entry.first_instruction, end = first + entry.instruction_count;
  for (bool again = true; again;) {
    bool state_needs = false;
    for (uint32_t i = first; i < end; ++i) {
      const auto operands = module.operands(InstructionId(i));
      const bool uses = std::ranges::any_of(
          operands, [&](InstructionId operand) { return needs[operand.index]; });
      needs[i] = needs[i] || uses || (state_needs && moves_state[i]);
      state_needs = state_needs || (needs[i] && moves_state[i]);
    }
    // What is sent comes from one: so does what receives it, which may stand before.
    again = std::erase_if(channels, [&](const Channel& channel) {
              const bool sends =
                  std::ranges::any_of(channel.sends, [&](uint32_t i) { return needs[i]; });
              if (!sends) return false;
              for (const uint32_t i : channel.receives) needs[i] = true;
              return true;
            }) > 0;
  }
  return needs;
}

replay::CapturePlan OperandsPlan(InstructionId root, std::span<const InstructionId> parameters,
                                 int64_t iteration) {
  replay::CapturePlan plan;
  plan.results = replay::CaptureForm::kNone;
  plan.items.push_back({replay::CaptureScope::kInstructions,
                        replay::CaptureForm::kBytes,
                        {parameters.begin(), parameters.end()}});
  plan.items.back().instructions.push_back(root);
  plan.until = {root, iteration};
  return plan;
}

Result<CapturedValues> CaptureValues(const Module& module, InstructionId root,
                                     std::span<const InstructionId> parameters, int64_t iteration,
                                     const CaptureRun& run) {
  CaptureCollector captured_leaves;
  HLOSCOPE_ASSIGN_OR_RETURN(const replay::RunResult result,
                            run(OperandsPlan(root, parameters, iteration), captured_leaves));
  if (!result.ended_by_plan) {
    return NoSuchExecution(module, root, result.executions, iteration);
  }
  CapturedValues captured;
  for (const InstructionId parameter : parameters) {
    HLOSCOPE_ASSIGN_OR_RETURN(hlo::Literal literal, captured_leaves.ValueOf(module, parameter));
    captured.arguments.push_back(std::move(literal));
  }
  Result<hlo::Literal> value = captured_leaves.ValueOf(module, root);
  if (value.has_value()) captured.value = *std::move(value);
  return captured;
}

Result<std::vector<std::vector<hlo::Literal>>> CaptureDeviceArguments(
    const Module& module, InstructionId root, std::span<const InstructionId> parameters,
    int64_t iteration, const CaptureRun& run) {
  // A plan that ends a run looks at one device only.
  replay::CapturePlan plan = OperandsPlan(root, parameters, iteration);
  plan.until.reset();
  DeviceCollector collector(module, root, iteration);
  HLOSCOPE_TRY(run(plan, collector));
  if (collector.devices() == 0) return NoSuchExecution(module, root, 0, iteration);
  std::vector<std::vector<hlo::Literal>> lists;
  for (int64_t device = 0; device < collector.devices(); ++device) {
    const int64_t executions = collector.executions(device);
    if (executions <= iteration) return NoSuchExecution(module, root, executions, iteration);
    std::vector<hlo::Literal>& list = lists.emplace_back();
    for (const InstructionId parameter : parameters) {
      HLOSCOPE_ASSIGN_OR_RETURN(hlo::Literal literal, collector.ValueOf(device, parameter));
      list.push_back(std::move(literal));
    }
  }
  return lists;
}

}  // namespace hloscope::debug
