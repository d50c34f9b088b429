// Pairs arguments and results for donation as XLA does.
#include "core/analysis/memory/donation.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/checked.h"
#include "core/hlo/analysis/find_instruction.h"
#include "core/hlo/analysis/source_line.h"
#include "core/hlo/analysis/users.h"
#include "core/hlo/opcode.h"

namespace hloscope::analysis {
namespace {

using dump::BufferTable;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using Index = std::vector<int64_t>;

// Sizes of a file may be of any sum.
void Add(int64_t& sum, int64_t bytes) {
  sum = CheckedAdd(sum, bytes).value_or(bytes > 0 ? INT64_MAX : -INT64_MAX);
}

// The most bytes of these values that live at once.
int64_t MostLive(const std::vector<const dump::BufferValue*>& values, size_t points) {
  std::vector<int64_t> change(points + 1, 0);
  for (const dump::BufferValue* value : values) {
    const auto first = static_cast<size_t>(value->live_start);
    const auto last = static_cast<size_t>(value->live_end);
    const bool lives = value->live_start >= 0 && last >= first && last < points;
    if (!lives || value->size <= 0) continue;
    Add(change[first], value->size);
    Add(change[last + 1], -value->size);
  }
  int64_t live = 0, most = 0;
  for (const int64_t by : change) {
    Add(live, by);
    most = std::max(most, live);
  }
  return most;
}

class Donations {
 public:
  explicit Donations(const Module& module) : module_(module) {}

  // Arguments whose bytes a result could take. XLA: optimize_input_output_buffer_alias.cc pairs the
  // largest first, where bytes are equal.
  std::vector<Donation> Pairs() const {
    std::set<Index> taken;
    std::set<std::pair<int64_t, Index>> given;
    for (const hlo::InputOutputAlias& alias : module_.header().input_output_alias) {
      taken.insert(alias.output_index);
      given.emplace(alias.parameter, alias.parameter_index);
    }
    // Results that no argument has yet, by their bytes and by what writes them. What a loop makes
    // of an argument takes its memory, if it is not read after the loop, or none.
    std::map<int64_t, std::multimap<InstructionId, Index>> free_results;
    std::map<InstructionId, Index> of_loops;  // by the parameter
    for (const auto& [index, shape] : module_.shape(module_[module_.entry_id()].root).Leaves()) {
      const InstructionId writer = WriterOf(index);
      if (module_[writer].opcode == Opcode::kParameter || taken.contains(index)) continue;
      if (const InstructionId carried = CarriedFrom(writer); carried.valid())
        of_loops.emplace(carried, index);
      else
        free_results[shape->ByteSize().value_or(0)].emplace(writer, index);
    }
    struct Argument {
      int64_t number;
      Index index;
      InstructionId id;
      int64_t bytes;
    };
    std::vector<Argument> arguments;
    const auto parameters = module_.Parameters(module_.entry_id());
    for (size_t p = 0; p < parameters.size(); ++p) {
      if (!parameters[p].valid()) continue;
      for (const auto& [index, shape] : module_.shape(parameters[p]).Leaves()) {
        const int64_t bytes = shape->ByteSize().value_or(0);
        if (bytes > 0 && !given.contains({static_cast<int64_t>(p), index})) {
          arguments.push_back({static_cast<int64_t>(p), index, parameters[p], bytes});
        }
      }
    }
    std::ranges::stable_sort(arguments, std::greater<>(), &Argument::bytes);
    std::vector<Donation> donations;
    const auto donate = [&](const Argument& argument, const Index& result) {
      donations.push_back({argument.number, argument.index, result,
                           std::string(module_.name(argument.id)),
                           std::string(hlo::OpNameOf(module_, argument.id)),
                           hlo::ToString(hlo::SourceLineOf(module_, argument.id)), argument.bytes});
    };
    for (const Argument& argument : arguments) {
      const LastUse last = LastUseOf(argument.id, argument.index);
      if (const auto loop = of_loops.find(argument.id); loop != of_loops.end()) {
        if (last.user.index < WriterOf(loop->second).index) donate(argument, loop->second);
        continue;
      }
      const auto of_size = free_results.find(argument.bytes);
      if (of_size == free_results.end()) continue;
      const auto result = last.writes_in_place ? of_size->second.lower_bound(last.user)
                                               : of_size->second.upper_bound(last.user);
      if (result == of_size->second.end()) continue;
      donate(argument, result->second);
      of_size->second.erase(result);
    }
    return donations;
  }

  int64_t Growth(std::span<const Donation> donations, const BufferTable& table) const {
    std::set<std::string_view> results;
    for (const Donation& donation : donations) {
      results.insert(module_.name(WriterOf(donation.output_index)));
    }
    std::set<int32_t> freed;
    for (const dump::BufferValue& value : table.values) {
      if (value.allocation >= 0 && results.contains(value.instruction)) {
        freed.insert(value.allocation);
      }
    }
    std::set<std::string_view> copies;  // of the arguments, which are needless then
    for (const Donation& donation : donations) {
      const auto parameter =
          module_.Parameters(module_.entry_id())[static_cast<size_t>(donation.parameter)];
      for (const InstructionId user : hlo::UsersOf(module_).users(parameter)) {
        if (IsPlainCopy(user)) copies.insert(module_.name(user));
      }
    }
    std::vector<const dump::BufferValue*> before, after;
    for (const dump::BufferValue& value : table.values) {
      if (value.allocation < 0) continue;
      if (KindOf(table.allocations[static_cast<size_t>(value.allocation)]) ==
          dump::AllocationKind::kTemporary) {
        before.push_back(&value);
        if (!copies.contains(value.instruction)) after.push_back(&value);
      } else if (freed.contains(value.allocation) && !results.contains(value.instruction) &&
                 !copies.contains(value.instruction)) {
        after.push_back(&value);
      }
    }
    int64_t growth = MostLive(after, table.program.size());
    Add(growth, -MostLive(before, table.program.size()));
    return growth;
  }

