// `hloscope compare A B --decisions`: the first decision about fusion that differs.
#include <fmt/format.h>

#include <utility>

#include "app/commands/compare_pairs.h"
#include "app/dump_place.h"
#include "app/output.h"
#include "core/analysis/compilation/decisions.h"
#include "core/base/format_text.h"
#include "core/base/json.h"

namespace hloscope::app {
namespace {

using analysis::DecisionComparison;
using analysis::DecisionSide;

struct ComparedDecisions {
  std::string module, module_b;
  DecisionComparison result;
};

std::string DecisionsText(const PairRequest& request, const std::vector<ComparedDecisions>& modules,
                          const std::vector<std::string>& notes) {
  std::string out = FormatText("A is {}, B is {}\n", request.a, request.b);
  for (const auto& [module, module_b, result] : modules) {
    out += FormatText("{}{}: {}, {} decisions in A ({} fused), {} in B ({} fused)\n", module,
                      module_b == module ? "" : " and " + module_b, result.made_by, result.count_a,
                      result.fused_a, result.count_b, result.fused_b);
    if (!result.differs) out += "  the same decisions\n";
    if (result.differs) out += FormatText("  {} the same, then they differ:\n", result.same);
    for (const auto& [name, side] : {std::pair('A', &result.a), std::pair('B', &result.b)}) {
      if (!result.differs) break;
      out += FormatText("    {}: {}", name, side->text);
      if (side->estimate)
        out += FormatText("; {:.3f} us fused, {:.3f} us apart", side->estimate->us_fused,
                          side->estimate->us_unfused);
      if (!side->source.empty()) out += FormatText(" at {}", side->source);
      out += "\n";
    }
    for (const std::string& reason : result.because) out += FormatText("  {}\n", reason);
    for (const std::string& note : result.notes) out += FormatText("  note: {}\n", note);
  }
  for (const std::string& note : notes) out += FormatText("note: {}\n", note);
  return out;
}

void WriteSide(JsonWriter& json, const DecisionSide& side) {
  if (!side.decision) {
    json.Null();
    return;
  }
  json.BeginObject().Field("instruction", side.decision->producer);
  json.Field("operand", side.decision->consumer).Field("fused", side.decision->is_fused());
  json.Field("reason", side.decision->reason).Field("step", side.decision->step);
  json.Field("source", side.source).Field("text", side.text).Key("estimates");
  if (side.estimate) {
    json.BeginObject().Field("us_fused", side.estimate->us_fused);
    json.Field("us_unfused", side.estimate->us_unfused).EndObject();
  } else {
    json.Null();
  }
  json.EndObject();
}

std::string DecisionsJson(const PairRequest& request, const std::vector<ComparedDecisions>& modules,
                          const std::vector<std::string>& notes, bool differs) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("a", request.a).Field("b", request.b);
  json.Field("status", differs ? "differs" : "equal").Key("decisions").BeginArray();
  for (const auto& [module, module_b, result] : modules) {
    json.BeginObject().Field("module", module).Field("module_b", module_b);
    json.Field("made_by", result.made_by).Field("status", result.differs ? "differs" : "equal");
    json.Field("count_a", result.count_a).Field("count_b", result.count_b);
    json.Field("fused_a", result.fused_a).Field("fused_b", result.fused_b);
    json.Field("same", result.same).Key("first");
    if (result.differs) {
      json.BeginObject().Key("a");
      WriteSide(json, result.a);
      json.Key("b");
      WriteSide(json, result.b);
      json.EndObject();
    } else {
      json.Null();
    }
    for (const auto& [key, texts] :
         {std::pair("because", &result.because), std::pair("notes", &result.notes)}) {
      json.Key(key).BeginArray();
      for (const std::string& text : *texts) json.Value(text);
      json.EndArray();
    }
    json.EndObject();
  }
  json.EndArray().Key("notes").BeginArray();
  for (const std::string& note : notes) json.Value(note);
  json.EndArray().EndObject();
  return out + "\n";
}

}  // namespace

Result<int> CompareDecisions(const PairRequest& request, const Context& context) {
  HLOSCOPE_ASSIGN_OR_RETURN(const ModulePairs found, PairModules(request, context));
  std::vector<ComparedDecisions> modules;
  std::vector<std::string> notes;
  for (const std::string& one : found.unpaired) notes.push_back(one + " has no counterpart");
  std::optional<Error> error;
  bool differs = false, has_log = false;
  for (const auto& [a, b] : found.pairs) {
    std::string title = ModuleTitle(found.a->modules()[static_cast<size_t>(a)]);
    std::string title_b = ModuleTitle(found.b->modules()[static_cast<size_t>(b)]);
    const auto of_a = analysis::DecisionsOf(*found.a, a), of_b = analysis::DecisionsOf(*found.b, b);
    if (of_a && of_b && of_a->of_all_modules && of_b->of_all_modules) {
      if (std::exchange(has_log, true)) continue;
      title = title_b = "all modules";
    }
    auto compared = !of_a   ? Result<DecisionComparison>(std::unexpected(of_a.error()))
                    : !of_b ? Result<DecisionComparison>(std::unexpected(of_b.error()))
                            : analysis::CompareDecisions(*of_a, *of_b);
    if (!compared) {
      notes.push_back(fmt::format("{} is not compared: {}", title, compared.error().message));
      if (!error) error = compared.error();
      continue;
    }
    differs = differs || compared->differs;
    modules.push_back({std::move(title), std::move(title_b), *std::move(compared)});
  }
  if (modules.empty() && error) return std::unexpected(*error);
  context.json ? WriteOut(DecisionsJson(request, modules, notes, differs))
               : PrintOut(DecisionsText(request, modules, notes));
  return differs ? kDiffers : kGood;
}

}  // namespace hloscope::app
