#include "core/debug/bundle/create.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "core/backends/libraries/autotune_table.h"
#include "core/base/counted.h"
#include "core/base/json.h"
#include "core/base/scratch_folder.h"
#include "core/debug/bundle/bundle_report.h"
#include "core/debug/bundle/bundle_values.h"
#include "core/debug/bundle/check.h"
#include "core/debug/bundle/machine.h"
#include "core/debug/bundle/packed_modules.h"
#include "core/debug/bundle/redact_code.h"
#include "core/debug/bundle/redactor.h"
#include "core/debug/bundle/report_values.h"
#include "core/debug/bundle/spelled_secrets.h"
#include "core/debug/run/against_module.h"
#include "core/debug/run/difference_hints.h"
#include "core/debug/run/input_source.h"
#include "core/debug/run/recorded_arguments.h"
#include "core/debug/run/run_inputs.h"
#include "core/hlo/analysis/summary.h"
#include "core/hlo/proto/proto.h"
#include "core/replay/device_values.h"

namespace hloscope::debug {
namespace {

using dump::BundlePart;

// Results that are larger are not made up to see how large a file they are.
constexpr int64_t kMaxForeseenBytes = int64_t{256} << 20;

// Every text of a module's, to learn names from.
void LearnFrom(const hlo::Module& module, Redactor& redactor) {
  for (size_t id = 0; id < module.strings().size(); ++id) {
    redactor.Learn(module.strings()[hlo::StringId(id)]);
  }
}

bool HasInputs(const hlo::Module& module) {
  return std::ranges::any_of(module.Parameters(module.entry_id()), [&](hlo::InstructionId id) {
    return module.shape(id).LeafCount() > 0;
  });
}

// Parts that a run has to give.
bool IsOfRun(BundlePart part) {
  return part == BundlePart::kExpected || part == BundlePart::kExpectedFacts ||
         part == BundlePart::kResults || part == BundlePart::kResultFacts;
}

// What describes a run that has been; behind all other parts, in this order.
constexpr BundlePart kOfRun[] = {BundlePart::kRun, BundlePart::kReportHtml,
                                 BundlePart::kReportMarkdown};

class Creation {
 public:
  explicit Creation(const BundleSource& source)
      : source_(source), request_(source.request), redactor_(SecretsOfThisProcess()) {}

  Result<MadeBundle> Run(const std::stop_token& stop) {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto scratch, ScratchFolder::Make());
    RunSinks sinks;
    const bool all = source_.values == ValuePolicy::kAll;
    if (all) sinks.files.inputs = scratch.path() + "/inputs.npz";
    if (source_.other != nullptr) {
      HLOSCOPE_ASSIGN_OR_RETURN(
          request_, AgainstModule(source_.module, source_.other, source_.request, stop));
    }
    report_ =
        source_.report && !all ? *source_.report : RunModule(source_.module, request_, sinks, stop);
    if (stop.stop_requested()) return Stopped();
    redactor_.set_stop(stop);
    // Nothing ran for a mistake in the inputs or expected results, as another shape: nothing to
    // report. What XLA refuses is of that class too, and goes into the bundle.
    if (report_.error && IsOfGivenFiles(*report_.error, source_.request)) {
      return std::unexpected(*report_.error);
    }
    if (report_.error && report_.arguments.empty()) {
      // Where parameters have no values the report has none either, and infeeds may have been read.
      inputs_unread_ = HasInputs(*source_.module);
      HLOSCOPE_TRY(TakeInputs(sinks.files.inputs, stop));
    }
    // The replay has the arrays that are used, and the names of others stay with the user.
    std::erase_if(report_.warnings, [&](const std::string& line) {
      return std::ranges::find(report_.unused_arrays, line) != report_.unused_arrays.end();
    });
    run_json_ = source_.run_json ? source_.run_json(report_) : "";
    const Status added = AddParts({.path = sinks.files.inputs});
    if (stop.stop_requested()) return Stopped();
    HLOSCOPE_TRY(added);
    Record();
    HLOSCOPE_TRY(Replay(scratch.path()));
    if (stop.stop_requested()) return Stopped();
    for (const BundlePart part : kOfRun) Add(part, PartOfRun(part));
    // Behind the last text that was redacted: what a stop left of it is not to be written.
    if (stop.stop_requested()) return Stopped();
    HLOSCOPE_ASSIGN_OR_RETURN(std::string bytes, Assemble());
    MadeBundle made{std::move(bytes), manifest_, {BundlePart::kManifest}};
    // Who made it has seen the values.
    const std::string sentence = SentenceOf(source_.verdict_json);
    if (!sentence.empty()) made.manifest.sentence = sentence;
    for (const auto& [part, text] : parts_) made.parts.push_back(part);
    return made;
  }

