// Reads the buffer assignment.
#include "core/analysis/memory/memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/base/checked.h"
#include "core/base/counted.h"
#include "core/hlo/analysis/find_instruction.h"
#include "core/hlo/analysis/source_line.h"
#include "core/hlo/opcode.h"

namespace hloscope::analysis {
namespace {

using dump::BufferTable;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

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
      holder.shape_index = value.shape_index;
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

  void AdviseDonations() {
    MemoryAdvice advice;
    advice.donations = DonationsOf(module_);
    if (advice.donations.empty()) return;
    for (const Donation& donation : advice.donations) {
      advice.saves_bytes = CheckedAdd(advice.saves_bytes, donation.bytes).value_or(INT64_MAX);
    }
    const int64_t growth = GrowthOfTemporaries(module_, table_, advice.donations);
    advice.saves_bytes = CheckedAdd(advice.saves_bytes, -growth).value_or(INT64_MAX);
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

  void Place(InstructionId id, MemoryHolder& holder) const {
    holder.source = hlo::ToString(hlo::SourceLineOf(module_, id));
    holder.opcode = hlo::ToString(module_[id].opcode);
    holder.op_name = hlo::OpNameOf(module_, id);
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
      std::optional<HeapSimulation> heap;
      if (advise) heap.emplace(*module, *table, entry.device);
      if (heap) report.simulated_bytes = heap->Bytes().value_or(-1);
      reporter.HoldersOfTable();
      if (!table->has_values()) {
        report.notes.emplace_back("the dump has the total alone (add --xla_dump_hlo_as_proto)");
      } else if (table->live_peak_bytes < 0) {
        report.notes.emplace_back("no live ranges: these values do not live all at once");
      }
      // Only a schedule says what is read last.
      if (heap && module->header().is_scheduled) {
        reporter.AdviseDonations();
        AdviseOnValues(*module, *table, *heap, report);
        if (report.simulated_bytes >= 0 && report.simulated_bytes != report.temporary_bytes)
          report.notes.push_back(fmt::format(
              "our layout of the temporaries takes {}, XLA's {}: predictions may be off by "
              "as much",
              Counted(report.simulated_bytes, "byte"), report.temporary_bytes));
      }
    }
    for (const std::string& warning : table->warnings) report.notes.push_back(warning);
  }
  return reports;
}

}  // namespace hloscope::analysis
