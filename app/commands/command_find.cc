// `hloscope find`: a pattern in the names, opcodes, metadata and texts of modules, in the names of
// passes, and in the other text files of a dump.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "app/command.h"
#include "app/dump_place.h"
#include "app/fail.h"
#include "app/inputs.h"
#include "app/output.h"
#include "core/base/format_text.h"
#include "core/base/jobs.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/dump/container.h"
#include "core/dump/dump_model.h"
#include "core/hlo/analysis/source_line.h"
#include "core/hlo/text/text.h"

namespace hloscope::app {
namespace {

// A plain text, or with --regex an expression of RE2, which takes time and memory that grow with
// the text alone, whatever the expression.
class Pattern {
 public:
  static Result<Pattern> Make(const std::string& text, bool is_regex, bool ignore_case) {
    Pattern pattern;
    pattern.text_ = text;
    if (!is_regex && !ignore_case) return pattern;
    RE2::Options options(RE2::Quiet);
    options.set_literal(!is_regex);
    options.set_case_sensitive(!ignore_case);
    pattern.regex_ = std::make_unique<const RE2>(text, options);
    if (!pattern.regex_->ok()) {
      return InputError(
          fmt::format("{}: not a regular expression: {}", text, pattern.regex_->error()),
          "the syntax is RE2's, without look-around and references to groups");
    }
    return pattern;
  }
  bool Matches(std::string_view text) const {
    if (regex_ == nullptr) return text.find(text_) != std::string_view::npos;
    return RE2::PartialMatch({text.data(), text.size()}, *regex_);
  }

 private:
  std::string text_;
  std::unique_ptr<const RE2> regex_;
};

struct Match {
  std::string file, computation, instruction, what, text;
  uint32_t line = 0;
};

// A file to search, and its place in its dump; or what was found in the index of a dump.
struct Target {
  std::string path;
  std::string module, stage;
  std::vector<Match> found;
  std::string folder = {};  // empty: the file was named
  bool searched = false;
};

class FindCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {
        {.name = "pattern",
         .target = &pattern_,
         .help = "what to look for",
         .value = "PATTERN",
         .required = true},
        {.name = "paths",
         .target = &paths_,
         .help = "dump directories or files",
         .value = "PATH",
         .required = true},
        {.name = "--regex",
         .target = &regex_,
         .help = "PATTERN is a regular expression (syntax of RE2)"},
        {.name = "--ignore-case", .target = &ignore_case_, .help = "ignore case", .letter = "-i"},
        {.name = "--files-with-matches",
         .target = &names_only_,
         .help = "print only the names of files with matches",
         .letter = "-l",
         .conflicts = {"--count"}},
        {.name = "--count",
         .target = &count_only_,
         .help = "print only how many matches each file has",
         .letter = "-c"},
        {.name = "--stage",
         .target = &stage_,
         .help = "of dumps: search only this stage of each module",
         .value = "STAGE"},
        {.name = "--max",
         .target = &max_,
         .help = "stop after N matches in each file (0: all)",
         .value = "N",
         .min = 0},
    };
  }

  int Run(const Context& context) override {
    Result<Pattern> pattern = Pattern::Make(pattern_, regex_, ignore_case_);
    if (!pattern) return FailEach("file", paths_, pattern.error(), context);
    std::vector<Target> files;
    int status = kGood;
    std::set<std::string> failed;
    for (const std::string& path : paths_) {
      const Status added = AddFiles(path, *pattern, context, files);
      if (added) continue;
      status = Worse(status, Fail(path, added.error(), context));
      failed.insert(path);
    }
    std::vector<int> statuses(files.size(), kGood);
    std::vector<size_t> counts(files.size(), 0);
    OrderedOutput output;
    Progress progress("find", files.size());
    int threads = context.jobs > 0 ? static_cast<int>(context.jobs) : AvailableCpus();
    Status done = ParallelFor(static_cast<int64_t>(files.size()), threads, [&](int64_t i) {
      auto k = static_cast<size_t>(i);
      std::vector<Match> matches = std::move(files[k].found);
      Status searched;
      files[k].searched = !matches.empty();
      if (matches.empty()) searched = Search(files[k], *pattern, context, matches);
      counts[k] = matches.size();
      std::string text = Text(files[k], matches, context);
      if (!searched) {
        const Error error = WithOrder(searched.error(), files[k].path);
        statuses[k] = ExitStatusOf(error);
        PrintError(error);
        if (context.json) text += FailureJson({{"file", files[k].path}}, error);
      }
      output.Put(k, std::move(text));
      progress.Step();
    });
    if (!done) status = Worse(status, Fail(InputKeys(), done.error(), context));
    for (const std::string& path : paths_) {
      if (failed.contains(path) || !stage_.empty()) continue;
      if (!dump::IsFolder(path)) continue;
      const bool searched = std::ranges::any_of(
          files, [&](const Target& it) { return it.folder == path && it.searched; });
      if (!searched) {
        const std::unexpected<Error> nothing = InputError(
            path + ": nothing to search in this folder", "`hloscope info` shows what it contains");
        status = Worse(status, Fail(path, nothing.error(), context));
      }
    }
    size_t total = 0;
    for (size_t k = 0; k < files.size(); ++k) {
      status = Worse(status, statuses[k]);
      total += counts[k];
    }
    return status == kGood && total == 0 ? kDiffers : status;
  }

