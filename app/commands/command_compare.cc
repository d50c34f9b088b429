// `hloscope compare A B…`: two sets of values, two modules by meaning, two profiles, or all modules
// of dumps.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <sstream>

#include "app/command.h"
#include "app/commands/compare_dumps.h"
#include "app/commands/compare_pairs.h"
#include "app/fail.h"
#include "app/inputs.h"
#include "app/output.h"
#include "app/reports/attributed_modules.h"
#include "app/reports/profile_comparison_report.h"
#include "app/reports/run_report.h"
#include "app/shared_options.h"
#include "core/analysis/align/compare_modules.h"
#include "core/analysis/align/metadata_difference.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/base/memory_limit.h"
#include "core/debug/compare/compare_windows.h"
#include "core/dump/container.h"
#include "core/dump/tensors/named_values.h"
#include "core/dump/tensors/tensor_names.h"
#include "core/hlo/analysis/summary.h"

namespace hloscope::app {
namespace {

// The values of both sides under one name.
struct ValuePair {
  std::string name, name_b;
  debug::LeafComparison comparison;
  std::string_view note;  // may be empty
};

constexpr std::string_view kRawNote =
    "compared bit by bit, as numbers of one byte: numpy writes V1 for the types of ml_dtypes, and "
    "neither file names its type";

class CompareCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {
        {.name = "a",
         .target = &a_,
         .help = "a module, values (.npy, .npz, literal .pb, folder of .npy), a trace, a folder of "
                 "traces, several traces of the same (T1,T2,T3), or a dump",
         .value = "A",
         .required = true},
        {.name = "b",
         .target = &b_,
         .help = "what to compare it with; of values, the expected ones",
         .value = "B",
         .required = true},
        {.name = "more",
         .target = &more_,
         .help = "more dumps or modules: which of them are equal",
         .value = "C"},
        RowOption("--abs_error_bound", &bounds_.absolute),
        RowOption("--rel_error_bound", &bounds_.relative),
        {.name = "--module",
         .target = &modules_,
         .help = "of dumps: only this module, by name or id; of traces: the modules that ran, if "
                 "they are not in the trace: files or dumps",
         .value = "MODULE"},
        {.name = "--decisions",
         .target = &decisions_,
         .help = "of two dumps: the first decision about fusion that differs",
         .conflicts = {"more", "--top", "--abs_error_bound", "--rel_error_bound"}},
        {.name = "--memory",
         .target = &memory_,
         .help = "of two dumps or modules: the values that make their memory differ",
         .conflicts = {"more", "--top", "--abs_error_bound", "--rel_error_bound", "--decisions"}},
        {.name = "--top",
         .target = &top_,
         .help = "of traces and dumps: rows of the table",
         .value = "N",
         .min = 0},
    };
  }

  int Run(const Context& context) override {
    if (decisions_ || memory_) {
      const PairRequest request = {a_, b_, modules_};
      const Result<int> status =
          decisions_ ? CompareDecisions(request, context) : CompareMemory(request, context);
      return status ? *status : Refuse(status.error(), context);
    }
    if (!more_.empty()) return Dumps(context);
    Result<Side> a = OpenAll(a_, context.limits);
    Result<Side> b = OpenAll(b_, context.limits);
    if (!a || !b) return Refuse(!a ? a.error() : b.error(), context);
    if (a->repeated.size() + b->repeated.size() > 0) return Repeated(*a, *b, context);
    if (!a->traces.empty() && !b->traces.empty()) {
      const int status = Profiles(*a, *b, context);
      // Folders of a run that left both.
      return a->has_modules && b->has_modules ? Worse(status, Dumps(context)) : status;
    }
    if (a->values && b->values) return Values(*a->values, *b->values, context);
    if (a->values.has_value() != b->values.has_value()) {
      Error error{
          ErrorClass::kInput,
          fmt::format("{} has values and {} does not", a->values ? a_ : b_, a->values ? b_ : a_),
          {},
          "compare values with values, modules with modules, traces with traces"};
      return Refuse(error, context);
    }
    return Modules(*a, *b, context);
  }