  Result<BundlePlan> Plan(const std::stop_token& stop) {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto scratch, ScratchFolder::Make());
    PackedInputs packed_inputs = {.path = scratch.path() + "/inputs.npz"};
    const int64_t input_bytes = Foresee(packed_inputs, stop);
    if (stop.stop_requested()) return Stopped();
    redactor_.set_stop(stop);
    const Status added = AddParts(packed_inputs);
    if (stop.stop_requested()) return Stopped();
    HLOSCOPE_TRY(added);
    BundlePlan plan{.parts = {{.part = BundlePart::kManifest}},
                    .redacted = redactor_.Counts(),
                    .notes = manifest_.notes};
    std::vector<ZipMemberSize> known;
    std::ranges::sort(parts_, {}, [](const auto& part) { return part.first; });
    if (packed_inputs.planned && source_.values == ValuePolicy::kAll) {
      plan.parts.push_back({.part = BundlePart::kInputs, .bytes = input_bytes});
      plan.bytes += input_bytes;
      const auto size = static_cast<uint64_t>(input_bytes);
      known.push_back({std::string(dump::FileOf(BundlePart::kInputs)), size, size});
    }
    for (const auto& [part, bytes] : parts_) {
      PlannedPart& planned = plan.parts.emplace_back(part, std::nullopt, IsOfRun(part));
      if (!IsForeseen(part)) continue;
      planned.bytes = static_cast<int64_t>(bytes.size());
      plan.bytes += *planned.bytes;
      known.push_back(SizeOfEntry(EntryOf(part, bytes)));
    }
    if (!knows_results_) {
      const bool all = source_.values == ValuePolicy::kAll;
      plan.parts.push_back(
          {all ? BundlePart::kResults : BundlePart::kResultFacts, std::nullopt, true});
    }
    const auto* const platform = replay::FindPlatform(source_.request.test.name);
    if (!report_.executed && platform != nullptr && platform->Has(replay::kNeedsDriver)) {
      plan.parts.push_back({.part = BundlePart::kChoices, .bytes = std::nullopt, .of_run = true});
    }
    for (const BundlePart part : kOfRun) {
      if (part != BundlePart::kRun || source_.run_json) plan.parts.push_back({.part = part});
    }
    std::ranges::sort(plan.parts, {}, &PlannedPart::part);
    plan.packed_bytes = static_cast<int64_t>(BytesOfZip(known));
    return plan;
  }

 private:
  static std::unexpected<Error> Stopped() {
    return std::unexpected(Error{ErrorClass::kCancelled, "stopped; no bundle was made", {}, {}});
  }

  // Everything that does not tell of the run. `packed_inputs` as for CollectValues.
  Status AddParts(const PackedInputs& packed_inputs) {
    Learn();
    HLOSCOPE_TRY(AddModules());
    HLOSCOPE_TRY(AddValues(packed_inputs));
    Describe();
    AddTexts();
    return {};
  }

  // The inputs of the first iteration; gives whether a run recorded them. `report` gets what that
  // of the run would say of them.
  Result<bool> PrepareInputs(const replay::Placement& placement, const std::string& packed_inputs,
                             RunReport& report, const std::stop_token& stop) const {
    InputSource inputs(*source_.module, placement, source_.request, report, packed_inputs);
    inputs.set_bounds(std::chrono::steady_clock::time_point::max(), stop);
    HLOSCOPE_TRY(inputs.Prepare(0));
    return inputs.recorded().has_value();
  }

