// `hloscope info`: a dump directory or a module at a glance.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "app/command.h"
#include "app/commands/info_lineage.h"
#include "app/commands/info_recompilations.h"
#include "app/dump_cache.h"
#include "app/fail.h"
#include "app/inputs.h"
#include "app/output.h"
#include "app/reports/bundle_report.h"
#include "app/reports/dump_report.h"
#include "app/reports/export_report.h"
#include "app/reports/profile_report.h"
#include "app/tensorflow_graph.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/dump/container.h"
#include "core/dump/dump_model.h"
#include "core/dump/listing/listing.h"
#include "core/hlo/analysis/summary.h"
#include "core/hlo/sharding/topology.h"

namespace hloscope::app {
namespace {

constexpr size_t kMaxShapes = 8;  // of parameters or results in a line of text

// Options that print something else than the table of modules.
const std::vector<std::string> kOtherTables = {
    "--module", "--select", "--passes", "--diff", "--compile-time", "--autotuning", "--memory"};

class InfoCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {
        {.name = "paths",
         .target = &paths_,
         .help = "dump directories, modules, bundles or traces; - is standard input",
         .value = "PATH",
         .required = true},
        {.name = "--select",
         .target = &selection_,
         .help = "one instruction through all passes, to its kernel, buffers and source line; "
                 "or the instructions of kernel=NAME, thunk=ID, buffer=ID, line=FILE:LINE",
         .value = "[MODULE:]INSTRUCTION[@STAGE]",
         .conflicts = {"--passes", "--diff", "--module"}},
        {.name = "--sass",
         .target = &sass_,
         .help = "with --select kernel=NAME: its registers, memory and SASS, by ptxas and "
                 "nvdisasm or cuobjdump of this machine",
         .needs = {"--select"}},
        {.name = "--passes",
         .target = &passes_,
         .help = "what each pass changed, one line per pass",
         .conflicts = {"--diff"}},
        {.name = "--diff",
         .target = &diff_,
         .help = "what the pass before that stage changed, as an aligned diff",
         .value = "[MODULE:]STAGE",
         .conflicts = {"--module"}},
        {.name = "--compile-time",
         .target = &compile_time_,
         .help = "where the time of the compilations went, pass by pass, and which passes and "
                 "source lines grew the program; of a dump or a log",
         .conflicts = {"--select", "--passes", "--diff"}},
        {.name = "--autotuning",
         .target = &autotuning_,
         .help = "what XLA:GPU's autotuner chose: instruction, configuration, time and "
                 "runner-up; of a dump or a file of autotune results",
         .conflicts = {"--select", "--passes", "--diff", "--compile-time"}},
        {.name = "--pin",
         .target = &pin_,
         .help = "with --autotuning: write the records of the dump to this file (*.txt or "
                 "*.textproto), and print the flags that fix the choices",
         .value = "FILE",
         .needs = {"--autotuning"}},
        {.name = "--memory",
         .target = &memory_,
         .help = "what holds the memory of each compiled module at its peak, largest first",
         .conflicts = {"--select", "--passes", "--diff", "--compile-time", "--autotuning"}},
        {.name = "--advise",
         .target = &advise_,
         .help = "with --memory: what would lower the peak, and to what",
         .needs = {"--memory"}},
        {.name = "--verify",
         .target = &verify_,
         .help = "with --advise: compile each module with what is advised, by XLA for the "
                 "device of the dump, and say what it saves",
         .needs = {"--advise"}},
        {.name = "--module",
         .target = &module_,
         .help = "of dumps: only this module, by name or id",
         .value = "MODULE"},
        {.name = "--top",
         .target = &top_,
         .help = fmt::format("of dumps: this many modules, as a table with totals (that of more "
                             "than {} modules has {}); 0: all",
                             kMaxModulesInFull, ModuleTableOptions().top),
         .value = "N",
         .conflicts = kOtherTables,
         .min = 0},
        {.name = "--sort",
         .target = &sort_,
         .help = "of dumps: the order of that table",
         .value = "COLUMN",
         .choices = ModuleTableOrders(),
         .conflicts = kOtherTables},
        {.name = "--changed-only",
         .target = &changed_only_,
         .help = "with --passes: only the passes that changed something",
         .needs = {"--passes"}},
        {.name = "--no-cache",
         .target = &no_cache_,
         .help = "read the dump again, and neither read nor write the cache"}};
  }