 private:
  // The instruction of the entry that writes a result.
  InstructionId WriterOf(const Index& index) const {
    InstructionId id = module_[module_.entry_id()].root;
    for (const int64_t i : index) {
      if (module_[id].opcode != Opcode::kTuple ||
          static_cast<size_t>(i) >= module_[id].operand_count)
        break;
      id = module_.operands(id)[static_cast<size_t>(i)];
    }
    while (module_[id].opcode == Opcode::kBitcast && module_[id].operand_count > 0) {
      id = module_.operands(id)[0];
    }
    return id;
  }

  // The parameter of which a loop makes this element of its state, but for copies; invalid: none.
  InstructionId CarriedFrom(InstructionId id) const {
    bool in_loop = false;
    for (size_t steps = 0; steps < module_[module_.entry_id()].instruction_count; ++steps) {
      if (module_[id].opcode == Opcode::kBitcast || IsPlainCopy(id)) {
        id = module_.operands(id)[0];
        continue;
      }
      if (module_[id].opcode != Opcode::kGetTupleElement) break;
      const InstructionId loop = module_.operands(id)[0];
      const auto k = static_cast<size_t>(module_.GetInt(module_[id], hlo::AttributeKey::kIndex));
      if (module_[loop].opcode != Opcode::kWhile) break;
      const InstructionId state = module_.operands(loop)[0];
      if (module_[state].opcode != Opcode::kTuple || k >= module_[state].operand_count) break;
      id = module_.operands(state)[k];
      in_loop = true;
    }
    return in_loop && module_[id].opcode == Opcode::kParameter ? id : InstructionId();
  }

  // The last instruction that reads an array of a parameter, and whether it reads each element
  // where it writes it. A result that is written by it so, or later, may take the parameter's
  // memory; to one written earlier XLA would copy.
  struct LastUse {
    InstructionId user;
    bool writes_in_place = false;
  };
  LastUse LastUseOf(InstructionId parameter, const Index& index) const {
    LastUse last{parameter};
    struct Value {
      InstructionId id;
      size_t depth;  // elements of the index that are taken
    };
    std::vector<Value> values = {{parameter, 0}};  // and what has the array's memory
    for (size_t i = 0; i < values.size(); ++i) {
      const auto [id, depth] = values[i];
      for (const InstructionId user : hlo::UsersOf(module_).users(id)) {
        if (module_[user].opcode == Opcode::kGetTupleElement && depth < index.size()) {
          const int64_t element = module_.GetInt(module_[user], hlo::AttributeKey::kIndex);
          if (element == index[depth]) values.push_back({user, depth + 1});
        } else if (module_[user].opcode == Opcode::kBitcast || IsPlainCopy(user)) {
          values.push_back({user, depth});
        } else if (user.index >= last.user.index) {
          const bool is_again = user == last.user;
          last.writes_in_place =
              WritesWhereItReads(user, id) && (!is_again || last.writes_in_place);
          last.user = user;
        }
      }
    }
    return last;
  }

  // A copy into memory that a later instruction writes; a donation makes it needless.
  bool IsPlainCopy(InstructionId id) const {
    return module_[id].opcode == Opcode::kCopy && module_[id].operand_count == 1 &&
           module_.shape(id) == module_.shape(module_.operands(id)[0]);
  }

  static bool IsElementwise(Opcode opcode) {
    return hlo::HasFlag(opcode, hlo::kFlagElementwise) || opcode == Opcode::kBitcast;
  }

  // XLA: HloDataflowAnalysis::CanShareOperandBufferWithUser, for elementwise instructions and
  // fusions whose path from that operand to the result is elementwise.
  bool WritesWhereItReads(InstructionId producer, InstructionId operand) const {
    if (module_[producer].opcode != Opcode::kFusion) {
      return IsElementwise(module_[producer].opcode);
    }
    const auto callees = module_.CalledComputations(module_[producer]);
    if (callees.size() != 1) return false;
    const auto operands = module_.operands(producer);
    const auto parameters = module_.Parameters(callees[0]);
    std::vector<InstructionId> reached;
    for (size_t i = 0; i < operands.size() && i < parameters.size(); ++i) {
      if (operands[i] == operand) reached.push_back(parameters[i]);
    }
    std::set<uint32_t> seen;
    while (!reached.empty()) {
      const InstructionId id = reached.back();
      reached.pop_back();
      for (const InstructionId user : hlo::UsersOf(module_).users(id)) {
        const Opcode opcode = module_[user].opcode;
        const bool updates = opcode == Opcode::kDynamicUpdateSlice &&
                             module_.operands(user)[0] == id &&
                             std::ranges::count(module_.operands(user), id) == 1;
        if (!IsElementwise(opcode) && !updates && opcode != Opcode::kTuple) return false;
        if (seen.insert(user.index).second) reached.push_back(user);
      }
    }
    return true;
  }

  const Module& module_;
};

}  // namespace

std::vector<Donation> DonationsOf(const Module& module) { return Donations(module).Pairs(); }

int64_t GrowthOfTemporaries(const Module& module, const BufferTable& table,
                            std::span<const Donation> donations) {
  return Donations(module).Growth(donations, table);
}

}  // namespace hloscope::analysis