  // A platform that refuses the module ends the run before inputs are read: others need them. What
  // is wrong with inputs where an error of that class ended the run is the error.
  Status TakeInputs(const std::string& packed_inputs, const std::stop_token& stop) {
    const bool may_be_why = !source_.report && report_.error->error_class == ErrorClass::kInput;
    if (!may_be_why && source_.values == ValuePolicy::kNone) return {};
    Status taken = replay::CheckDeviceCount(*source_.module, source_.request.limits);
    if (taken.has_value()) {
      const replay::Placement placement(*source_.module, source_.request.limits);
      const Result<bool> prepared = PrepareInputs(placement, packed_inputs, report_, stop);
      if (!prepared) taken = std::unexpected(prepared.error());
    }
    return may_be_why ? taken : Status();
  }

  // The size of the inputs in files, by their headers, which are enough for a plan where their
  // values do not go in or are many: `packed_inputs` is planned then.
  int64_t PlanInputs(const replay::Placement& placement, PackedInputs& packed_inputs) {
    if (source_.values == ValuePolicy::kStatistics || source_.request.inputs.files.empty() ||
        NamesSnapshot(source_.request.inputs.files) || placement.lists() != 1) {
      return 0;
    }
    RunReport report;
    InputSource inputs(*source_.module, placement, source_.request, report);
    inputs.ReadHeadersOnly();
    if (!inputs.Prepare(0)) return 0;
    packed_inputs.planned =
        source_.values != ValuePolicy::kAll || ValueBytes(report.arguments) > kMaxLiteralBytes;
    if (packed_inputs.planned) report_ = std::move(report);
    return BytesOfRunInputs(inputs.inputs(), placement);
  }

  // What the report of the run will say of inputs and of the form of results; the values of results
  // are zeros. Gives what PlanInputs does.
  int64_t Foresee(PackedInputs& packed_inputs, const std::stop_token& stop) {
    if (source_.values == ValuePolicy::kNone) return 0;
    const RunSpec& request = source_.request;
    if (!replay::CheckDeviceCount(*source_.module, request.limits)) return 0;  // as below
    const replay::Placement placement(*source_.module, request.limits);
    const int64_t bytes = PlanInputs(placement, packed_inputs);
    const std::string saved = source_.values == ValuePolicy::kAll ? packed_inputs.path : "";
    const Result<bool> recorded =
        packed_inputs.planned ? false : PrepareInputs(placement, saved, report_, stop);
    // Without inputs the run fails, which is what the bundle will show.
    if (!recorded) return bytes;
    report_.against_recorded =
        request.compare.expect.empty() && request.reference.name.empty() && *recorded;
    knows_results_ = KnowsResults(placement);
    for (const replay::LeafPlacement& leaf : placement.results()) {
      RunOutput& output = report_.outputs.emplace_back();
      output.comparison.shape = leaf.shape;
      if (!knows_results_) output.missing = Error{ErrorClass::kUnsupported, "not known", {}, {}};
      if (!knows_results_ || !leaf.shape.IsArray()) continue;
      std::vector<std::byte> zeros(static_cast<size_t>(leaf.shape.ByteSize().value_or(0)));
      output.value = hlo::Literal::Dense(leaf.shape, std::move(zeros));
    }
    return bytes;
  }

  // The run will give results of these very shapes, and they can be made here.
  static bool KnowsResults(const replay::Placement& placement) {
    int64_t bytes = 0;
    for (const replay::LeafPlacement& leaf : placement.results()) {
      if (!leaf.shape.IsArray()) continue;
      bytes +=
          std::min(leaf.shape.ByteSize().value_or(kMaxForeseenBytes + 1), kMaxForeseenBytes + 1);
      if (leaf.shape.has_dynamic_dimension() || bytes > kMaxForeseenBytes) return false;
    }
    return placement.lists() == 1;
  }