  int Run(const Context& context) override {
    int status = kGood;
    for (const std::string& path : paths_) {
      if (selection_ || passes_ || diff_ || compile_time_ || autotuning_ || memory_) {
        status = Worse(status, Lineage(path, context));
        continue;
      }
      bool directory = dump::IsFolder(path);
      if (!directory && !module_.empty()) {
        const auto misplaced = InputError(fmt::format("{}: --module is for dumps", path));
        status = Worse(status, Fail(path, misplaced.error(), context));
        continue;
      }
      status = Worse(status, directory ? Directory(path, context) : File(path, context));
    }
    return status;
  }

 private:
  int Lineage(const std::string& path, const Context& context) {
    Result<std::string> text = memory_ ? MemoryText(path, {module_, advise_, verify_}, context)
                               : autotuning_   ? AutotuningText(path, {module_, pin_}, context)
                               : compile_time_ ? CompileTimeText(path, module_, context)
                               : sass_         ? SassText(path, *selection_, context)
                               : selection_    ? SelectionText(path, *selection_, context)
                               : diff_         ? PassDiffText(path, *diff_, context)
                                       : PassesText(path, {module_, changed_only_}, context);
    if (!text) return Fail(path, text.error(), context);
    context.json ? WriteOut(*text) : PrintOut(*text);
    return kGood;
  }

  // What is read as a folder is: an archive, or a text of several modules.
  int Report(const std::string& path, const Context& context) const {
    dump::OpenOptions options;
    options.jobs = static_cast<int>(context.jobs);
    options.count_stages = true;
    const ReportForm form = context.json ? ReportForm::kJson : ReportForm::kText;
    const auto report =
        MakeDumpReport(path, context.limits, options, form, nullptr, nullptr, module_);
    if (!report) return Fail(path, report.error(), context);
    context.json ? WriteOut(DumpJson(*report)) : PrintOut(DumpText(*report));
    return kGood;
  }

  int Directory(const std::string& path, const Context& context) {
    if (dump::IsArchive(path)) return Report(path, context);
    auto cache = no_cache_ || !module_.empty() ? std::nullopt : dump::ReportCache::OfUser();
    const std::string form = context.json ? "json" : "text";
    const std::string parts_name = ReportName(path, form, context);
    const std::string name = parts_name + TableName();
    auto listing = ListDump(path, parts_name, context, cache ? &*cache : nullptr);
    if (!listing) return Fail(path, listing.error(), context);
    const dump::Fingerprint fingerprint = dump::FingerprintOf(*listing);
    std::optional<std::string> text;
    if (cache && context.json && cache->Copy(name, fingerprint, WriteOut)) return kGood;
    if (cache && !context.json) text = cache->Load(name, fingerprint);
    if (!text) {
      Result<std::string> made =
          MakeText(path, context, *listing, cache ? &*cache : nullptr, parts_name);
      if (!made) return Fail(path, made.error(), context);
      text = *std::move(made);
      if (cache) cache->Store(name, fingerprint, *text);
    }
    context.json ? WriteOut(*text) : PrintOut(*text);
    return kGood;
  }

