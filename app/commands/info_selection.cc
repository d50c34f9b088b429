// One instruction of a dump at every level, and back from kernels, thunks, buffers and lines.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "app/commands/info_lineage.h"
#include "app/dump_place.h"
#include "app/name_hint.h"
#include "app/reports/code_lines_report.h"
#include "app/reports/kernel_report.h"
#include "core/analysis/align/fusion_facts.h"
#include "core/analysis/align/provenance.h"
#include "core/analysis/place/placement.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/dump/dump_model.h"
#include "core/graph/computed_by.h"
#include "core/hlo/analysis/find_instruction.h"
#include "core/hlo/text/text.h"

namespace hloscope::app {
namespace {

using analysis::Chain;
using analysis::InstructionFacts;
using analysis::LineageStep;
using hlo::InstructionId;
using hlo::Module;

std::string ComputationName(const Module& module, InstructionId id) {
  return std::string(module[module[module[id].computation].name]);
}

std::string_view HowText(analysis::SourceHow how) {
  switch (how) {
    case analysis::SourceHow::kOwn:
      return "own metadata";
    case analysis::SourceHow::kAncestor:
      return "from an ancestor";
    case analysis::SourceHow::kCaller:
      return "from its caller";
    case analysis::SourceHow::kUser:
      return "from a user";
    case analysis::SourceHow::kNone:
      break;
  }
  return "";
}

class SelectionWriter {
 public:
  SelectionWriter(const analysis::Provenance& provenance, const std::string& path)
      : provenance_(provenance),
        entry_(provenance.model().modules()[static_cast<size_t>(provenance.module())]),
        path_(path) {
    const int32_t last = provenance.final_stage();
    if (last < 0) return;
    if (auto final = provenance.lineage().Module(last)) {
      final_ = *final;
      map_ = graph::MapKernels(
          *final_, analysis::PlacementIn(provenance.model(), provenance.module(), *final_));
    }
  }

  Result<std::string> Instruction(int32_t stage, InstructionId id, bool as_json) const {
    HLOSCOPE_ASSIGN_OR_RETURN(InstructionFacts facts, provenance_.FactsOf(stage, id));
    HLOSCOPE_ASSIGN_OR_RETURN(auto module, provenance_.lineage().Module(stage));
    analysis::FusionFacts fusion;
    if (auto read = analysis::FusionFactsOf(provenance_, stage, id)) {
      fusion = *std::move(read);
    } else {
      facts.notes.push_back(read.error().ToString());
    }
    return as_json ? Json(*module, stage, id, facts, fusion)
                   : Text(*module, stage, id, facts, fusion);
  }

  Result<std::string> List(int32_t stage, const std::string& what,
                           const std::vector<InstructionId>& ids, bool as_json) const {
    HLOSCOPE_ASSIGN_OR_RETURN(auto module, provenance_.lineage().Module(stage));
    std::string out;
    if (!as_json) {
      out = FormatText("{}, {}: {} of {}\n", ModuleTitle(entry_), Stage(stage),
                       Counted(ids.size(), "instruction"), what);
      hlo::InstructionPrinter printer(*module, hlo::TextFormat::kElided);
      for (InstructionId id : ids) {
        out += FormatText("  {}: {}\n", ComputationName(*module, id), printer.Text(id));
      }
      return out;
    }
    JsonWriter json(out);
    json.BeginObject().Field("file", path_).Field("module", entry_.name).Field("id", entry_.id);
    json.Field("stage", Stage(stage)).Field("selection", what).Key("instructions").BeginArray();
    for (InstructionId id : ids) {
      json.BeginObject().Field("instruction", module->name(id));
      json.Field("computation", ComputationName(*module, id)).EndObject();
    }
    json.EndArray().EndObject();
    return out + "\n";
  }

 private:
  const std::string& Stage(int32_t stage) const {
    return entry_.stages[static_cast<size_t>(stage)].name;
  }