  // The bytes of that part are those of the bundle.
  bool IsForeseen(BundlePart part) const {
    if (part == BundlePart::kResultFacts && source_.values == ValuePolicy::kStatistics) {
      return false;
    }
    return knows_results_ || !IsOfRun(part);
  }

  void Learn() {
    LearnFrom(*source_.module, redactor_);
    for (const auto& module :
         {source_.other, source_.before_pass, source_.after_pass, source_.reduced}) {
      if (module != nullptr) LearnFrom(*module, redactor_);
    }
    for (const std::string* text :
         {&source_.file, &source_.stablehlo, &source_.ptx, &source_.debug_options, &source_.log,
          &source_.verdict_json, &source_.profile_json, &source_.profile_comparison_json,
          &source_.note}) {
      redactor_.Learn(*text);
    }
    LearnFrom(source_.kernels, redactor_);
    redactor_.Learn(run_json_);
  }

  void Add(BundlePart part, std::string bytes) {
    if (!bytes.empty()) parts_.emplace_back(part, std::move(bytes));
  }

  // A module beside that of the run.
  Status AddBeside(BundlePart part, const std::shared_ptr<const hlo::Module>& module) {
    if (module == nullptr) return {};
    HLOSCOPE_ASSIGN_OR_RETURN(
        const RedactedModule redacted,
        RedactModule(*module, redactor_, source_.redaction, source_.request.limits));
    Add(part, redacted.text);
    const std::string_view file = dump::FileOf(part);
    for (const std::string& note : redacted.notes) Note(fmt::format("{}: {}", file, note));
    for (const std::string& note : SpelledSecrets(*module, redactor_))
      Note(fmt::format("{}: {}", file, note));
    return {};
  }

  // The two around the pass that is blamed; a dump may be larger than a report should be.
  Status AddStages() {
    constexpr size_t kMaxBytes = size_t{16} << 20;  // of both, in memory
    if (packed_.before_pass == nullptr || packed_.after_pass == nullptr) return {};
    if (packed_.before_pass->MemoryBytes() + packed_.after_pass->MemoryBytes() > kMaxBytes) {
      Note("the modules around the pass that the verdict blames are left out: they are large");
      return {};
    }
    HLOSCOPE_TRY(AddBeside(BundlePart::kBeforePass, packed_.before_pass));
    return AddBeside(BundlePart::kAfterPass, packed_.after_pass);
  }

  Status AddModules() {
    const Limits& limits = source_.request.limits;
    HLOSCOPE_ASSIGN_OR_RETURN(packed_, PackModules(source_));
    HLOSCOPE_ASSIGN_OR_RETURN(const RedactedModule module,
                              RedactModule(*packed_.module, redactor_, source_.redaction, limits));
    manifest_.module = module.module->name();
    manifest_.instructions = static_cast<int64_t>(module.module->instructions().size());
    module_text_ = module.text;
    manifest_.notes = module.notes;
    for (const std::string& note : source_.notes) Note(redactor_.Text(note));
    for (std::string& note : SpelledSecrets(*packed_.module, redactor_)) Note(std::move(note));
    for (const std::string& note : packed_.notes) Note(note);
    NoteElided();
    Add(BundlePart::kModule, module.text);
    const hlo::ModuleHeader& header = module.module->header();
    // The text does not say these, and the run depends on them.
    const bool proto_only = header.is_partitioned || header.spmd_output_sharding.has_value();
    if (source_.as_proto || proto_only) {
      Add(BundlePart::kModuleProto, hlo::ModuleToProto(*module.module));
    }
    if (source_.kernels.module != nullptr) {
      HLOSCOPE_ASSIGN_OR_RETURN(std::string kernels,
                                PackKernels(source_.kernels, redactor_, source_.redaction, limits));
      Add(BundlePart::kDump, std::move(kernels));
    }
    HLOSCOPE_TRY(AddBeside(BundlePart::kOther, packed_.other));
    HLOSCOPE_TRY(AddStages());
    if (packed_.reduced == nullptr) return {};
    HLOSCOPE_ASSIGN_OR_RETURN(const RedactedModule reduced,
                              RedactModule(*packed_.reduced, redactor_, source_.redaction, limits));
    reduced_text_ = reduced.text;
    Add(BundlePart::kReduced, reduced.text);
    HLOSCOPE_ASSIGN_OR_RETURN(BundleValues inputs,
                              CollectReducedInputs(source_.reduced_arguments, source_.values));
    for (auto& [part, bytes] : inputs.parts) Add(part, std::move(bytes));
    return {};
  }