  // The report, of what is known of unchanged files and what is read of the others.
  Result<std::string> MakeText(const std::string& path, const Context& context,
                               dump::Listing& listing, const dump::ReportCache* cache,
                               const std::string& name) const {
    // Parts name their own inputs, so that any of this dump may be used.
    constexpr dump::Fingerprint kAny;
    const std::string parts_name = name + "\nparts";
    std::optional<ReportParts> known;
    ReportParts next;
    if (cache != nullptr) {
      if (auto bytes = cache->Load(parts_name, kAny)) known = ReportParts::Unpack(*bytes);
      if (known) listing.known_heads = known->heads();
      listing.wants_heads = true;
    }
    dump::OpenOptions options;
    options.jobs = static_cast<int>(context.jobs);
    options.listing = &listing;
    options.count_stages = true;
    HLOSCOPE_ASSIGN_OR_RETURN(
        DumpReport report,
        MakeDumpReport(path, context.limits, options,
                       context.json ? ReportForm::kJson : ReportForm::kText,
                       known ? &*known : nullptr, cache == nullptr ? nullptr : &next, module_));
    if (cache != nullptr && listing.heads != nullptr)
      cache->Store(parts_name, kAny, next.Pack(*listing.heads));
    return context.json ? DumpJson(report) : DumpText(report, Table());
  }

  ModuleTableOptions Table() const {
    ModuleTableOptions table;
    table.is_asked = top_.has_value() || sort_.has_value();
    if (top_) table.top = static_cast<size_t>(*top_);
    if (sort_) table.sort = *sort_;
    return table;
  }
  // A report in the cache is one of a table.
  std::string TableName() const {
    const ModuleTableOptions table = Table();
    return table.is_asked ? fmt::format("\ntable {} {}", table.top, table.sort) : "";
  }

  // What is known about a file that holds no HLO module; false if it may hold one.
  static bool ShowOtherKind(const FileView& file, const Context& context) {
    dump::FileKind kind = dump::Sniff(file.bytes());
    bool other = !dump::IsModuleKind(kind) && kind != dump::FileKind::kText &&
                 kind != dump::FileKind::kUnknown && kind != dump::FileKind::kEmpty;
    if (!other) return false;
    if (kind == dump::FileKind::kJaxExport) return false;
    auto bytes = static_cast<int64_t>(file.bytes().size());
    if (context.json) {
      std::string out;
      JsonWriter json(out);
      json.BeginObject().Field("file", file.path()).Field("kind", dump::ToString(kind));
      json.Field("bytes", bytes).EndObject();
      WriteOut(out + "\n");
      return true;
    }
    PrintOut(FormatText("{}: {} ({})\n", file.path(), dump::Describe(kind), BytesText(bytes)));
    if (kind == dump::FileKind::kStableHloText) PrintOut(file.bytes());
    return true;
  }

  struct Bundle {
    dump::BundleFile file;
    debug::BundleManifest manifest;
  };
  static Result<Bundle> OpenBundle(const FileView& file, const Limits& limits) {
    HLOSCOPE_ASSIGN_OR_RETURN(dump::BundleFile bundle, dump::BundleFile::Open(file, limits));
    HLOSCOPE_ASSIGN_OR_RETURN(debug::BundleManifest manifest, debug::ManifestOf(bundle));
    return Bundle{std::move(bundle), std::move(manifest)};
  }