  std::string Text(const Module& module, int32_t stage, InstructionId id,
                   const InstructionFacts& facts, const analysis::FusionFacts& fusion) const {
    std::string out = FormatText("{}, {}\n  ", ModuleTitle(entry_), Stage(stage));
    hlo::PrintText(module, id, hlo::TextFormat::kElided, out);
    out += FormatText("\n  in       {}", ComputationName(module, id));
    if (facts.fusion.valid()) out += FormatText(", fusion {}", module.name(facts.fusion));
    if (facts.source.line.line != 0) {
      out +=
          FormatText("\n  line     {}, {}", ToString(facts.source.line), HowText(facts.source.how));
    }
    out += "\n" + CodeText(facts);
    for (const dump::FusionDecision& d : fusion.decisions) {
      out += FormatText("  {:<9}{} into {}: {}\n", d.is_fused ? "fused" : "apart", d.producer,
                        d.consumer, d.reason);
    }
    out += facts.ancestors.steps.size() > 1 ? ChainText("ancestors", facts.ancestors)
           : facts.ancestors.unbroken       ? "  ancestors: none, this is the first stage\n"
                                            : "  ancestors: none in earlier stages\n";
    out += facts.descendants.steps.size() > 1 ? ChainText("became", facts.descendants)
           : facts.descendants.unbroken       ? "  became: nothing, this is the last stage\n"
                                              : "  became: nothing in later stages\n";
    for (const std::string& note : facts.notes) out += FormatText("  warning: {}\n", note);
    return out;
  }

  graph::KernelUses UsesOf(const InstructionFacts& facts) const {
    if (final_ == nullptr) return {};
    std::vector<InstructionId> compiled;
    for (const LineageStep& s : facts.compiled) compiled.push_back(s.instruction);
    return graph::UsesOf(*final_, map_, compiled);
  }

  std::string UsesText(std::string_view title, const std::vector<uint32_t>& kernels) const {
    std::string out;
    for (const uint32_t k : kernels) {
      const graph::KernelMap::Kernel& kernel = map_.kernels[k];
      out += FormatText("  {:<9}{}, {}\n", title, final_->name(kernel.instruction),
                        Describe(kernel.place));
    }
    return out;
  }

  std::string CodeText(const InstructionFacts& facts) const {
    const graph::KernelUses uses = UsesOf(facts);
    std::string out = UsesText("computed", uses.computed_by) + UsesText("read", uses.read_by);
    const dump::DumpModel& model = provenance_.model();
    auto kernels = model.Kernels(provenance_.module());
    for (int32_t k : facts.kernels) {
      const dump::Kernel& kernel = (*kernels)->kernels[static_cast<size_t>(k)];
      out += FormatText("  kernel   {}{}{}\n", kernel.name, Place(kernel.ptx), Place(kernel.llvm));
      out += CodeLinesText(model, LinesOf(kernel, facts));
    }
    auto thunks = model.Thunks(provenance_.module());
    for (int32_t k : facts.thunks) {
      const dump::Thunk& thunk = (*thunks)->thunks[static_cast<size_t>(k)];
      out += FormatText("  thunk    {:03} {} {}\n", thunk.id, thunk.kind, thunk.description);
    }
    auto buffers = model.Buffers(provenance_.module());
    for (int32_t k : facts.buffers) {
      const dump::BufferValue& value = (*buffers)->values[static_cast<size_t>(k)];
      out += FormatText("  buffer   {} of allocation {}, offset {}, {}\n", value.id,
                        (*buffers)->allocations[static_cast<size_t>(value.allocation)].index,
                        value.offset, Counted(value.size, "byte"));
    }
    return out;
  }
  // Of what the instruction became, where that is a part of a fusion: all of the kernel is a whole
  // one's.
  std::vector<analysis::InstructionCode> LinesOf(const dump::Kernel& kernel,
                                                 const InstructionFacts& facts) const {
    auto final = provenance_.lineage().Module(provenance_.final_stage());
    if (!final || facts.compiled.empty()) return {};
    InstructionId id = facts.compiled.front().instruction;
    if (analysis::KernelInstructions(**final)[id.index] == id) return {};
    return analysis::FindInstructionCode(provenance_.model(), kernel, **final, id);
  }

  std::string Place(const dump::TextRange& range) const {
    if (range.file < 0) return "";
    return FormatText(", {}:{}", provenance_.model().files()[static_cast<size_t>(range.file)].path,
                      range.first_line);
  }

