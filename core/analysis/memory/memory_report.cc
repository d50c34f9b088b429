// Reads the buffer assignment; pairs arguments and results for donation as XLA does.
#include "core/analysis/memory/memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/checked.h"
#include "core/base/counted.h"
#include "core/hlo/analysis/find_instruction.h"
#include "core/hlo/analysis/source_line.h"
#include "core/hlo/analysis/users.h"
#include "core/hlo/opcode.h"

namespace hloscope::analysis {
namespace {

using dump::BufferTable;
using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using Index = std::vector<int64_t>;

// Answers for one compiled module.
class Reporter {
 public:
  Reporter(const Module& module, const BufferTable& table, size_t max_holders, MemoryReport& report)
      : module_(module), table_(table), max_holders_(max_holders), report_(report) {}

  void Totals() {
    report_.peak_bytes = table_.total_bytes;
    report_.parameter_bytes = table_.parameter_bytes;
    report_.result_bytes = table_.live_out_bytes;
    report_.temporary_bytes = table_.temporary_bytes;
    report_.constant_bytes = table_.constant_bytes;
    report_.live_peak_bytes = table_.live_peak_bytes;
    if (table_.live_peak_point >= 0 &&
        static_cast<size_t>(table_.live_peak_point) < table_.program.size()) {
      report_.peak_instruction = table_.program[static_cast<size_t>(table_.live_peak_point)];
    }
  }

  void HoldersOfTable() {
    std::vector<int32_t> values = table_.live_peak_values;
    if (values.empty()) {
      for (size_t v = 0; v < table_.values.size(); ++v) values.push_back(static_cast<int32_t>(v));
      std::ranges::stable_sort(values, std::greater<>(),
                               [&](int32_t v) { return ValueAt(v).size; });
    }
    std::unordered_map<std::string_view, InstructionId> by_name;
    for (uint32_t k = 0; k < module_.instructions().size(); ++k) {
      by_name.try_emplace(module_.name(InstructionId(k)), InstructionId(k));
    }
    std::set<std::pair<int32_t, int64_t>> places;  // values on the same bytes count once
    for (const int32_t v : values) {
      const dump::BufferValue& value = ValueAt(v);
      if (!places.emplace(value.allocation, value.offset).second || value.allocation < 0) continue;
      if (report_.holders.size() == max_holders_) {
        ++report_.left_out;
        continue;
      }
      MemoryHolder& holder = report_.holders.emplace_back(
          value.instruction, value.shape, "",
          std::string(ToString(KindOf(table_.allocations[At(value.allocation)]))), value.size);
      if (const auto at = by_name.find(value.instruction); at != by_name.end()) {
        Place(at->second, holder);
      }
    }
  }

  // Without a buffer assignment: what the instructions of the entry give.
  void HoldersOfModule() {
    std::vector<InstructionId> ids;
    const hlo::Computation& entry = module_[module_.entry_id()];
    for (uint32_t k = 0; k < entry.instruction_count; ++k) {
      const InstructionId id(entry.first_instruction + k);
      if (module_.shape(id).IsArray()) ids.push_back(id);
    }
    std::ranges::stable_sort(ids, std::greater<>(), [&](InstructionId id) { return Bytes(id); });
    for (const InstructionId id : ids) {
      if (report_.holders.size() == max_holders_) {
        ++report_.left_out;
        continue;
      }
      const Opcode opcode = module_[id].opcode;
      MemoryHolder& holder = report_.holders.emplace_back(std::string(module_.name(id)),
                                                          ToString(module_.shape(id)), "",
                                                          opcode == Opcode::kParameter ? "parameter"
                                                          : opcode == Opcode::kConstant ? "constant"
                                                                                        : "value",
                                                          Bytes(id));
      Place(id, holder);
    }
  }