  int File(const std::string& path, const Context& context) {
    Result<FileView> file = dump::OpenInput(path, context.limits);
    if (!file) return Fail(path, file.error(), context);
    const dump::ModuleParts inside =
        dump::FindModuleParts(file->bytes(), dump::Sniff(file->bytes()), context.limits);
    if (inside.parts.size() > 1) return Report(path, context);
    if (const auto only = dump::OnlyModuleIn(*file, inside); only) file = only;
    if (!dump::IsModuleKind(dump::Sniff(file->bytes())) && profiler::IsTrace(file->bytes()))
      return Trace(*file, context);
    if (IsTensorFlowGraph(*file)) return Graph(path, *file, context);
    if (ShowOtherKind(*file, context)) return kGood;
    const dump::FileKind kind = dump::Sniff(file->bytes());
    if (kind == dump::FileKind::kJaxExport) return Export(*file, context);
    if (kind == dump::FileKind::kText || kind == dump::FileKind::kLog) {
      if (const auto status = ShowCompileLog(*file, context)) return *status;
    }
    Result<dump::LoadedModule> loaded = dump::LoadModule(*file, context.limits);
    if (!loaded) return Fail(path, loaded.error(), context);
    if (loaded->module == nullptr) {
      Result<dump::LoadedModule> again = dump::LoadSoundModule(*file, context.limits);
      if (context.json) return Fail(path, again.error(), context);
      PrintReadErrors(*loaded);
      return kBadInput;
    }
    hlo::ModuleSummary summary = hlo::Summarize(*loaded->module);
    std::optional<Bundle> bundle;
    if (dump::Sniff(file->bytes()) == dump::FileKind::kBundle) {
      Result<Bundle> opened = OpenBundle(*file, context.limits);
      if (!opened) return Fail(path, opened.error(), context);
      bundle = *std::move(opened);
    }
    if (!context.json && bundle) PrintOut(BundleText(bundle->file, bundle->manifest));
    context.json ? WriteOut(FileJson(*loaded, summary, bundle ? &*bundle : nullptr))
                 : PrintOut(FileText(*loaded, summary, context.limits));
    return kGood;
  }

  static int Export(const FileView& file, const Context& context) {
    Result<dump::JaxExport> exported = dump::ReadJaxExport(file.bytes());
    if (!exported) {
      exported.error().place.file = file.path();
      return Fail(file.path(), exported.error(), context);
    }
    context.json ? WriteOut(ExportJson(file, *exported)) : PrintOut(ExportText(file, *exported));
    return kGood;
  }

  static int Graph(const std::string& path, const FileView& file, const Context& context) {
    const auto opened = OpenTensorFlowGraph(path, file, context);
    if (!opened) return Fail(path, opened.error(), context);
    const LoneGraph lone = {.path = path,
                            .kind = dump::Sniff(file.bytes()),
                            .bytes = static_cast<int64_t>(file.bytes().size()),
                            .graph = *opened->graph,
                            .summary = *opened->summary};
    context.json ? WriteOut(GraphJson(lone)) : PrintOut(GraphText(lone));
    return kGood;
  }

  static int Trace(const FileView& file, const Context& context) {
    Jobs jobs(context.jobs > 0 ? static_cast<int>(context.jobs) : AvailableCpus());
    Result<ProfileReport> report = ReadProfileReport(file, {}, context.limits, jobs);
    if (!report) return Fail(file.path(), report.error(), context);
    if (Status added = AddStatistics(*report, jobs); !added)
      return Fail(file.path(), added.error(), context);
    report->top = 5;
    context.json ? WriteOut(ProfileJson(*report)) : PrintOut(ProfileText(*report));
    return kGood;
  }

  // All of a few shapes; of many, how often each of the first occurs.
  static std::string ShapesText(const std::vector<std::string>& shapes) {
    if (shapes.size() <= kMaxShapes) return FormatText("{}", Join(shapes, " "));
    std::vector<std::pair<std::string_view, size_t>> counts;
    std::unordered_map<std::string_view, size_t> at;
    for (const std::string& shape : shapes) {
      const auto [found, is_new] = at.try_emplace(shape, counts.size());
      if (is_new) counts.emplace_back(shape, 0);
      ++counts[found->second].second;
    }
    std::string out = FormatText("{}:", Counted(shapes.size(), "array"));
    for (size_t k = 0; k < std::min(counts.size(), kMaxShapes); ++k)
      out += FormatText("{} {} × {}", k > 0 ? "," : "", counts[k].second, counts[k].first);
    if (counts.size() > kMaxShapes)
      out += FormatText(" and {} (--json lists all)",
                        Counted(counts.size() - kMaxShapes, "more shape"));
    return out;
  }