 private:
  // What one of the two paths holds; a folder has no file.
  struct Side {
    std::optional<FileView> file;
    std::optional<dump::ValueSet> values;
    std::map<std::string, std::string> traces;  // paths by file name
    std::vector<std::string> repeated;          // instead: several recordings of the same
    bool has_modules = false;                   // of a folder
  };

  // Paths with commas between them are traces, one each.
  static Result<Side> OpenAll(const std::string& given, const Limits& limits) {
    std::error_code error;
    if (!given.contains(',') || std::filesystem::exists(given, error)) return Open(given, limits);
    Side side;
    std::istringstream paths(given);
    for (std::string path; std::getline(paths, path, ',');) {
      if (path.empty()) continue;
      HLOSCOPE_ASSIGN_OR_RETURN(const Side one, Open(path, limits));
      if (one.traces.size() != 1) {
        return InputError(fmt::format("{}: expected one trace, found {}", path, one.traces.size()),
                          "several paths separated by commas are traces of the same program");
      }
      side.repeated.push_back(one.traces.begin()->second);
    }
    return side;
  }

  static Result<Side> Open(const std::string& path, const Limits& limits) {
    Side side;
    if (dump::IsArchive(path)) {
      HLOSCOPE_ASSIGN_OR_RETURN(const auto archive, dump::OpenArchive(path, limits));
      if (archive->members().size() != 1) return side;
      return Open(path + "/" + archive->members().front().name, limits);
    }
    if (dump::IsFolder(path)) {
      HLOSCOPE_ASSIGN_OR_RETURN(side.values, dump::ValueSet::InFolder(path, limits));
      if (side.values) return side;
      // Of several runs in one folder the last: their folders are named after the time.
      if (auto traces = profiler::TracesBelow(path, limits)) {
        for (const std::string& trace : *traces)
          side.traces[std::filesystem::path(trace).filename().string()] = trace;
      }
      if (!side.traces.empty()) {
        const auto model = dump::DumpModel::Open(path, limits);
        side.has_modules = model && !(*model)->modules().empty();
      }
      return side;
    }
    std::optional<FileView> read;
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error)) {
      HLOSCOPE_ASSIGN_OR_RETURN(const FileParts parts, FileParts::Open(path, limits));
      HLOSCOPE_ASSIGN_OR_RETURN(side.values, dump::ValueSet::InParts(parts, limits));
      if (side.values) return side;
      if (parts.whole() != nullptr) read = *parts.whole();
    }
    if (!read) {
      HLOSCOPE_ASSIGN_OR_RETURN(read, dump::OpenInput(path, limits));
    }
    FileView file = *std::move(read);
    HLOSCOPE_ASSIGN_OR_RETURN(
        side.values, WithinMemory(limits, path, [&] { return dump::ValueSet::In(file, limits); }));
    const bool is_module = dump::IsModuleKind(dump::Sniff(file.bytes()));
    if (!side.values && !is_module && profiler::IsTrace(file.bytes()))
      side.traces[std::filesystem::path(path).filename().string()] = path;
    side.file = std::move(file);
    return side;
  }

  // Traces of one file name (of one host) are compared; where each side has one, those.
  int Profiles(const Side& a, const Side& b, const Context& context) {
    if (a.traces.size() == 1 && b.traces.size() == 1)
      return Profiles({a.traces.begin()->second}, {b.traces.begin()->second}, context);
    int status = kGood, compared = 0;
    for (const auto& [name, path] : a.traces) {
      auto other = b.traces.find(name);
      if (other == b.traces.end()) continue;
      status = Worse(status, Profiles({path}, {other->second}, context));
      ++compared;
    }
    if (compared != 0) return status;
    return Refuse({ErrorClass::kInput,
                   fmt::format("no trace in {} has the file name of one in {}", a_, b_),
                   {},
                   "name the two traces to compare"},
                  context);
  }

  // One trace or several on each side.
  int Repeated(const Side& a, const Side& b, const Context& context) {
    const auto traces_of = [](const Side& side) {
      if (side.repeated.empty() && side.traces.size() == 1)
        return std::vector<std::string>{side.traces.begin()->second};
      return side.repeated;
    };
    const std::vector<std::string> of_a = traces_of(a), of_b = traces_of(b);
    if (!of_a.empty() && !of_b.empty()) return Profiles(of_a, of_b, context);
    return Refuse({ErrorClass::kInput,
                   fmt::format("{}: expected a trace, or several with commas between them",
                               of_a.empty() ? a_ : b_),
                   {},
                   "the other side is traces"},
                  context);
  }

  // What changed is reported, and makes no difference to the exit status: times never are equal.
  int Profiles(const std::vector<std::string>& paths_a, const std::vector<std::string>& paths_b,
               const Context& context) {
    Jobs jobs(context.jobs > 0 ? static_cast<int>(context.jobs) : AvailableCpus());
    auto modules = LoadAttributedModules(modules_, context.limits);
    if (!modules) return Refuse(modules.error(), context);
    const auto a = ReadReports(paths_a, *modules, context, jobs);
    const auto b = ReadReports(paths_b, *modules, context, jobs);
    if (!a || !b) return Refuse(!a ? a.error() : b.error(), context);
    const auto compared = CompareReports(*a, *b, jobs);
    if (!compared) return Refuse(compared.error(), context);
    const auto top = static_cast<size_t>(std::max<int64_t>(top_, 0));
    context.json ? WriteOut(ProfileComparisonJson(*compared))
                 : PrintOut(ProfileComparisonText(*compared, top));
    return kGood;
  }

  static Result<std::vector<ProfileReport>> ReadReports(
      const std::vector<std::string>& paths, const std::vector<profiler::AttributedModule>& modules,
      const Context& context, Jobs& jobs) {
    std::vector<ProfileReport> reports;
    for (const std::string& path : paths) {
      HLOSCOPE_ASSIGN_OR_RETURN(FileView file, FileView::Open(path, context.limits));
      HLOSCOPE_ASSIGN_OR_RETURN(ProfileReport report,
                                ReadProfileReport(file, modules, context.limits, jobs));
      reports.push_back(std::move(report));
    }
    return reports;
  }

  int Modules(const Side& side_a, const Side& side_b, const Context& context) {
    if (!side_a.file && !side_b.file) return Dumps(context);
    if (!side_a.file || !side_b.file) {
      const std::string& folder = side_a.file ? b_ : a_;
      if (dump::IsArchive(folder)) {
        return Refuse({ErrorClass::kInput,
                       folder + ": an archive of several files, which is compared with folders",
                       {},
                       "name the file in it: " + folder + "/NAME"},
                      context);
      }
      return Refuse({ErrorClass::kInput,
                     folder + ": no .npy files and no traces in this folder",
                     {},
                     "give two module files, or two folders of .npy files, of traces or of dumps"},
                    context);
    }
    const auto load = [&](const FileView& file) -> Result<dump::LoadedModule> {
      // A trace is compared with traces; TRACE:NAME is its module.
      HLOSCOPE_ASSIGN_OR_RETURN(
          const FileView only,
          dump::OnlyModuleIn(file, dump::FindModuleParts(file.bytes(), dump::Sniff(file.bytes()),
                                                         context.limits)));
      return dump::LoadSoundModule(only, context.limits);
    };
    Result<dump::LoadedModule> a = load(*side_a.file);
    if (!a) return Refuse(a.error(), context);
    analysis::ModuleComparison result;
    std::string metadata;  // that differs where nothing else does
    analysis::FirstChange first;
    if (side_a.file->bytes() == side_b.file->bytes()) {
      result.equal = true;
      result.elided = std::ssize(hlo::ElidedConstants(*a->module));
    } else {
      Result<dump::LoadedModule> b = load(*side_b.file);
      if (!b) return Refuse(b.error(), context);
      result = analysis::CompareModules(*a->module, *b->module);
      if (result.equal) {
        metadata = analysis::MetadataDifference(*a->module, *b->module);
      } else {
        first = analysis::FirstChangeOf(*a->module, *b->module, result);
      }
    }
    context.json ? WriteOut(Json(result, first, metadata))
                 : PrintOut(Text(result, first, metadata));
    return !result.equal ? kDiffers : result.elided > 0 ? kUnsupported : kGood;
  }

  int Dumps(const Context& context) {
    std::vector<std::string> paths = {a_, b_};
    paths.insert(paths.end(), more_.begin(), more_.end());
    auto dumps = ProgramsOf(paths, context);
    if (!dumps) return Refuse(dumps.error(), context);
    for (const analysis::DumpPrograms& dump : *dumps) {
      if (!dump.programs.empty()) continue;
      return Refuse({ErrorClass::kInput,
                     dump.path + ": no modules here, expected a dump",
                     {},
                     "compare folders of .npy files, of traces or of dumps, two of them; of dumps "
                     "also more"},
                    context);
    }
    const Result<int> status = CompareDumps(
        *std::move(dumps), modules_, static_cast<size_t>(std::max<int64_t>(top_, 0)), context);
    return status ? *status : Refuse(status.error(), context);
  }

  // By name; what is left by the number that the names give, as out0, output_0 and arr_0; of one
  // array on each side, those two.
  static std::vector<std::optional<size_t>> PartnersOf(const dump::ValueSet& a,
                                                       const dump::ValueSet& b) {
    std::vector<std::optional<size_t>> partners(a.size());
    if (a.size() == 1 && b.size() == 1) {
      partners[0] = 0;
      return partners;
    }
    std::vector<bool> taken(b.size(), false);
    const auto pair = [&](const auto& are_same) {
      for (size_t k = 0; k < a.size(); ++k) {
        for (size_t i = 0; i < b.size() && !partners[k]; ++i) {
          if (taken[i] || !are_same(a.name(k), b.name(i))) continue;
          partners[k] = i;
          taken[i] = true;
        }
      }
    };
    pair(std::equal_to<>());
    pair(dump::NameSameTensor);
    return partners;
  }

  int Values(const dump::ValueSet& a, const dump::ValueSet& b, const Context& context) {
    std::vector<ValuePair> pairs;
    std::vector<std::string> only_a, only_b;
    std::vector<bool> taken(b.size(), false);
    const std::vector<std::optional<size_t>> partners = PartnersOf(a, b);
    for (size_t k = 0; k < a.size(); ++k) {
      if (!partners[k]) {
        only_a.push_back(a.name(k));
        continue;
      }
      taken[*partners[k]] = true;
      Result<debug::FileComparison> pair = debug::CompareValues(a, k, b, *partners[k], bounds_);
      if (!pair) return Refuse(pair.error(), context);
      pairs.push_back({a.name(k), b.name(*partners[k]), std::move(pair->comparison),
                       pair->both_raw ? kRawNote : ""});
    }
    for (size_t k = 0; k < b.size(); ++k) {
      if (!taken[k]) only_b.push_back(b.name(k));
    }
    bool equal =
        only_a.empty() && only_b.empty() &&
        std::ranges::all_of(pairs, [](const ValuePair& p) { return p.comparison.equal(); });
    context.json ? WriteOut(Json(pairs, only_a, only_b, equal))
                 : PrintOut(Text(pairs, only_a, only_b, equal));
    return equal ? kGood : kDiffers;
  }

  int Refuse(const Error& error, const Context& context) const {
    return Fail({{"a", a_}, {"b", b_}}, error, context);
  }

  std::string Text(const std::vector<ValuePair>& pairs, const std::vector<std::string>& only_a,
                   const std::vector<std::string>& only_b, bool equal) const {
    std::string out;
    for (const ValuePair& pair : pairs) {
      out += pair.name_b == pair.name ? pair.name : pair.name + " and " + pair.name_b;
      out += LeafText(pair.comparison, true) + "\n";
      if (!pair.note.empty()) out += FormatText("  {}\n", pair.note);
    }
    for (const std::string& name : only_a) out += FormatText("{} is only in {}\n", name, a_);
    for (const std::string& name : only_b) out += FormatText("{} is only in {}\n", name, b_);
    return out + (equal ? "equal\n" : "differs\n");
  }

  std::string Json(const std::vector<ValuePair>& pairs, const std::vector<std::string>& only_a,
                   const std::vector<std::string>& only_b, bool equal) const {
    std::string out;
    JsonWriter json(out);
    json.BeginObject()
        .Field("a", a_)
        .Field("b", b_)
        .Field("status", equal ? "equal" : "differs")
        .Key("outputs")
        .BeginArray();
    for (const ValuePair& pair : pairs) {
      json.BeginObject().Field("name", pair.name).Field("name_b", pair.name_b);
      if (!pair.note.empty()) json.Field("note", pair.note);
      WriteLeafJson(json, pair.comparison, true);
      json.EndObject();
    }
    json.EndArray();
    for (auto [key, list] : {std::pair("added", &only_b), std::pair("removed", &only_a)}) {
      json.Key(key).BeginArray();
      for (const std::string& name : *list) json.Value(name);
      json.EndArray();
    }
    json.EndObject();
    return out + "\n";
  }

  std::string Text(const analysis::ModuleComparison& result, const analysis::FirstChange& first,
                   const std::string& metadata) const {
    if (result.equal) {
      std::string out = FormatText("{} and {} are equal\n", a_, b_);
      if (result.elided > 0) {
        out = FormatText(
            "{} and {}: nothing differs, but {}: not compared (the .hlo.pb of a dump has the "
            "values)\n",
            a_, b_, Counted(result.elided, "constant is elided", "constants are elided"));
      }
      return metadata.empty() ? out
                              : out + FormatText("  only names or metadata differ: {}\n", metadata);
    }
    std::string out = FormatText("{} and {} differ, first {}\n", a_, b_, first.what);
    const bool are_other = first.text_a != first.text_b;
    if (are_other && !first.text_a.empty()) out += FormatText("  - {}\n", first.text_a);
    if (are_other && !first.text_b.empty()) out += FormatText("  + {}\n", first.text_b);
    auto place = [](const std::string& computation, const std::string& instruction) {
      return instruction.empty() ? computation : computation + ":" + instruction;
    };
    for (const analysis::InstructionChange& c : result.changed) {
      std::string where = place(c.computation, c.instruction);
      if (c.instruction_b != c.instruction) where += " -> " + c.instruction_b;
      out += FormatText("  changed {}{}{}\n", where, where.empty() ? "" : ": ", c.what);
    }
    for (const auto& [verb, names] :
         {std::pair("added", &result.added), {"removed", &result.removed}}) {
      for (auto n = names->begin(); n != names->end();) {
        auto end = std::next(n);
        while (n->of_whole_computation && end != names->end() && end->of_whole_computation &&
               end->computation == n->computation)
          ++end;
        out += n->of_whole_computation
                   ? FormatText("  {} computation {} of {}\n", verb, n->computation,
                                Counted(end - n, "instruction"))
                   : FormatText("  {} {}\n", verb, place(n->computation, n->instruction));
        n = end;
      }
    }
    return out;
  }

  std::string Json(const analysis::ModuleComparison& result, const analysis::FirstChange& first,
                   const std::string& metadata) const {
    std::string out;
    JsonWriter json(out);
    const bool known = !result.equal || result.elided == 0;
    json.BeginObject().Field("a", a_).Field("b", b_);
    json.Field("status", !known ? "unsupported" : result.equal ? "equal" : "differs");
    json.Field("elided", result.elided);
    json.Key("first");
    if (result.equal) {
      json.Null();
    } else {
      json.BeginObject().Field("what", first.what);
      json.Field("a", first.text_a).Field("b", first.text_b).EndObject();
    }
    json.Field("metadata", metadata).Key("changed").BeginArray();
    for (const analysis::InstructionChange& c : result.changed) {
      json.BeginObject().Field("computation", c.computation).Field("instruction", c.instruction);
      json.Field("instruction_b", c.instruction_b).Field("what", c.what).EndObject();
    }
    json.EndArray();
    for (auto [key, list] :
         {std::pair("added", &result.added), std::pair("removed", &result.removed)}) {
      json.Key(key).BeginArray();
      for (const analysis::InstructionName& n : *list) {
        json.BeginObject()
            .Field("computation", n.computation)
            .Field("instruction", n.instruction)
            .EndObject();
      }
      json.EndArray();
    }
    json.Key("cost").Null().EndObject();
    return out + "\n";
  }

  std::string a_, b_;
  debug::BoundsRequest bounds_;
  std::vector<std::string> more_, modules_;
  int64_t top_ = 20;
  bool decisions_ = false, memory_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeCompareCommand() { return std::make_unique<CompareCommand>(); }

}  // namespace hloscope::app
