#include "viewer/facts/answer_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/counted.h"
#include "core/graph/count_text.h"
#include "viewer/facts/memory/memory_plan.h"
#include "viewer/facts/missing_files.h"
#include "viewer/model/number_text.h"

namespace hloscope::viewer {
namespace {

// After an answer of "none": what was not inspected.
std::string LeftOutText(const DumpFacts& facts) {
  int64_t unknown = facts.left_out;
  for (const auto& one : facts.modules) unknown += one != nullptr && !one->compiled ? 1 : 0;
  if (unknown == 0) return {};
  return fmt::format("; unknown for {} of {}", CountText(unknown),
                     graph::CountedText(facts.modules.size(), "module"));
}

bool AnyCompiled(const DumpFacts& facts) {
  return std::ranges::any_of(facts.modules,
                             [](const auto& one) { return one != nullptr && one->compiled; });
}

// Modules and instructions of which something holds.
struct Spread {
  int64_t modules = 0, instructions = 0;
};
Spread SpreadOf(const DumpFacts& facts, int64_t ModuleFacts::* count) {
  Spread spread;
  for (const auto& one : facts.modules) {
    if (one == nullptr || (*one).*count == 0) continue;
    ++spread.modules;
    spread.instructions += (*one).*count;
  }
  return spread;
}

}  // namespace

Answered Known(std::string text, Selection selection, std::string_view view) {
  return std::make_shared<const Answer>(Answer{
      .text = std::move(text), .selection = std::move(selection), .view = view, .is_known = true});
}
Answered Unknown(std::string text, std::string_view view) {
  return std::make_shared<const Answer>(
      Answer{.text = std::move(text), .selection = {}, .view = view, .is_known = false});
}

std::string Named(std::string_view name) { return std::string(name.substr(0, 80)); }

std::string ReadErrorText(const Error& error) { return "not readable: " + error.ToString(); }

std::string InModule(const dump::DumpModel& dump, int32_t module) {
  return dump.modules().size() < 2 ? std::string() : "in " + ModuleTitle(dump, module) + ": ";
}

Answered HostAnswer(const dump::DumpModel& dump, const DumpFacts& facts,
                    const std::string& outside) {
  if (!AnyCompiled(facts)) return Unknown("unknown: no optimized module in the dump", "home");
  const int32_t most = MostOf(facts, [](const ModuleFacts& one) {
    return std::pair(one.fallbacks.empty() ? -2 : one.fallbacks.front().bytes, one.fallback_count);
  });
  const ModuleFacts& there = *facts.modules[static_cast<size_t>(most)];
  if (there.fallbacks.empty()) {
    const bool is_one = facts.modules.size() == 1;
    return Known((outside.empty() ? "no host fallback: every instruction runs on the device"
                                  : fmt::format("no instruction of {}, but {}",
                                                is_one ? "this module" : "any module", outside)) +
                     LeftOutText(facts),
                 {}, "home");
  }
  const ModuleFacts::Fallback& worst = there.fallbacks.front();
  std::string text = InModule(dump, most) + fmt::format("{}: {}", Named(worst.name), worst.reason);
  const Spread spread = SpreadOf(facts, &ModuleFacts::fallback_count);
  if (spread.modules > 1) {
    text = fmt::format("{} in {}; most {}", CountedText(spread.instructions, "instruction"),
                       CountedText(spread.modules, "module"), text);
  } else if (spread.instructions > 1) {
    text = fmt::format("{}; {}", CountedText(spread.instructions, "instruction"), text);
  }
  return Known(text, Selection::OfInstruction(most, dump.FinalStage(most), worst.instruction),
               "selection");
}

Answered TransferAnswer(const dump::DumpModel& dump, const DumpFacts& facts,
                        const std::string& borders) {
  const std::string more = borders.empty() ? "" : "; in TensorFlow: " + borders;
  if (!AnyCompiled(facts))
    return Unknown("unknown: no optimized module in the dump" + more, "home");
  const int32_t most = MostOf(facts, [](const ModuleFacts& one) {
    return one.transfers.empty()
               ? std::pair<int64_t, int64_t>(-2, -2)
               : std::pair(one.transfers.front().total(), one.transfers.front().bytes);
  });
  const ModuleFacts& there = *facts.modules[static_cast<size_t>(most)];
  if (there.transfers.empty())
    return Known((borders.empty() ? "no transfers between host and device"
                                  : "no transfers between host and device inside modules") +
                     LeftOutText(facts) + more,
                 {}, "home");
  const ModuleFacts::Transfer& first = there.transfers.front();
  return Known(
      InModule(dump, most) + fmt::format("{}: {}", Named(first.name), TransferText(first)) + more,
      Selection::OfInstruction(most, dump.FinalStage(most), first.instruction), "home");
}

Answered LargestAnswer(const dump::DumpModel& dump, const DumpFacts& facts) {
  const int32_t most = MostOf(facts, [](const ModuleFacts& one) { return one.instructions; });
  if (most < 0 || facts.modules[static_cast<size_t>(most)]->instructions < 0)
    return Unknown("no readable module", "home");
  const ModuleFacts& there = *facts.modules[static_cast<size_t>(most)];
  std::string text = fmt::format("{}: {}", ModuleTitle(dump, most),
                                 graph::CountedText(there.instructions, "instruction"));
  if (there.memory_bytes >= 0) text += ", " + BytesText(there.memory_bytes) + " of memory";
  if (facts.modules.size() == 1) text += "; the only module";
  if (facts.left_out > 0)
    text += fmt::format("; {} not read", graph::CountedText(facts.left_out, "smaller file"));
  return Known(text, Selection::OfModule(most), "home");
}

Answered PeakAnswer(const dump::BufferTable& table, const std::string& where, int32_t module) {
  if (table.source == dump::BufferSource::kNone)
    return Unknown("no buffer assignment in this dump: --xla_dump_hlo_as_text writes one",
                   "buffers");
  const std::vector<int32_t> live =
      table.live_peak_point >= 0 ? LiveAt(table, table.live_peak_point) : std::vector<int32_t>();
  if (live.empty()) {
    return Unknown(
        where + BytesText(table.total_bytes) + " total; the buffer assignment has no live ranges",
        "buffers");
  }
  const dump::BufferValue& most = table.values[static_cast<size_t>(live.front())];
  const auto point = static_cast<size_t>(table.live_peak_point);
  std::string text = where + fmt::format("{}: {} of {}", Named(most.instruction),
                                         BytesText(most.size), BytesText(table.live_peak_bytes));
  if (point < table.program.size()) text += " live at " + Named(table.program[point]);
  return Known(text, Selection::OfBuffer(module, live.front()), "buffers");
}

Answered SlowestAnswer(const KernelSheet& sheet, const std::string& where, int32_t module) {
  if (!sheet.has_times || sheet.rows.empty() || sheet.rows.front().count == 0)
    return Unknown("the profile has no events of this module", "kernels");
  const KernelRow& row = sheet.rows.front();
  std::string text = where + fmt::format("{}: {}", Named(row.name), TimeShareText(sheet, row));
  Selection selection = Selection::OfEvent(row.longest.index);
  if (module >= 0 && row.instruction.valid())
    selection = Selection::OfInstruction(module, sheet.stage, row.instruction);
  return Known(text, selection, "kernels");
}

Answered PassesAnswer(const PassRanking& ranking, const dump::ModuleEntry& entry, int32_t module) {
  const bool has_passes =
      std::ranges::any_of(entry.stages, [](const auto& stage) { return !stage.pass.empty(); });
  if (!has_passes)
    return Unknown("no passes in this dump: --xla_dump_hlo_pass_re=.* dumps every pass", "passes");
  if (ranking.order.empty())
    return Known("no stage differs from the one before", Selection::OfModule(module), "passes");
  // The module as it was compiled differs from the last pass by what no pass dumped.
  const auto first = std::ranges::find_if(
      ranking.order, [&](int32_t stage) { return IsMadeByPass(entry, stage); });
  if (first == ranking.order.end())
    return Known("no dumped pass changed anything", Selection::OfModule(module), "passes");
  const int32_t most = *first;
  return Known(fmt::format("{}: {}", Named(PassName(entry, most)),
                           CountsText(ranking.counts[static_cast<size_t>(most)])),
               Selection::OfStage(module, most), "passes");
}

Answered MissingAnswer(const dump::DumpModel& dump, int32_t module, const ModuleFacts* facts) {
  std::string text;
  for (const dump::MissingPiece& piece : MissingFor(dump, module, facts)) {
    std::string part = piece.flag.empty() ? piece.what : piece.what + " (" + piece.flag + ")";
    text += (text.empty() ? "" : ", ") + part;
  }
  if (text.empty()) text = NothingMissingText(dump);
  return Known(text, {}, "home");
}

}  // namespace hloscope::viewer