  static std::string FileText(const dump::LoadedModule& loaded, const hlo::ModuleSummary& s,
                              const Limits& limits) {
    const hlo::Module& m = *loaded.module;
    std::string out =
        FormatText("{}: module {} ({}, {})\n", loaded.path, m.name(), dump::Describe(loaded.kind),
                   BytesText(static_cast<int64_t>(loaded.file.bytes().size())));
    out += FormatText("  {} in {}, entry {}{}\n", Counted(s.instructions, "instruction"),
                      Counted(s.computations, "computation"), m[m.entry().name],
                      m.header().is_scheduled ? ", scheduled" : "");
    const hlo::Topology topology = hlo::TopologyOf(m, limits.devices);
    out += FormatText("  replica_count {}, num_partitions {}{}\n", m.header().replica_count,
                      m.header().num_partitions,
                      topology.unpartitioned ? ", not SPMD-partitioned yet" : "");
    if (!topology.note.empty()) out += FormatText("  {}\n", topology.note);
    std::vector<std::string> results;
    const hlo::Shape& result = m.shape(m.entry().root);
    if (result.IsTuple()) {
      for (const hlo::Shape& element : result.elements()) results.push_back(ToString(element));
    }
    out += FormatText("  parameters: {} ({})\n", ShapesText(s.parameters),
                      BytesText(s.parameter_bytes));
    out += FormatText("  result: {} ({})\n",
                      results.size() > kMaxShapes ? ShapesText(results) : s.result,
                      BytesText(s.result_bytes));
    if (s.elided_constants != 0) {
      out += FormatText(
          "  {} elided: the values are not in this file, but in the .hlo.pb of the dump\n",
          Counted(s.elided_constants, "constant"));
    }
    out += "  opcodes:";
    for (size_t k = 0; k < s.opcodes.size() && k < 12; ++k)
      out += FormatText(" {} {}", s.opcodes[k].second, s.opcodes[k].first);
    out += s.opcodes.size() > 12 ? fmt::format(" and {} more\n", s.opcodes.size() - 12) : "\n";
    for (const hlo::Diagnostic& d : loaded.diagnostics)
      out += FormatText("  warning: {}\n", d.message);
    for (const auto& list : loaded.proto.arguments)
      out += FormatText("  holds {}\n", Counted(list.size(), "argument"));
    return out;
  }

  static std::string FileJson(const dump::LoadedModule& loaded, const hlo::ModuleSummary& s,
                              const Bundle* bundle) {
    const hlo::Module& m = *loaded.module;
    std::string out;
    JsonWriter json(out);
    json.BeginObject()
        .Field("file", loaded.path)
        .Field("kind", dump::ToString(loaded.kind))
        .Field("module", m.name());
    json.Field("bytes", loaded.file.bytes().size())
        .Field("instructions", s.instructions)
        .Field("computations", s.computations);
    json.Field("entry", m[m.entry().name]).Field("is_scheduled", m.header().is_scheduled);
    json.Field("replica_count", m.header().replica_count)
        .Field("num_partitions", m.header().num_partitions);
    json.Key("parameters").BeginArray();
    for (const std::string& shape : s.parameters) json.Value(shape);
    json.EndArray()
        .Field("result", s.result)
        .Field("parameter_bytes", s.parameter_bytes)
        .Field("result_bytes", s.result_bytes);
    json.Field("elided_constants", s.elided_constants).Key("opcodes").BeginObject();
    for (const auto& [name, count] : s.opcodes) json.Field(name, count);
    json.EndObject();
    if (bundle != nullptr) WriteBundleJson(json.Key("bundle"), bundle->file, bundle->manifest);
    json.EndObject();
    return out + "\n";
  }

  std::vector<std::string> paths_;
  std::optional<std::string> selection_, diff_, sort_;
  std::optional<int64_t> top_;
  std::string module_, pin_;
  bool memory_ = false, advise_ = false, verify_ = false;
  bool sass_ = false, passes_ = false, compile_time_ = false, autotuning_ = false,
       changed_only_ = false, no_cache_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeInfoCommand() { return std::make_unique<InfoCommand>(); }

}  // namespace hloscope::app
