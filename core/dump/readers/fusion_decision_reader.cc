// Lines of the form "fused: A into B: WHY".
#include <algorithm>
#include <optional>

#include "core/dump/readers/fusion_decisions.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

constexpr std::string_view kDecisionsOf = "decisions on the instructions of ";
constexpr std::string_view kNoPlan = "No plan, it runs instruction by instruction: ";

std::optional<FusionDecision> DecisionOn(std::string_view line) {
  FusionDecision out;
  line = TrimStart(line);
  out.is_fused = TakeWord(line, "fused: ");
  if (!out.is_fused && !TakeWord(line, "not fused: ")) return std::nullopt;
  constexpr std::string_view kInto = " into ", kWhy = ": ";
  const size_t into = line.find(kInto);
  const size_t why = into == std::string_view::npos ? into : line.find(kWhy, into);
  if (why == std::string_view::npos) return std::nullopt;
  out.producer = line.substr(0, into);
  out.consumer = line.substr(into + kInto.size(), why - into - kInto.size());
  out.reason = line.substr(why + kWhy.size());
  return out;
}

}  // namespace

FusionDecisions ReadFusionDecisions(std::string_view text) {
  FusionDecisions out;
  LineReader reader(text);
  bool is_among_decisions = false;
  for (std::string_view line; reader.Next(line);) {
    if (TakeWord(line, kNoPlan)) {
      out.why_no_plan = line;
    } else if (!is_among_decisions && TakeWord(line, kDecisionsOf)) {
      out.stage = line;
      is_among_decisions = true;
    } else if (is_among_decisions && !Trim(line).empty()) {
      std::optional<FusionDecision> decision = DecisionOn(line);
      if (!decision) {
        ++out.unread_lines;
        continue;
      }
      decision->line = reader.number();
      out.decisions.push_back(*std::move(decision));
    }
  }
  return out;
}

}  // namespace hloscope::dump