  Status AddValues(const PackedInputs& packed_inputs) {
    HLOSCOPE_ASSIGN_OR_RETURN(BundleValues values,
                              CollectValues(report_, request_, source_.values, packed_inputs));
    for (auto& [part, bytes] : values.parts) Add(part, std::move(bytes));
    for (std::string& note : values.notes) Note(redactor_.Text(WithoutElements(note)));
    return {};
  }

  // How the run went.
  void Record() {
    manifest_.values = source_.values;
    manifest_.recorded = RecordOf(report_, *source_.module);
    const RunSpec& request = source_.request;
    manifest_.recorded.inputs_generated = request.inputs.files.empty() &&
                                          request.inputs.literals_file.empty() &&
                                          request.inputs.arguments.empty();
    manifest_.recorded.inputs_unread = inputs_unread_;
    manifest_.recorded.infeed_given = !request.inputs.infeed.empty();
    manifest_.recorded.against_expected =
        !request.compare.expect.empty() || report_.against_recorded;
    manifest_.recorded.constants_left_out = LeavesOutConstants(source_);
    WithoutGuessableHashes(manifest_.recorded);
    if (packed_.reduced != nullptr) {
      manifest_.recorded.reduced_inputs_generated = source_.reduced_arguments.empty();
    }
    DescribeFailure();
  }

  // Of few values a hash can be guessed, and results give the values that they are made of away.
  // Those that the seed gives anybody can make.
  void WithoutGuessableHashes(RecordedRun& recorded) const {
    if (source_.values >= ValuePolicy::kStatistics) return;
    if (!recorded.inputs_generated) recorded.inputs_hash.clear();
    if (!recorded.inputs_generated || recorded.infeed_given || recorded.constants_left_out) {
      recorded.results_hash.clear();
    }
  }

  void Note(std::string note) { manifest_.notes.push_back(std::move(note)); }

  void NoteElided() {
    const size_t elided = hlo::ElidedConstants(*source_.module).size();
    if (elided == 0) return;
    if (auto hint = MadeUpConstantsHint(*source_.module, source_.request)) {
      return Note(*std::move(hint));
    }
    Note(fmt::format("the values of {} are elided in the file, and not in the bundle",
                     Counted(elided, "constant")));
  }

  using Flags = std::vector<std::pair<std::string, std::string>>;
  Flags WithoutPaths(const Flags& flags) {
    Flags out;
    for (const auto& [name, value] : flags) {
      if (redactor_.Text(value) == value) {
        out.emplace_back(name, value);
      } else {
        Note(fmt::format("the flag {} names a file here and was left out", name));
      }
    }
    return out;
  }

  // What the manifest says beside parts and values.
  void Describe() {
    manifest_.tool = source_.tool;
    manifest_.file = redactor_.Path(source_.file);
    manifest_.stage = redactor_.Text(source_.stage);
    manifest_.framework = source_.framework;
    manifest_.framework_version = redactor_.Text(source_.framework_version);
    manifest_.xla_version = redactor_.Text(source_.xla_version);
    manifest_.target = source_.target;
    manifest_.request = source_.request;
    for (std::string* platform :
         {&manifest_.request.test.name, &manifest_.request.reference.name}) {
      if (platform->starts_with(replay::kPluginFilePrefix)) *platform = redactor_.Text(*platform);
    }
    if (!IsTargetName(manifest_.request.load.gpu_target)) {
      Note("--target names a file here and was left out");
      manifest_.request.load.gpu_target.clear();
    }
    manifest_.request.test.xla_flags = WithoutPaths(source_.request.test.xla_flags);
    manifest_.request.reference.xla_flags = WithoutPaths(source_.request.reference.xla_flags);
    machine_ = ReadMachineFacts(PlatformsOf(source_.request));
    manifest_.cpu_features = machine_.cpu_features;
    for (const PluginFacts& plugin : machine_.plugins) {
      manifest_.plugins.push_back(ToString(plugin));
    }
  }