  // The stages at which something changed; runs of the same are one line.
  std::string ChainText(std::string_view title, const Chain& chain) const {
    std::string out =
        FormatText("  {} ({}, {}):\n", title, Reached(chain),
                   chain.unbroken ? "unbroken" : "ends at " + Stage(chain.last_stage));
    std::vector<std::string> last_names = {NameOf(chain.steps.front())};
    int32_t silent = 0;
    for (size_t begin = 1, end = 1; begin < chain.steps.size(); begin = end) {
      bool same = true;
      std::vector<std::string> names;
      for (; end < chain.steps.size() && chain.steps[end].stage == chain.steps[begin].stage;
           ++end) {
        names.push_back(NameOf(chain.steps[end]));
        same &= chain.steps[end].reason == analysis::LinkReason::kSame;
      }
      if (same && names == last_names) {
        ++silent;
        continue;
      }
      out += Silent(silent);
      silent = 0;
      for (size_t k = begin; k < end; ++k) {
        const LineageStep& s = chain.steps[k];
        out += FormatText("    {:<40} {:.2f}  {} ({})\n", names[k - begin], s.confidence,
                          Stage(s.stage), Describe(s.reason));
      }
      last_names = std::move(names);
    }
    return out + Silent(silent);
  }
  static std::string Silent(int32_t stages) {
    if (stages == 0) return "";
    return FormatText("    unchanged in {}\n", Counted(stages, "stage"));
  }
  std::string Reached(const Chain& chain) const {
    int32_t stages = 0, last = chain.steps.front().stage;
    for (const LineageStep& s : chain.steps) {
      stages += s.stage != last;
      last = s.stage;
    }
    return Counted(stages, "stage");
  }
  std::string NameOf(const LineageStep& s) const {
    auto module = provenance_.lineage().Module(s.stage);
    return module ? std::string((*module)->name(s.instruction)) : std::string();
  }

  std::string Json(const Module& module, int32_t stage, InstructionId id,
                   const InstructionFacts& facts, const analysis::FusionFacts& fusion) const {
    std::string out;
    JsonWriter json(out);
    json.BeginObject().Field("file", path_).Field("module", entry_.name).Field("id", entry_.id);
    json.Field("stage", Stage(stage)).Field("instruction", module.name(id));
    json.Field("computation", ComputationName(module, id));
    json.Field("opcode", hlo::ToString(module[id].opcode)).Key("fusion");
    facts.fusion.valid() ? json.Value(module.name(facts.fusion)) : json.Null();
    json.Key("source");
    WriteSource(facts.source, json);
    const graph::KernelUses uses = UsesOf(facts);
    WriteUses("computed_by", uses.computed_by, json);
    WriteUses("read_by", uses.read_by, json);
    WriteCode(facts, json);
    WriteDecisions(fusion, json);
    WriteChain("ancestors", facts.ancestors, json);
    WriteChain("descendants", facts.descendants, json);
    json.Key("warnings").BeginArray();
    for (const std::string& note : facts.notes) json.Value(note);
    json.EndArray().EndObject();
    return out + "\n";
  }

  void WriteSource(const analysis::FoundSource& source, JsonWriter& json) const {
    if (source.line.line == 0) {
      json.Null();
      return;
    }
    json.BeginObject().Field("file", source.line.file).Field("line", source.line.line);
    json.Field("function", source.line.function).Field("how", KeyOf(source.how));
    json.Field("stage", Stage(source.stage)).Field("confidence", source.confidence).EndObject();
  }

  void WriteUses(std::string_view key, const std::vector<uint32_t>& kernels,
                 JsonWriter& json) const {
    json.Key(key).BeginArray();
    for (const uint32_t k : kernels) {
      const graph::KernelMap::Kernel& kernel = map_.kernels[k];
      json.BeginObject().Field("name", final_->name(kernel.instruction));
      json.Field("place", KeyOf(kernel.place)).EndObject();
    }
    json.EndArray();
  }

