// What each pass changed: a line each, or one as an aligned diff.
#include <fmt/format.h>

#include <algorithm>

#include "app/commands/info_lineage.h"
#include "app/dump_place.h"
#include "core/analysis/align/lineage.h"
#include "core/analysis/align/pass_changes.h"
#include "core/analysis/align/provenance.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/base/progress/activity.h"
#include "core/dump/dump_model.h"
#include "core/hlo/text/text.h"

namespace hloscope::app {
namespace {

using analysis::ChangeCounts;
using analysis::ChangeKind;
using hlo::InstructionId;

// A stage that can be read, and what changed since the one before.
struct Pass {
  int32_t stage = -1;
  int32_t before = -1;  // -1: the first
  size_t instructions = 0;
  ChangeCounts counts;
};

// The passes of a module, of which two stages are held at a time; stages that cannot be read go to
// `lost`.
std::vector<Pass> ReadPasses(const std::shared_ptr<const dump::DumpModel>& dump, int32_t module,
                             std::vector<std::string>& lost) {
  std::vector<Pass> passes;
  std::shared_ptr<const hlo::Module> last;
  const analysis::Provenance provenance(dump, module);
  const dump::DumpModel& model = *dump;
  const dump::ModuleEntry& entry = model.modules()[static_cast<size_t>(module)];
  auto count = static_cast<int32_t>(entry.stages.size());
  Activity activity("passes of", entry.name, count);
  for (int32_t stage = 0; stage < count; ++stage) {
    activity.Done(stage);
    if (model.ModuleFile(module, stage) < 0) continue;
    Result<std::shared_ptr<const hlo::Module>> now = model.ReadModule(module, stage);
    if (!now) {
      lost.push_back(now.error().ToString());
      continue;
    }
    Pass pass{.stage = stage,
              .before = passes.empty() ? -1 : passes.back().stage,
              .instructions = (*now)->instructions().size(),
              .counts = {}};
    if (last != nullptr) {
      const analysis::Alignment links =
          provenance.lineage().Between(pass.before, *last, stage, **now);
      pass.counts = analysis::FindChanges(*last, **now, links).counts;
    }
    passes.push_back(pass);
    last = *now;
  }
  for (std::string& note : provenance.notes()) lost.push_back(std::move(note));
  if (!entry.several_runs.empty()) lost.push_back(entry.several_runs);
  return passes;
}

std::string PassName(const dump::StageEntry& stage) {
  if (stage.pass.empty()) return stage.name;
  std::string number = stage.name.substr(0, stage.name.find('.'));
  return fmt::format("{} {}: {}", number, stage.pipeline, stage.pass);
}

std::string Line(const dump::StageEntry& stage, const Pass& pass, size_t width) {
  std::string out = FormatText("  {:<{}} {:>8}", PassName(stage), width, pass.instructions);
  if (pass.before < 0) return out + "\n";
  const ChangeCounts& c = pass.counts;
  if (!c.any()) return out + "  unchanged\n";
  for (auto [sign, number] :
       {std::pair("+", c.added), std::pair("-", c.removed), std::pair("~", c.rewritten),
        std::pair(">", c.moved), std::pair("=", c.renamed)}) {
    if (number != 0) out += FormatText("  {}{}", sign, number);
  }
  return out + "\n";
}

void WriteCounts(JsonWriter& json, const ChangeCounts& c) {
  json.Field("unchanged", c.unchanged).Field("added", c.added).Field("removed", c.removed);
  json.Field("rewritten", c.rewritten).Field("moved", c.moved).Field("renamed", c.renamed);
  json.Field("computations_added", c.computations_added)
      .Field("computations_removed", c.computations_removed);
}

void WriteModule(JsonWriter& json, const dump::ModuleEntry& entry,
                 const std::vector<Pass>& passes) {
  json.BeginObject().Field("name", entry.name).Field("id", entry.id);
  json.Key("passes").BeginArray();
  for (const Pass& pass : passes) {
    const dump::StageEntry& stage = entry.stages[static_cast<size_t>(pass.stage)];
    json.BeginObject().Field("stage", stage.name).Field("pipeline", stage.pipeline);
    json.Field("pass", stage.pass).Field("instructions", pass.instructions);
    if (pass.before >= 0) WriteCounts(json, pass.counts);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

void WriteLost(JsonWriter& json, const std::vector<std::string>& lost) {
  json.Key("warnings").BeginArray();
  for (const std::string& text : lost) json.Value(text);
  json.EndArray();
}

class DiffWriter {
 public:
  DiffWriter(const hlo::Module& before, const hlo::Module& after)
      : b_(before),
        a_(after),
        print_b_(before, hlo::TextFormat::kElided),
        print_a_(after, hlo::TextFormat::kElided) {}

  std::string Text(const analysis::PassChanges& changes) {
    std::string out;
    size_t folded = 0;  // computations that nothing changed in
    auto say_folded = [&] {
      if (folded != 0) out += FormatText("  … {} unchanged\n", Counted(folded, "computation"));
      folded = 0;
    };
    size_t same = 0;  // instructions; rows of them follow each other where one between them moved
    auto say_same = [&] {
      if (same != 0) out += FormatText("    … {} unchanged\n", same);
      same = 0;
    };
    for (const analysis::DiffRow& row : changes.rows) {
      if (IsWholeComputation(row)) {
        say_same();
        ++folded;
        continue;
      }
      say_folded();
      const std::string name = ComputationOf(row);
      if (row.kind != ChangeKind::kUnchanged || name != computation_) say_same();
      if (name != computation_) out += FormatText("  {}\n", name);
      computation_ = name;
      switch (row.kind) {
        case ChangeKind::kUnchanged:
          same += row.count;
          break;
        case ChangeKind::kAdded:
          out += FormatText("  + {}\n", print_a_.Text(row.after));
          break;
        case ChangeKind::kRemoved:
          out += FormatText("  - {}\n", print_b_.Text(row.before));
          break;
        default:
          out += FormatText("  {} {}\n  {} {}\n", Sign(row.kind), print_b_.Text(row.before),
                            Sign(row.kind), print_a_.Text(row.after));
      }
    }
    say_same();
    say_folded();
    return out;
  }

  void Json(const analysis::PassChanges& changes, JsonWriter& json) {
    json.Key("rows").BeginArray();
    for (const analysis::DiffRow& row : changes.rows) {
      json.BeginObject().Field("kind", ToString(row.kind));
      if (row.count > 1) json.Field("count", row.count);
      if (row.before.valid()) Side("before", b_, print_b_, row.before, row.kind, json);
      if (row.after.valid()) Side("after", a_, print_a_, row.after, row.kind, json);
      json.EndObject();
    }
    json.EndArray();
  }

 private:
  static std::string_view Sign(ChangeKind kind) {
    if (kind == ChangeKind::kMoved) return ">";
    return kind == ChangeKind::kRenamed ? "=" : "~";
  }
  bool IsWholeComputation(const analysis::DiffRow& row) const {
    return row.kind == ChangeKind::kUnchanged &&
           row.count == a_[a_[row.after].computation].instruction_count &&
           row.count == b_[b_[row.before].computation].instruction_count;
  }
  static void Side(std::string_view key, const hlo::Module& module,
                   hlo::InstructionPrinter& printer, InstructionId id, ChangeKind kind,
                   JsonWriter& json) {
    json.Key(key).BeginObject().Field("instruction", module.name(id));
    json.Field("computation", module[module[module[id].computation].name]);
    if (kind != ChangeKind::kUnchanged) json.Field("text", printer.Text(id));
    json.EndObject();
  }
  // The name of the computation a row stands in.
  std::string ComputationOf(const analysis::DiffRow& row) const {
    const hlo::Module& module = row.after.valid() ? a_ : b_;
    const InstructionId id = row.after.valid() ? row.after : row.before;
    return std::string(module[module[module[id].computation].name]);
  }

  const hlo::Module& b_;
  const hlo::Module& a_;
  hlo::InstructionPrinter print_b_, print_a_;
  std::string computation_;
};

}  // namespace

Result<std::string> PassesText(const std::string& path, const PassesRequest& request,
                               const Context& context) {
  HLOSCOPE_ASSIGN_OR_RETURN(auto model, dump::DumpModel::Open(path, context.limits));
  int32_t only = -1;
  if (!request.module.empty()) {
    HLOSCOPE_ASSIGN_OR_RETURN(only, FindModule(*model, request.module));
  }
  std::string out;
  JsonWriter json(out);
  if (context.json) json.BeginObject().Field("file", path).Key("modules").BeginArray();
  std::vector<std::string> lost;
  for (size_t m = 0; m < model->modules().size(); ++m) {
    if (only >= 0 && static_cast<size_t>(only) != m) continue;
    const dump::ModuleEntry& entry = model->modules()[m];
    std::vector<Pass> passes = ReadPasses(model, static_cast<int32_t>(m), lost);
    const size_t stages = passes.size();
    if (request.changed_only)
      std::erase_if(passes, [](const Pass& p) { return p.before >= 0 && !p.counts.any(); });
    if (context.json) {
      WriteModule(json, entry, passes);
      continue;
    }
    out += FormatText("{} ({})\n", ModuleTitle(entry), Counted(stages, "stage"));
    const auto stage_of = [&](const Pass& pass) -> const dump::StageEntry& {
      return entry.stages[static_cast<size_t>(pass.stage)];
    };
    size_t width = 64;
    for (const Pass& pass : passes) width = std::max(width, PassName(stage_of(pass)).size());
    for (const Pass& pass : passes) out += Line(stage_of(pass), pass, width);
  }
  if (!context.json) {
    out += "  + added  - removed  ~ rewritten  > moved to another computation  = renamed\n";
    for (const std::string& text : lost) out += FormatText("  warning: {}\n", text);
    return out;
  }
  json.EndArray();
  WriteLost(json, lost);
  json.EndObject();
  return out + "\n";
}

Result<std::string> PassDiffText(const std::string& path, const std::string& stage_name,
                                 const Context& context) {
  HLOSCOPE_ASSIGN_OR_RETURN(auto model, dump::DumpModel::Open(path, context.limits));
  auto [module_name, name] = SplitModule(stage_name);
  HLOSCOPE_ASSIGN_OR_RETURN(int32_t module, FindModule(*model, module_name));
  HLOSCOPE_ASSIGN_OR_RETURN(int32_t stage, FindStage(*model, module, name));
  HLOSCOPE_ASSIGN_OR_RETURN(auto after, model->Module(module, stage));
  const analysis::Provenance provenance(model, module);
  int32_t earlier = provenance.lineage().Neighbour(stage, -1);
  if (earlier < 0) {
    return InputError(
        fmt::format("{}: {} is the first stage, there is nothing to compare it with", path, name));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(auto before, model->Module(module, earlier));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto links, provenance.lineage().Step(earlier));
  analysis::PassChanges changes = analysis::FindChanges(*before, *after, *links);
  const dump::ModuleEntry& entry = model->modules()[static_cast<size_t>(module)];
  const std::string& from = entry.stages[static_cast<size_t>(earlier)].name;
  const std::string& to = entry.stages[static_cast<size_t>(stage)].name;
  DiffWriter writer(*before, *after);
  if (!context.json) {
    return FormatText("{}: from {} to {}\n", ModuleTitle(entry), from, to) + writer.Text(changes);
  }
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("file", path).Field("module", entry.name).Field("id", entry.id);
  json.Field("before", from).Field("after", to);
  WriteCounts(json, changes.counts);
  writer.Json(changes, json);
  json.EndObject();
  return out + "\n";
}

}  // namespace hloscope::app