  void DescribeFailure() {
    RecordedRun& recorded = manifest_.recorded;
    if (recorded.failure) {
      if (source_.values < ValuePolicy::kStatistics) HideValues(*recorded.failure);
      recorded.failure->text = redactor_.Text(recorded.failure->text);
      for (std::string& text : recorded.failure->classes) text = redactor_.Text(text);
    }
    manifest_.sentence = SentenceOf(Report(source_.verdict_json));
    if (!manifest_.sentence.empty()) return;
    const std::string what = recorded.failure ? recorded.failure->text
                             : recorded.status == RunStatus::kEqual
                                 ? "the results agree"
                                 : "it ran; nothing was compared";
    manifest_.sentence = fmt::format("{}{}: {}", manifest_.request.test.name,
                                     AgainstPhrase(manifest_, report_), what);
  }

  void AddTexts() {
    if (source_.redaction.text == FreeText::kAll) {
      Add(BundlePart::kStableHlo, redactor_.Text(source_.stablehlo));
      Add(BundlePart::kPtx, RedactCode(source_.ptx, "//", FreeText::kAll, redactor_));
      Add(BundlePart::kLog, Spoken(source_.log));
    }
    Add(BundlePart::kVerdict, Report(source_.verdict_json));
    for (const auto& [part, text] :
         {std::pair(BundlePart::kProfile, &source_.profile_json),
          std::pair(BundlePart::kProfileComparison, &source_.profile_comparison_json)}) {
      if (!text->empty()) Add(part, redactor_.Json(*text) + "\n");
    }
    if (report_.executed) {
      Add(BundlePart::kChoices, replay::libraries::TableOf(report_.executed->choice_rows));
    }
    Add(BundlePart::kNote, redactor_.Text(source_.note));
    Add(BundlePart::kEnvironment, EnvironmentJson());
  }

  // A text that may quote values.
  std::string Spoken(std::string_view text) {
    const std::string redacted = redactor_.Text(text);
    return source_.values < ValuePolicy::kStatistics ? WithoutElements(redacted) : redacted;
  }

  std::string EnvironmentJson() {
    std::string out;
    JsonWriter json(out);
    json.BeginObject()
        .Field("hloscope", manifest_.tool)
        .Field("processor", machine_.processor)
        .Field("system", machine_.system)
        .Field("cpus", machine_.cpus)
        .Field("threads", source_.request.budget.threads)
        .Field("memory_bytes", machine_.memory_bytes)
        .Key("cpu_features")
        .BeginArray();
    for (const std::string& feature : machine_.cpu_features) json.Value(feature);
    json.EndArray().Key("plugins").BeginArray();
    for (const PluginFacts& plugin : machine_.plugins) {
      json.BeginObject()
          .Field("platform", redactor_.Text(plugin.platform))
          .Field("distribution", plugin.distribution)
          .Field("version", plugin.version)
          .EndObject();
    }
    json.EndArray().Key("xla_flags").BeginObject();
    for (const auto& [name, value] : source_.request.test.xla_flags) {
      json.Field(name, redactor_.Text(value));
    }
    json.EndObject()
        .Field("dumped_options_beyond_defaults", redactor_.Text(source_.debug_options))
        .EndObject();
    return out + "\n";
  }