  void WriteCode(const InstructionFacts& facts, JsonWriter& json) const {
    const dump::DumpModel& model = provenance_.model();
    auto kernels = model.Kernels(provenance_.module());
    json.Key("kernels").BeginArray();
    for (int32_t k : facts.kernels) {
      const dump::Kernel& kernel = (*kernels)->kernels[static_cast<size_t>(k)];
      json.BeginObject().Field("name", kernel.name);
      WriteRange("ptx", kernel.ptx, json);
      WriteRange("llvm", kernel.llvm, json);
      WriteLaunch(kernel, json);
      WriteCodeLines(model, LinesOf(kernel, facts), json);
      json.EndObject();
    }
    json.EndArray().Key("thunks").BeginArray();
    auto thunks = model.Thunks(provenance_.module());
    for (int32_t k : facts.thunks) {
      const dump::Thunk& thunk = (*thunks)->thunks[static_cast<size_t>(k)];
      json.BeginObject().Field("id", thunk.id).Field("kind", thunk.kind).EndObject();
    }
    json.EndArray().Key("buffers").BeginArray();
    auto buffers = model.Buffers(provenance_.module());
    for (int32_t k : facts.buffers) {
      const dump::BufferValue& value = (*buffers)->values[static_cast<size_t>(k)];
      json.BeginObject()
          .Field("id", value.id)
          .Field("allocation",
                 (*buffers)->allocations[static_cast<size_t>(value.allocation)].index);
      json.Field("offset", value.offset).Field("size", value.size).EndObject();
    }
    json.EndArray();
  }

  static void WriteDecisions(const analysis::FusionFacts& fusion, JsonWriter& json) {
    json.Key("fusion_decisions").BeginArray();
    for (const dump::FusionDecision& d : fusion.decisions) {
      json.BeginObject().Field("producer", d.producer).Field("consumer", d.consumer);
      json.Field("fused", d.is_fused).Field("reason", d.reason).EndObject();
    }
    json.EndArray();
  }

  void WriteRange(std::string_view key, const dump::TextRange& range, JsonWriter& json) const {
    json.Key(key);
    if (range.file < 0) {
      json.Null();
      return;
    }
    json.BeginObject();
    json.Field("file", provenance_.model().files()[static_cast<size_t>(range.file)].path);
    json.Field("first_line", range.first_line).Field("last_line", range.last_line).EndObject();
  }

  void WriteChain(const std::string& key, const Chain& chain, JsonWriter& json) const {
    json.Field(key + "_unbroken", chain.unbroken).Key(key).BeginArray();
    for (const LineageStep& s : chain.steps) {
      if (s.from < 0) continue;
      auto module = provenance_.lineage().Module(s.stage);
      if (!module) continue;
      json.BeginObject().Field("stage", Stage(s.stage));
      json.Field("instruction", (*module)->name(s.instruction));
      json.Field("computation", ComputationName(**module, s.instruction));
      json.Field("reason", KeyOf(s.reason)).Field("confidence", s.link_confidence);
      json.Field("chain_confidence", s.confidence).EndObject();
    }
    json.EndArray();
  }