  std::string Text(const Target& target, const std::vector<Match>& matches,
                   const Context& context) const {
    std::string text;
    if (!names_only_ && !count_only_) {
      for (const Match& match : matches) text += context.json ? Json(target, match) : Line(match);
      return text;
    }
    if (matches.empty()) return text;
    if (!context.json) {
      return count_only_ ? FormatText("{}:{}\n", target.path, matches.size())
                         : FormatText("{}\n", target.path);
    }
    JsonWriter json(text);
    json.BeginObject().Field("file", target.path);
    if (!target.module.empty()) json.Field("module", target.module);
    if (!target.stage.empty()) json.Field("stage", target.stage);
    if (count_only_) json.Field("matches", matches.size());
    json.EndObject();
    return text + "\n";
  }

 private:
  // One file for each stage of a dump (the text where there is one), and its other files.
  Status AddFiles(const std::string& path, const Pattern& pattern, const Context& context,
                  std::vector<Target>& files) const {
    if (!dump::IsFolder(path)) {
      if (!stage_.empty()) return InputError(path + ": a file; --stage is of dumps");
      files.push_back({path, "", "", {}});
      return {};
    }
    HLOSCOPE_ASSIGN_OR_RETURN(const auto model, dump::DumpModel::Open(path, context.limits));
    if (!model->left_out().empty()) PrintError("warning: " + path + ": " + model->left_out());
    if (!stage_.empty()) return AddStage(*model, files);
    Target index{path, "", "", IndexMatches(*model, pattern), path};
    if (!index.found.empty()) files.push_back(std::move(index));
    for (size_t k = 0; k < model->files().size(); ++k) {
      auto file = static_cast<int32_t>(k);
      if (HasText(*model, file)) continue;
      const dump::FileEntry& entry = model->files()[k];
      Target target{model->FullPath(file), "", "", {}, path};
      if (entry.module >= 0) {
        const dump::ModuleEntry& module = model->modules()[static_cast<size_t>(entry.module)];
        target.module = module.name;
        if (entry.stage >= 0) target.stage = module.stages[static_cast<size_t>(entry.stage)].name;
      }
      files.push_back(std::move(target));
    }
    return {};
  }

  // The stage of that name of every module that has it.
  Status AddStage(const dump::DumpModel& model, std::vector<Target>& files) const {
    std::optional<Error> none;
    const size_t before = files.size();
    for (size_t m = 0; m < model.modules().size(); ++m) {
      auto module = static_cast<int32_t>(m);
      Result<int32_t> stage = FindStage(model, module, stage_);
      if (!stage) {
        none = stage.error();
        continue;
      }
      int32_t file = model.ModuleFile(module, *stage);
      if (file < 0) continue;
      const dump::ModuleEntry& entry = model.modules()[m];
      files.push_back(
          {model.FullPath(file), entry.name, entry.stages[static_cast<size_t>(*stage)].name, {}});
    }
    if (files.size() == before && none) return std::unexpected(*none);
    return {};
  }

  // Modules and passes whose names match, each once.
  static std::vector<Match> IndexMatches(const dump::DumpModel& model, const Pattern& pattern) {
    std::vector<Match> found;
    for (size_t m = 0; m < model.modules().size(); ++m) {
      const dump::ModuleEntry& module = model.modules()[m];
      if (pattern.Matches(module.name))
        found.push_back({model.path(), "", "", "module", module.name, 0});
      for (size_t s = 0; s < module.stages.size(); ++s) {
        const dump::StageEntry& stage = module.stages[s];
        if (!pattern.Matches(stage.name)) continue;
        int32_t file = model.ModuleFile(static_cast<int32_t>(m), static_cast<int32_t>(s));
        found.push_back({file < 0 ? model.path() : model.FullPath(file), "", "", "pass",
                         fmt::format("{} of {}", stage.name, module.name), 0});
      }
    }
    return found;
  }

  // True for the proto of a stage whose text is there too.
  static bool HasText(const dump::DumpModel& model, int32_t file) {
    const dump::FileEntry& entry = model.files()[static_cast<size_t>(file)];
    if (entry.kind == dump::FileKind::kHloText || entry.stage < 0) return false;
    if (dump::RowOf(entry.role).reader != "Module") return false;
    const auto& stages = model.modules()[static_cast<size_t>(entry.module)].stages;
    return std::ranges::any_of(stages[static_cast<size_t>(entry.stage)].files, [&](int32_t other) {
      const dump::FileEntry& text = model.files()[static_cast<size_t>(other)];
      return text.kind == dump::FileKind::kHloText && text.role == entry.role;
    });
  }