  Status Replay(const std::string& folder) {
    if (!source_.replay) return {};
    HLOSCOPE_ASSIGN_OR_RETURN(const std::string bytes, Assemble());
    const std::string path = folder + "/unfinished.hlob";
    HLOSCOPE_TRY(WriteFileAtomically(path, bytes));
    const auto replayed = source_.replay(path);
    manifest_.replayed = replayed ? replayed->first : ToString(CheckStatus::kCannot);
    manifest_.replay = redactor_.Text(replayed ? replayed->second : replayed.error().ToString());
    if (source_.values < ValuePolicy::kStatistics) {
      manifest_.replay = WithoutElements(manifest_.replay);
    }
    return {};
  }

  // A report with the fields that may go in; empty where there is none.
  std::string Report(const std::string& json) {
    if (json.empty()) return "";
    return redactor_.Json(WithAllowedFields(json, source_.values)) + "\n";
  }

  std::string PartOfRun(BundlePart part) {
    if (part == BundlePart::kRun) return Report(run_json_);
    if (!document_) document_ = MakeDocument();
    return part == BundlePart::kReportHtml ? ToHtml(*document_) : ToMarkdown(*document_);
  }

  // What is in already of that part; empty: it is not.
  std::string PartText(BundlePart part) const {
    const auto at = std::ranges::find(parts_, part, [](const auto& one) { return one.first; });
    return at == parts_.end() ? std::string() : at->second;
  }

  ReportDocument MakeDocument() {
    std::ranges::sort(parts_, {}, [](const auto& part) { return part.first; });
    manifest_.redacted = redactor_.Counts();
    ReportFacts facts{.manifest = manifest_,
                      .machine = machine_,
                      .report = report_,
                      .module_text = module_text_,
                      .reduced_text = reduced_text_,
                      .verdict_json = Report(source_.verdict_json),
                      .profile_json = PartText(BundlePart::kProfile),
                      .note = redactor_.Text(source_.note),
                      .out_name = redactor_.Text(source_.out_name),
                      .parts = {}};
    for (const auto& [part, bytes] : parts_) facts.parts.push_back(part);
    ReportDocument document = MakeReport(facts);
    for (ReportSection& section : document.sections) {
      for (auto& row : section.rows) {
        for (std::string& cell : row) cell = redactor_.Text(cell);
      }
      for (std::string& text : section.paragraphs) text = redactor_.Text(text);
    }
    return document;
  }

  // The bundle of all parts so far.
  Result<std::string> Assemble() {
    std::ranges::sort(parts_, {}, [](const auto& part) { return part.first; });
    manifest_.redacted = redactor_.Counts();
    std::vector<dump::BundleFile::Listed> listed;
    for (const auto& [part, bytes] : parts_) {
      listed.push_back({part, static_cast<int64_t>(bytes.size()), dump::BundleHash(bytes)});
    }
    const std::string manifest = ManifestJson(manifest_, listed);
    std::vector<ZipEntry> entries = {
        {.name = std::string(dump::FileOf(BundlePart::kManifest)), .bytes = manifest}};
    for (const auto& [part, bytes] : parts_) entries.push_back(EntryOf(part, bytes));
    return WriteZip(entries);
  }

  static ZipEntry EntryOf(BundlePart part, const std::string& bytes) {
    const std::string name(dump::FileOf(part));
    return {.name = name,
            .bytes = bytes,
            .deflate = !name.ends_with(".npz") && !name.ends_with(".zip")};
  }

  const BundleSource& source_;
  PackedModules packed_;
  RunSpec request_;  // what runs
  Redactor redactor_;
  RunReport report_;
  bool inputs_unread_ = false;  // by the run
  BundleManifest manifest_;
  MachineFacts machine_;
  std::string run_json_, module_text_, reduced_text_;
  std::vector<std::pair<BundlePart, std::string>> parts_;
  std::optional<ReportDocument> document_;
  bool knows_results_ = true;  // their shapes, before the run
};

}  // namespace

Result<BundlePlan> PlanBundle(const BundleSource& source, const std::stop_token& stop) {
  return Creation(source).Plan(stop);
}

Result<MadeBundle> CreateBundle(const BundleSource& source, const std::stop_token& stop) {
  return Creation(source).Run(stop);
}

}  // namespace hloscope::debug
