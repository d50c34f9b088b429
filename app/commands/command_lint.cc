// `hloscope lint`: known bad patterns of dumps and modules, with place, cost and fix.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/command.h"
#include "app/dump_place.h"
#include "app/fail.h"
#include "app/inputs.h"
#include "app/output.h"
#include "core/analysis/lint/lint.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/base/parse_json.h"
#include "core/dump/dump_model.h"

namespace hloscope::app {
namespace {

using analysis::LintFinding;
using analysis::LintRule;
using analysis::LintSeverity;

struct Place {
  std::string file, module, stage;
};

// What stays the same when a program is compiled again: not names of instructions where a line of
// the program is known, nor numbers of modules.
using Known = std::map<std::string, int64_t>;  // how often

std::string KeyOf(std::string_view rule, std::string_view module, std::string_view source,
                  std::string_view instruction) {
  const size_t dot = module.starts_with("module_") ? module.find('.') : module.npos;
  if (dot != module.npos) module.remove_prefix(dot + 1);
  return fmt::format("{}\n{}\n{}", rule, module, source.empty() ? instruction : source);
}

class LintCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {{.name = "paths",
             .target = &paths_,
             .help = "dump directories or modules; - is standard input",
             .value = "PATH"},
            {.name = "--fail-on",
             .target = &fail_on_,
             .help = "exit status 1 if a finding has this severity or a higher one",
             .value = "SEVERITY",
             .choices = {"info", "warning", "error"}},
            {.name = "--baseline",
             .target = &baseline_,
             .help = "leave out the findings in this file, which an earlier `lint --json` printed",
             .value = "FILE"},
            {.name = "--rules", .target = &rules_, .help = "list the rules instead"}};
  }

  int Run(const Context& context) override {
    if (rules_) return Rules(context);
    if (paths_.empty())
      return Fail(InputKeys(), InputError("PATH is missing", "name a dump or a module").error(),
                  context);
    if (!baseline_.empty()) {
      if (Status read = ReadBaseline(context.limits); !read)
        return Fail(baseline_, read.error(), context);
    }
    int status = kGood;
    for (const std::string& path : paths_) status = Worse(status, Path(path, context));
    if (!context.json && checked_ > 0) Summary();
    return status;
  }

 private:
  static int Rules(const Context& context) {
    for (const LintRule& rule : analysis::LintRules()) {
      std::string out;
      if (context.json) {
        JsonWriter json(out);
        json.BeginObject().Field("rule", rule.name).Field("severity", ToString(rule.severity));
        json.Field("pattern", rule.pattern).Field("fix", rule.fix).EndObject();
        WriteOut(out + "\n");
      } else {
        PrintOut(FormatText("{} ({}): {}\n  fix: {}\n", rule.name, ToString(rule.severity),
                            rule.pattern, rule.fix));
      }
    }
    return kGood;
  }

