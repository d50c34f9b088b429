// `hloscope verify`: parse and check many files on all CPUs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <tuple>

#include "app/command.h"
#include "app/fail.h"
#include "app/inputs.h"
#include "app/output.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/jobs.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/hlo/analysis/summary.h"
#include "core/hlo/verify/verifier.h"

namespace hloscope::app {
namespace {

struct FileReport {
  Result<dump::LoadedModule> loaded;
  std::vector<hlo::Diagnostic> diagnostics;
  double time_ms = 0;

  size_t Count(hlo::Severity severity) const {
    return static_cast<size_t>(
        std::ranges::count(diagnostics, severity, &hlo::Diagnostic::severity));
  }
  bool sound() const { return loaded.has_value() && Count(hlo::Severity::kError) == 0; }
  int ExitStatus() const {
    if (!loaded) return ExitStatusOf(loaded.error());
    return sound() ? kGood : kBadInput;
  }
};

class VerifyCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {
        {.name = "files",
         .target = &files_,
         .help = "module files or dump directories; - is standard input",
         .value = "FILE",
         .required = true},
        {.name = "--strict",
         .target = &strict_,
         .help = "also report layout-sensitive, mixed-precision and backend checks as errors"},
        {.name = "--parse-only",
         .target = &parse_only_,
         .help = "parse only, without the verifier"},
    };
  }

  int Run(const Context& context) override {
    const ExpandedPaths expanded = ExpandDirectories(files_, context.limits, ModuleFilesIn);
    const std::vector<std::string>& files = expanded.files;
    std::vector<int> statuses(files.size(), kGood);
    OrderedOutput output;
    Progress progress("verify", files.size());
    int threads = context.jobs > 0 ? static_cast<int>(context.jobs) : AvailableCpus();
    Status done = ParallelFor(static_cast<int64_t>(files.size()), threads, [&](int64_t i) {
      auto k = static_cast<size_t>(i);
      FileReport report = Check(files[k], context);
      statuses[k] = report.ExitStatus();
      output.Put(k, context.json ? Json(files[k], report) : Lines(files[k], report));
      progress.Step();
    });
    int status = done ? kGood : Fail(InputKeys(), done.error(), context);
    for (int s : statuses) status = Worse(status, s);
    return Worse(status, expanded.ReportFailed("file", context));
  }

 private:
  FileReport Check(const std::string& file, const Context& context) const {
    auto start = std::chrono::steady_clock::now();
    FileReport report{dump::LoadModule(file, context.limits), {}, 0};
    if (report.loaded) {
      report.diagnostics = report.loaded->diagnostics;
      if (strict_) Harden(report.diagnostics);
      if (report.loaded->module != nullptr && !parse_only_) {
        hlo::VerifyOptions options{strict_, context.limits};
        for (hlo::Diagnostic& d : hlo::Verify(*report.loaded->module, options)) {
          report.diagnostics.push_back(std::move(d));
        }
      }
      Deduplicate(report.diagnostics);
      AddElided(report);
    }
    report.time_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return report;
  }

  // What the reader only warns of is an error in --strict.
  static void Harden(std::vector<hlo::Diagnostic>& diagnostics) {
    for (hlo::Diagnostic& d : diagnostics) d.severity = hlo::Severity::kError;
  }

  // Sound, also in --strict, but not the whole program.
  static void AddElided(FileReport& report) {
    if (report.loaded->module == nullptr) return;
    const hlo::Module& module = *report.loaded->module;
    const std::vector<hlo::InstructionId> elided = hlo::ElidedConstants(module);
    if (elided.empty()) return;
    hlo::Diagnostic note{
        hlo::Severity::kWarning, "elided-constants",
        fmt::format("{}: the values are not in this file",
                    Counted(elided.size(), "constant is elided", "constants are elided")),
        "the .hlo.pb of a dump has them"};
    if (const uint32_t offset = module.source_offset(elided.front())) note.offset = offset;
    report.diagnostics.push_back(std::move(note));
  }

  // Reader and verifier both know of unknown attributes; one line is enough.
  static void Deduplicate(std::vector<hlo::Diagnostic>& diagnostics) {
    auto key = [](const hlo::Diagnostic& d) {
      return std::tie(d.offset, d.severity, d.rule, d.message);
    };
    std::ranges::stable_sort(diagnostics, {}, [](const hlo::Diagnostic& d) { return d.offset; });
    auto [from, to] = std::ranges::unique(diagnostics, {}, key);
    diagnostics.erase(from, to);
  }

  static std::string Lines(const std::string& file, const FileReport& report) {
    if (!report.loaded) return MessageLines(report.loaded.error().ToString()) + "\n";
    std::string lines = ProblemLines(*report.loaded, report.diagnostics);
    if (report.sound()) {
      lines += FormatText("{}: ok, {}\n", file,
                          Counted(report.loaded->module->instructions().size(), "instruction"));
    }
    return lines;
  }

  static std::string Json(const std::string& file, const FileReport& report) {
    std::string out;
    JsonWriter json(out);
    json.BeginObject().Field("file", file).Field("status", report.sound() ? "ok" : "error");
    WriteProblems(json, "errors", report, hlo::Severity::kError);
    WriteProblems(json, "warnings", report, hlo::Severity::kWarning);
    bool read = report.loaded && report.loaded->module != nullptr;
    json.Field("instructions", read ? report.loaded->module->instructions().size() : size_t{0});
    json.Field("time_ms", report.time_ms).EndObject();
    return out + "\n";
  }

  static void WriteProblem(JsonWriter& json, const Place& place, std::string_view rule,
                           const std::string& message, const std::string& hint) {
    json.BeginObject().Field("line", place.line).Field("column", place.column).Field("rule", rule);
    json.Field("message", message).Field("hint", hint).EndObject();
  }

  static void WriteProblems(JsonWriter& json, std::string_view key, const FileReport& report,
                            hlo::Severity severity) {
    json.Key(key).BeginArray();
    if (!report.loaded && severity == hlo::Severity::kError) {
      const Error& e = report.loaded.error();
      WriteProblem(json, e.place,
                   e.error_class == ErrorClass::kUnsupported ? "unsupported" : "file", e.message,
                   e.hint);
    }
    std::optional<dump::Places> places;
    if (report.loaded) places.emplace(*report.loaded);
    for (const hlo::Diagnostic& d : report.diagnostics) {
      if (d.severity == severity && places) {
        WriteProblem(json, places->Of(d), d.rule, d.message, d.hint);
      }
    }
    json.EndArray();
  }

  std::vector<std::string> files_;
  bool strict_ = false;
  bool parse_only_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeVerifyCommand() { return std::make_unique<VerifyCommand>(); }

}  // namespace hloscope::app