  // `find PATH PATTERN`: what stands where the pattern belongs is there, what is searched is not.
  Error WithOrder(Error error, const std::string& path) const {
    std::error_code ignored;
    const bool is_swapped =
        !std::filesystem::exists(path, ignored) && std::filesystem::exists(pattern_, ignored);
    if (is_swapped && error.hint.empty()) {
      error.hint = fmt::format("the pattern comes first: `hloscope find {} {}`", Quoted(path),
                               Quoted(pattern_));
    }
    return error;
  }

  // A file of a folder that is neither text nor a module is passed over, one that was named is not.
  Status Search(Target& target, const Pattern& pattern, const Context& context,
                std::vector<Match>& matches) const {
    const std::string& path = target.path;
    HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, dump::OpenInput(path, context.limits));
    dump::FileKind kind = dump::Sniff(file.bytes());
    const bool is_text = dump::IsText(kind);
    target.searched = true;
    if (kind == dump::FileKind::kHloProto || kind == dump::FileKind::kHloTextProto)
      return SearchModule(path, pattern, context, matches);
    if (!is_text && target.folder.empty()) return SearchModule(path, pattern, context, matches);
    target.searched = is_text;
    if (kind == dump::FileKind::kHloText) {
      Result<dump::LoadedModule> loaded = dump::LoadModule(path, context.limits);
      if (loaded && loaded->module != nullptr) {
        SearchInstructions(*loaded, pattern, matches);
        return {};
      }
    }
    if (is_text) SearchLines(path, file.bytes(), pattern, matches);
    return {};
  }

  Status SearchModule(const std::string& path, const Pattern& pattern, const Context& context,
                      std::vector<Match>& matches) const {
    HLOSCOPE_ASSIGN_OR_RETURN(const dump::LoadedModule loaded,
                              dump::LoadSoundModule(path, context.limits));
    SearchInstructions(loaded, pattern, matches);
    return {};
  }

  bool Full(const std::vector<Match>& matches) const {
    if (names_only_ && !matches.empty()) return true;
    return max_ > 0 && static_cast<int64_t>(matches.size()) >= max_;
  }

  void SearchInstructions(const dump::LoadedModule& loaded, const Pattern& pattern,
                          std::vector<Match>& matches) const {
    const hlo::Module& m = *loaded.module;
    std::optional<hlo::LineIndex> lines;
    if (loaded.kind == dump::FileKind::kHloText) lines.emplace(loaded.file.bytes());
    if (pattern.Matches(m.name()))
      matches.push_back({loaded.path, "", "", "module", std::string(m.name()), 1});
    hlo::InstructionPrinter printer(m, hlo::TextFormat::kElided);
    for (uint32_t i = 0; i < m.instructions().size() && !Full(matches); ++i) {
      hlo::InstructionId id(i);
      std::string_view text = printer.Text(id);
      std::string source = ToString(hlo::SourceLineOf(m, id));
      bool in_text = pattern.Matches(text);
      if (!in_text && (source.empty() || !pattern.Matches(source))) continue;
      uint32_t line = lines ? lines->PlaceOf(m.source_offset(id), "").line : 0;
      matches.push_back({loaded.path, std::string(m[m[m[id].computation].name]),
                         std::string(m.name(id)), in_text ? "instruction" : "source",
                         in_text ? std::string(text) : fmt::format("{}  // {}", text, source),
                         line});
    }
  }

  void SearchLines(const std::string& path, std::string_view bytes, const Pattern& pattern,
                   std::vector<Match>& matches) const {
    uint32_t line = 1;
    for (size_t begin = 0; begin < bytes.size() && !Full(matches); ++line) {
      size_t end = std::min(bytes.find('\n', begin), bytes.size());
      std::string_view text = bytes.substr(begin, end - begin);
      if (pattern.Matches(text))
        matches.push_back({path, "", "", "line", std::string(text.substr(0, 400)), line});
      begin = end + 1;
    }
  }

  static std::string Line(const Match& match) {
    std::string place = match.line == 0 ? match.file : fmt::format("{}:{}", match.file, match.line);
    if (!match.computation.empty()) place += " " + match.computation;
    return FormatText("{}: {}\n", place, match.text);
  }
  static std::string Json(const Target& target, const Match& match) {
    std::string out;
    JsonWriter json(out);
    json.BeginObject()
        .Field("file", match.file)
        .Field("line", match.line)
        .Field("what", match.what);
    json.Field("computation", match.computation)
        .Field("instruction", match.instruction)
        .Field("text", match.text);
    if (!target.module.empty()) json.Field("module", target.module);
    if (!target.stage.empty()) json.Field("stage", target.stage);
    json.EndObject();
    return out + "\n";
  }

  std::string pattern_;
  std::vector<std::string> paths_;
  std::string stage_;
  bool regex_ = false, ignore_case_ = false, names_only_ = false, count_only_ = false;
  int64_t max_ = 0;
};

}  // namespace

std::unique_ptr<Command> MakeFindCommand() { return std::make_unique<FindCommand>(); }

}  // namespace hloscope::app