  // Arguments whose bytes a result could take. XLA: optimize_input_output_buffer_alias.cc pairs the
  // largest first, where bytes are equal.
  void AdviseDonations() {
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
    MemoryAdvice advice;
    auto donate = [&](const Argument& argument, const Index& result) {
      advice.donations.push_back(
          {argument.number, argument.index, result, std::string(module_.name(argument.id)),
           std::string(hlo::OpNameOf(module_, argument.id)),
           hlo::ToString(hlo::SourceLineOf(module_, argument.id)), argument.bytes});
      Add(advice.saves_bytes, argument.bytes);
    };
    for (const Argument& argument : arguments) {
      const LastUse last = LastUseOf(argument.id);
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
    if (advice.donations.empty()) return;
    Add(advice.saves_bytes, -GrowthOfTemporaries(advice.donations));
    if (advice.saves_bytes <= 0) return;
    const Donation& largest = advice.donations[0];
    advice.instruction = largest.instruction;
    advice.source = largest.source;
    advice.new_peak_bytes = report_.peak_bytes - advice.saves_bytes;
    advice.what = fmt::format(
        "donate {}, {} {}{}: results of the same bytes take their memory, and the caller must not "
        "use them afterwards",
        Counted(advice.donations.size(), "argument"),
        advice.donations.size() == 1 ? "number" : "the largest number", largest.parameter,
        largest.name.empty() ? "" : fmt::format(" ({})", largest.name));
    report_.advice.push_back(std::move(advice));
  }

 private:
  static size_t At(int64_t k) { return static_cast<size_t>(k); }
  const dump::BufferValue& ValueAt(int32_t v) const {
    return table_.values[static_cast<size_t>(v)];
  }
  int64_t Bytes(InstructionId id) const { return module_.shape(id).ByteSize().value_or(0); }

  // Sizes of a file may be of any sum.
  static void Add(int64_t& sum, int64_t bytes) {
    sum = CheckedAdd(sum, bytes).value_or(bytes > 0 ? INT64_MAX : -INT64_MAX);
  }

  // The most bytes of these values that live at once.
  int64_t MostLive(const std::vector<const dump::BufferValue*>& values) const {
    std::vector<int64_t> change(table_.program.size() + 1, 0);
    for (const dump::BufferValue* value : values) {
      const auto first = static_cast<size_t>(value->live_start);
      const auto last = static_cast<size_t>(value->live_end);
      const bool lives = value->live_start >= 0 && last >= first && last < table_.program.size();
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

  // Before a result is written, its memory may hold temporaries; that of an argument cannot. What
  // the temporaries need in addition.
  int64_t GrowthOfTemporaries(const std::vector<Donation>& donations) const {
    std::set<std::string_view> results;
    for (const Donation& donation : donations) {
      results.insert(module_.name(WriterOf(donation.output_index)));
    }
    std::set<int32_t> freed;
    for (const dump::BufferValue& value : table_.values) {
      if (value.allocation >= 0 && results.contains(value.instruction)) {
        freed.insert(value.allocation);
      }
    }
    std::set<std::string_view> copies;  // of the arguments, which are needless then
    for (const Donation& donation : donations) {
      const auto parameter = module_.Parameters(module_.entry_id())[At(donation.parameter)];
      for (const InstructionId user : hlo::UsersOf(module_).users(parameter)) {
        if (IsPlainCopy(user)) copies.insert(module_.name(user));
      }
    }
    std::vector<const dump::BufferValue*> before, after;
    for (const dump::BufferValue& value : table_.values) {
      if (value.allocation < 0) continue;
      if (KindOf(table_.allocations[At(value.allocation)]) == dump::AllocationKind::kTemporary) {
        before.push_back(&value);
        if (!copies.contains(value.instruction)) after.push_back(&value);
      } else if (freed.contains(value.allocation) && !results.contains(value.instruction) &&
                 !copies.contains(value.instruction)) {
        after.push_back(&value);
      }
    }
    int64_t growth = MostLive(after);
    Add(growth, -MostLive(before));
    return growth;
  }

  void Place(InstructionId id, MemoryHolder& holder) const {
    holder.source = hlo::ToString(hlo::SourceLineOf(module_, id));
    holder.opcode = hlo::ToString(module_[id].opcode);
    holder.op_name = hlo::OpNameOf(module_, id);
  }

  // The instruction of the entry that writes a result.
  InstructionId WriterOf(const Index& index) const {
    InstructionId id = module_[module_.entry_id()].root;
    for (const int64_t i : index) {
      if (module_[id].opcode != Opcode::kTuple || At(i) >= module_[id].operand_count) break;
      id = module_.operands(id)[At(i)];
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
      const auto k = At(module_.GetInt(module_[id], AttributeKey::kIndex));
      if (module_[loop].opcode != Opcode::kWhile) break;
      const InstructionId state = module_.operands(loop)[0];
      if (module_[state].opcode != Opcode::kTuple || k >= module_[state].operand_count) break;
      id = module_.operands(state)[k];
      in_loop = true;
    }
    return in_loop && module_[id].opcode == Opcode::kParameter ? id : InstructionId();
  }

  // The last instruction that reads a parameter, and whether it reads each element where it writes
  // it. A result that is written by it so, or later, may take the parameter's memory; to one
  // written earlier XLA would copy.
  struct LastUse {
    InstructionId user;
    bool writes_in_place = false;
  };
  LastUse LastUseOf(InstructionId parameter) const {
    LastUse last{parameter};
    std::vector<InstructionId> values = {parameter};  // and what has its memory
    for (size_t i = 0; i < values.size(); ++i) {
      for (const InstructionId user : hlo::UsersOf(module_).users(values[i])) {
        if (module_[user].opcode == Opcode::kBitcast || IsPlainCopy(user)) {
          values.push_back(user);
        } else if (user.index >= last.user.index) {
          const bool is_again = user == last.user;
          last.writes_in_place =
              WritesWhereItReads(user, values[i]) && (!is_again || last.writes_in_place);
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
  const BufferTable& table_;
  size_t max_holders_;
  MemoryReport& report_;
};

}  // namespace

Result<std::vector<MemoryReport>> MemoryReportsOf(const dump::DumpModel& model, int32_t only,
                                                  bool advise, size_t max_holders) {
  std::vector<MemoryReport> reports;
  for (int32_t m = 0; m < static_cast<int32_t>(model.modules().size()); ++m) {
    const int32_t stage = model.FinalStage(m);
    if ((only >= 0 && m != only) || stage < 0) continue;
    HLOSCOPE_ASSIGN_OR_RETURN(const auto module, model.Module(m, stage));
    HLOSCOPE_ASSIGN_OR_RETURN(const auto table, model.Buffers(m));
    MemoryReport& report = reports.emplace_back();
    report.position = m;
    const dump::ModuleEntry& entry = model.modules()[static_cast<size_t>(m)];
    report.module = dump::TitleOf(entry);
    Reporter reporter(*module, *table, max_holders, report);
    if (table->source == dump::BufferSource::kNone) {
      reporter.HoldersOfModule();
      report.notes.emplace_back(
          "no buffer assignment: these are the largest values of the entry computation, and do not "
          "live all at once (XLA writes it with --xla_dump_to)");
    } else {
      reporter.Totals();
      const HeapSimulation heap(*table, entry.device);
      if (advise) report.simulated_bytes = heap.Bytes().value_or(-1);
      reporter.HoldersOfTable();
      if (!table->has_values()) {
        report.notes.emplace_back("the dump has the total alone (add --xla_dump_hlo_as_proto)");
      } else if (table->live_peak_bytes < 0) {
        report.notes.emplace_back("no live ranges: these values do not live all at once");
      }
      // Only a schedule says what is read last.
      if (advise && module->header().is_scheduled) {
        reporter.AdviseDonations();
        AdviseOnValues(*module, *table, heap, report);
        if (report.simulated_bytes >= 0 && report.simulated_bytes != report.temporary_bytes)
          report.notes.push_back(fmt::format(
              "our layout of the temporaries takes {} bytes, XLA's {}: predictions may be off by "
              "as much",
              report.simulated_bytes, report.temporary_bytes));
      }
    }
    for (const std::string& warning : table->warnings) report.notes.push_back(warning);
  }
  return reports;
}

}  // namespace hloscope::analysis