  const analysis::Provenance& provenance_;
  const dump::ModuleEntry& entry_;
  const std::string& path_;
  std::shared_ptr<const Module> final_;  // null: none was compiled
  graph::KernelMap map_;                 // of it
};

constexpr std::string_view kSearches = "`hloscope find` searches names";

std::string SimilarOrSearch(const hlo::Module& module, std::string_view name) {
  const std::string hint = hlo::SimilarInstruction(module, name);
  return hint.empty() ? std::string(kSearches) : hint;
}

// The last stage that has an instruction of that name.
Result<std::pair<int32_t, InstructionId>> FindInstruction(const analysis::Provenance& provenance,
                                                          const std::string& path,
                                                          std::string_view name) {
  for (int32_t stage = provenance.lineage().stage_count(); stage-- > 0;) {
    if (provenance.model().ModuleFile(provenance.module(), stage) < 0) continue;
    auto module = provenance.lineage().Module(stage);
    if (!module) continue;
    InstructionId id = hlo::FindInstruction(**module, name);
    if (id.valid()) return std::pair(stage, id);
  }
  const int32_t last = provenance.final_stage();
  const auto module = provenance.lineage().Module(std::max(last, 0));
  return InputError(fmt::format("{}: no stage has an instruction {}", path, name),
                    module ? SimilarOrSearch(**module, name) : std::string(kSearches));
}

// The position of the element with that number, or with that name.
template <typename List, typename Fits>
int32_t Position(const List& list, Fits fits) {
  auto at = std::ranges::find_if(list, fits);
  return at == list.end() ? -1 : static_cast<int32_t>(at - list.begin());
}

// That member of each.
template <typename List, typename Member>
std::vector<std::string> TextsOf(const List& list, Member member) {
  std::vector<std::string> texts;
  for (const auto& element : list) texts.push_back(fmt::format("{}", element.*member));
  return texts;
}

std::optional<int64_t> Number(std::string_view text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

// kernel=NAME, thunk=ID, buffer=ID and line=FILE:LINE.
Result<std::vector<InstructionId>> Members(const analysis::Provenance& provenance, int32_t stage,
                                           std::string_view kind, std::string_view value) {
  const dump::DumpModel& model = provenance.model();
  std::optional<int64_t> number = Number(value);
  auto none = [&](const std::vector<std::string>& names) {
    NameHint hint(value, fmt::format("{}s", kind));
    for (const std::string& name : names) hint.Offer(name);
    return InputError(fmt::format("{}: no {} {} in this module", model.path(), kind, value),
                      hint.Text(kListsMissing));
  };
  if (kind == "kernel") {
    HLOSCOPE_ASSIGN_OR_RETURN(auto table, model.Kernels(provenance.module()));
    int32_t at = Position(table->kernels, [&](const auto& k) { return k.name == value; });
    return at < 0 ? none(TextsOf(table->kernels, &dump::Kernel::name)) : provenance.OfKernel(at);
  }
  if (kind == "thunk") {
    HLOSCOPE_ASSIGN_OR_RETURN(auto table, model.Thunks(provenance.module()));
    int32_t at = Position(table->thunks, [&](const auto& t) { return number && t.id == *number; });
    return at < 0 ? none(TextsOf(table->thunks, &dump::Thunk::id)) : provenance.OfThunk(at);
  }
  if (kind == "buffer") {
    HLOSCOPE_ASSIGN_OR_RETURN(auto table, model.Buffers(provenance.module()));
    int32_t at = Position(table->values, [&](const auto& v) { return number && v.id == *number; });
    return at < 0 ? none(TextsOf(table->values, &dump::BufferValue::id)) : provenance.OfBuffer(at);
  }
  size_t colon = value.rfind(':');
  std::optional<int64_t> line =
      colon == std::string_view::npos ? std::nullopt : Number(value.substr(colon + 1));
  if (kind != "line" || !line) {
    return InputError(
        fmt::format("{}={}: expected kernel=NAME, thunk=ID, buffer=ID or "
                    "line=FILE:LINE",
                    kind, value));
  }
  return provenance.OfLine(stage, value.substr(0, colon), static_cast<int32_t>(*line));
}

}  // namespace

Result<std::string> SelectionText(const std::string& path, const std::string& selection,
                                  const Context& context) {
  HLOSCOPE_ASSIGN_OR_RETURN(auto model, dump::DumpModel::Open(path, context.limits));
  auto [module_name, what] = SplitModule(selection);
  if (what.empty()) {
    return InputError("--select: expected an instruction",
                      "or kernel=NAME, thunk=ID, buffer=ID, line=FILE:LINE");
  }
  std::string stage_name;
  if (size_t at = what.rfind('@'); at != std::string::npos) {
    stage_name = what.substr(at + 1);
    what.resize(at);
  }
  HLOSCOPE_ASSIGN_OR_RETURN(int32_t module, FindModule(*model, module_name));
  analysis::Provenance provenance(model, module);
  SelectionWriter writer(provenance, path);
  int32_t stage = provenance.final_stage();
  if (!stage_name.empty()) {
    HLOSCOPE_ASSIGN_OR_RETURN(stage, FindStage(*model, module, stage_name));
  }
  if (stage < 0) return InputError(path + ": no stage of this module has it");
  if (size_t equals = what.find('='); equals != std::string::npos) {
    HLOSCOPE_ASSIGN_OR_RETURN(
        auto ids, Members(provenance, stage, what.substr(0, equals), what.substr(equals + 1)));
    return writer.List(stage, what, ids, context.json);
  }
  if (stage_name.empty()) {
    HLOSCOPE_ASSIGN_OR_RETURN(auto found, FindInstruction(provenance, path, what));
    return writer.Instruction(found.first, found.second, context.json);
  }
  HLOSCOPE_ASSIGN_OR_RETURN(auto at, provenance.lineage().Module(stage));
  InstructionId id = hlo::FindInstruction(*at, what);
  if (!id.valid()) {
    return InputError(fmt::format("{}: stage {} has no instruction {}", path, stage_name, what),
                      SimilarOrSearch(*at, what));
  }
  return writer.Instruction(stage, id, context.json);
}

}  // namespace hloscope::app