  Status ReadBaseline(const Limits& limits) {
    HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(baseline_, limits));
    std::string_view rest = file.bytes();
    for (uint32_t line = 1; !rest.empty(); ++line) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view text = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (text.empty()) continue;
      const auto read = ParseJson(text, limits);
      auto field = [&](const char* key) {
        if (!read || !read->is_object()) return std::string();
        const auto at = read->find(key);
        return at != read->end() && at->is_string() ? at->get<std::string>() : std::string();
      };
      // A file that could not be read then.
      if (read && read->is_object() && read->contains("error") && field("rule").empty()) continue;
      if (field("rule").empty()) {
        auto error = InputError("not a finding: expected a line of `lint --json`",
                                "hloscope lint --json PATH > FILE writes a baseline");
        error.error().place = {baseline_, line, 0};
        return error;
      }
      const auto places = read->find("places");
      const int64_t count = places != read->end() && places->is_number_integer()
                                ? std::max<int64_t>(places->get<int64_t>(), 1)
                                : 1;
      known_[KeyOf(field("rule"), field("module"), field("source"), field("instruction"))] += count;
    }
    return {};
  }

  int Path(const std::string& path, const Context& context) {
    const auto model = dump::DumpModel::Open(path, context.limits);
    if (!model) return Fail(path, model.error(), context);
    if ((*model)->modules().empty())
      return Fail(
          path,
          InputError(path + ": no module to look at", HintWithoutModules(path, **model)).error(),
          context);
    int status = kGood;
    std::vector<Error> without_hlo;
    for (size_t m = 0; m < (*model)->modules().size(); ++m) {
      const auto module = static_cast<int32_t>(m);
      const int32_t last = (*model)->FinalStage(module);
      if (last >= 0) {
        status = Worse(status, Module(path, **model, module, last, context));
      } else {
        without_hlo.push_back((*model)->Module(module, last).error());
      }
    }
    // A dump may carry the programs beside their modules; without any module nothing was checked.
    const bool is_all = without_hlo.size() == (*model)->modules().size();
    for (const Error& error : without_hlo) {
      if (is_all) status = Worse(status, Fail(path, error, context));
      if (!is_all) PrintError("note: not checked: " + error.ToString());
    }
    for (size_t k = 0; k < (*model)->files().size(); ++k) {
      if ((*model)->files()[k].role != dump::FileRole::kRunLog) continue;
      const auto found = (*model)->ReadFile(static_cast<int32_t>(k), analysis::LintLog);
      if (found)
        status = Worse(status, Report({path, "", (*model)->files()[k].path}, *found, context));
    }
    return status;
  }

  // The module as it was given, and the compiled one where that is another.
  int Module(const std::string& path, const dump::DumpModel& model, int32_t module, int32_t last,
             const Context& context) {
    const dump::ModuleEntry& entry = model.modules()[static_cast<size_t>(module)];
    int32_t first = 0;
    while (first < last && model.ModuleFile(module, first) < 0) ++first;
    const auto compiled = model.Module(module, last);
    if (!compiled) return Fail(path, compiled.error(), context);
    const bool has_compiled = first < last && analysis::IsCompiled(**compiled);
    int status = kGood;
    if (has_compiled) {
      const auto given = model.Module(module, first);
      if (!given) return Fail(path, given.error(), context);
      if (!analysis::IsCompiled(**given))
        status =
            Report(PlaceOf(path, entry, first), analysis::Lint(**given, compiled->get()), context);
    }
    return Worse(status, Report(PlaceOf(path, entry, last), analysis::Lint(**compiled), context));
  }

  static Place PlaceOf(const std::string& path, const dump::ModuleEntry& entry, int32_t stage) {
    return {path, ModuleTitle(entry), entry.stages[static_cast<size_t>(stage)].name};
  }

  int Report(const Place& place, std::vector<LintFinding> findings, const Context& context) {
    ++checked_;
    int status = kGood;
    const auto limit = fail_on_.empty() ? std::nullopt : analysis::LintSeverityNamed(fail_on_);
    for (const LintFinding& finding : findings) {
      const LintRule& rule = RuleOf(finding.kind);
      const auto at =
          known_.find(KeyOf(rule.name, place.module, finding.source, finding.instruction));
      if (at != known_.end() && at->second >= finding.places) {
        at->second -= finding.places;
        ++suppressed_;
        continue;
      }
      ++counts_[static_cast<size_t>(rule.severity)];
      if (limit && rule.severity >= *limit) status = kDiffers;
      context.json ? WriteOut(Json(place, finding, rule)) : PrintOut(Text(place, finding, rule));
    }
    return status;
  }

  static std::string Text(const Place& place, const LintFinding& finding, const LintRule& rule) {
    std::string out =
        FormatText("{}{}: {} {}", place.file, place.module.empty() ? "" : " " + place.module,
                   ToString(rule.severity), rule.name);
    if (!finding.instruction.empty()) out += FormatText(": {}", finding.instruction);
    if (!finding.source.empty()) out += FormatText(" at {}", finding.source);
    if (finding.places > 1)
      out += FormatText(" and {} of this line", Counted(finding.places - 1, "more", "more"));
    return out + FormatText("\n  {}; {}{}\n  fix: {}\n", rule.pattern, finding.cost,
                            finding.places > 1 ? " at the first" : "", FixOf(finding));
  }

  static std::string Json(const Place& place, const LintFinding& finding, const LintRule& rule) {
    std::string out;
    JsonWriter json(out);
    json.BeginObject().Field("file", place.file).Field("rule", rule.name);
    json.Field("severity", ToString(rule.severity)).Field("module", place.module);
    json.Field("stage", place.stage);
    for (const auto& [key, text] :
         {std::pair("instruction", &finding.instruction), std::pair("source", &finding.source)}) {
      json.Key(key);
      text->empty() ? json.Null() : json.Value(*text);
    }
    json.Field("cost", finding.cost).Field("cost_bytes", finding.cost_bytes);
    json.Field("places", finding.places).Field("pattern", rule.pattern);
    json.Field("fix", FixOf(finding)).EndObject();
    return out + "\n";
  }

  void Summary() const {
    std::string out = FormatText("{}, {}, {}", Counted(counts_[2], "error"),
                                 Counted(counts_[1], "warning"), Counted(counts_[0], "note"));
    if (suppressed_ != 0) out += FormatText("; {} in the baseline", suppressed_);
    PrintOut(out + "\n");
  }

  std::vector<std::string> paths_;
  std::string fail_on_, baseline_;
  bool rules_ = false;
  Known known_;
  int64_t counts_[3] = {}, suppressed_ = 0;
  int64_t checked_ = 0;  // modules and logs; where there were none, nothing is found good
};

}  // namespace

std::unique_ptr<Command> MakeLintCommand() { return std::make_unique<LintCommand>(); }

}  // namespace hloscope::app
