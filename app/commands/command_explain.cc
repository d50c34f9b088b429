// `hloscope explain`: error texts, tracebacks and logs of frameworks in plain words.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "app/command.h"
#include "app/fail.h"
#include "app/output.h"
#include "app/reports/error_report.h"
#include "core/base/counted.h"
#include "core/base/escape.h"
#include "core/base/file.h"
#include "core/base/format_text.h"
#include "core/base/memory_limit.h"
#include "core/debug/recompile/compile_log.h"
#include "core/debug/recompile/dump_recompilations.h"
#include "core/dump/container.h"
#include "core/dump/dump_model.h"
#include "core/dump/errors/nearest_text.h"
#include "core/dump/listing/sniff.h"
#include "core/dump/logged_errors.h"
#include "core/dump/run_record.h"

namespace hloscope::app {
namespace {

class ExplainCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {
        {.name = "files",
         .target = &files_,
         .help = "error texts, tracebacks or logs; dump directories with logs; - is standard input",
         .value = "FILE",
         .required = true}};
  }

  int Run(const Context& context) override {
    int status = kGood;
    for (const std::string& path : files_) {
      const bool folder = path != "-" && dump::IsFolder(path);
      status = Worse(status, folder ? Folder(path, context) : File(path, context));
    }
    return status;
  }

 private:
  static int File(const std::string& path, const Context& context) {
    auto file = FileView::Open(path, context.limits);
    if (!file) return Fail(path, file.error(), context);
    const dump::FileKind kind = dump::Sniff(file->bytes());
    if (IsUnreadable(kind, file->bytes())) return Fail(path, NotText(path, kind), context);
    int64_t left_out = 0;
    const auto read =
        WithinMemory(context.limits, path, [&]() -> Result<std::vector<dump::ExplainedError>> {
          auto errors = dump::ExplainErrors(file->bytes(), kMax, &left_out);
          AddCompilations(file->bytes(), path, errors);
          return errors;
        });
    if (!read) return Fail(path, read.error(), context);
    const std::vector<dump::ExplainedError>& errors = *read;
    for (const dump::ExplainedError& error : errors) Print(error, path, context);
    if (left_out > 0)
      PrintError(FormatText("{}: {} left out", path,
                            Counted(left_out, "more error is", "more errors are")));
    if (!errors.empty()) return kGood;
    if (dump::IsModuleKind(kind)) return Fail(path, NotText(path, kind), context);
    return NothingIn(path, dump::FindNearestText(file->bytes()), context);
  }

  // Logs may hold a few bytes that are not text.
  static bool IsUnreadable(dump::FileKind kind, std::string_view bytes) {
    if (kind == dump::FileKind::kUnknown) return bytes.contains('\0');
    return kind != dump::FileKind::kEmpty && !dump::IsText(kind);
  }

  static Error NotText(const std::string& path, dump::FileKind kind) {
    const bool is_known = kind != dump::FileKind::kUnknown;
    Error error = InputError(fmt::format("is {}, not the text of an error",
                                         is_known ? dump::Describe(kind) : "a binary file"),
                             "expected an error text, a traceback, a log or a dump directory")
                      .error();
    if (dump::IsModuleKind(kind))
      error.hint = fmt::format(
          "`hloscope info {0}` and `hloscope open {0}` show it; `hloscope run {0} 2>error.txt` "
          "keeps the error of a run",
          Quoted(path));
    error.place.file = path;
    return error;
  }

  // "train.py:12" and "train.py:12:10"
  static void SetPlace(const std::string& place, dump::ExplainedError& error) {
    const size_t line = place.find(".py:");
    if (line == std::string::npos) return;
    error.file = place.substr(0, line + 3);
    error.line = std::atoi(place.c_str() + line + 4);
  }

  // Graphs of PyTorch/XLA and programs of a log that were compiled again are explained as errors
  // are.
  static void AddCompilations(std::string_view text, const std::string& path,
                              std::vector<dump::ExplainedError>& errors) {
    const debug::CompileLog log = debug::ReadCompileLog(text, path);
    AddGraphs(log, path, false, errors);
    AddRecompilations(debug::RecompilationsOf(log), FolderOfDump(path), errors);
  }

  // The folder of a file that `record` made; empty: it made none, or the file is standard input.
  static std::string FolderOfDump(const std::string& path) {
    if (path == "-") return {};
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::error_code failed;
    if (!std::filesystem::is_regular_file(folder / dump::kRecordFile, failed)) return {};
    return folder.empty() ? "." : folder.string();
  }

  static void AddGraphs(const debug::CompileLog& log, const std::string& path, bool only_faults,
                        std::vector<dump::ExplainedError>& errors) {
    size_t found = 0;
    for (size_t k = 0; k < log.graphs.size(); ++k) {
      if ((only_faults && !debug::IsFault(log.graphs[k])) || ++found > kMax) continue;
      debug::TorchGraphText graph = debug::TextOf(log.graphs, k);
      dump::ExplainedError& error = errors.emplace_back();
      error.kind = "graph_compiled";
      error.severity = graph.is_fault ? dump::Severity::kWarning : dump::Severity::kNote;
      SetPlace(log.graphs[k].place, error);
      error.reason = std::move(graph.reason);
      error.fix = std::move(graph.fix);
      error.at_line = static_cast<int32_t>(log.graphs[k].line);
    }
    if (found > kMax)
      PrintError(FormatText("{}: {} left out", path,
                            Counted(found - kMax, "more graph is", "more graphs are")));
  }

  // `dump` is the folder whose modules show what a log alone does not; empty: none is known.
  static void AddRecompilations(const debug::Recompilations& found, const std::string& dump,
                                std::vector<dump::ExplainedError>& errors) {
    for (const debug::Recompilation& one : found.list) {
      dump::ExplainedError& error = errors.emplace_back();
      error.kind = "compiled_again";
      error.severity = dump::Severity::kWarning;
      error.node = one.program;
      SetPlace(one.place, error);
      error.reason = debug::ToSentence(one.cause);
      error.fix = debug::FixOf(one);
      if (one.cause.reason == debug::RecompileReason::kUnknown && !dump.empty())
        error.fix = FormatText("hloscope explain {}: its modules show what changed", Quoted(dump));
      error.at_line = one.line;
    }
    for (const std::string& warning : found.warnings) PrintError("warning: " + warning);
  }

  static int Folder(const std::string& path, const Context& context) {
    auto model = dump::DumpModel::Open(path, context.limits);
    if (!model) return Fail(path, model.error(), context);
    const dump::LoggedErrors logged = dump::ErrorsInLogs(**model);
    for (const dump::LoggedError& error : logged.errors)
      Print(error.error, (*model)->FullPath(error.file), context);
    for (const std::string& warning : logged.warnings) PrintError("warning: " + warning);
    std::vector<dump::ExplainedError> again;
    AddFaultyGraphs(**model, again);
    AddRecompilations(debug::RecompilationsIn(**model), {}, again);
    for (dump::ExplainedError& error : again) {
      error.at_line = 0;  // of one of its logs
      Print(error, path, context);
    }
    return logged.errors.empty() && again.empty() ? NothingIn(path, {}, context) : kGood;
  }

  static void AddFaultyGraphs(const dump::DumpModel& model,
                              std::vector<dump::ExplainedError>& errors) {
    for (size_t k = 0; k < model.files().size(); ++k) {
      const dump::FileEntry& file = model.files()[k];
      if (file.role != dump::FileRole::kRunLog) continue;
      // A log that cannot be read is in the warnings already.
      (void)model.ReadFile(static_cast<int32_t>(k), [&](std::string_view text) {
        const std::string path = model.FullPath(static_cast<int32_t>(k));
        AddGraphs(debug::ReadCompileLog(text, path), path, true, errors);
        return true;
      });
    }
  }

  // An input without an error is answered too: none of several is passed over.
  static int NothingIn(const std::string& path, const dump::NearestText& nearest,
                       const Context& context) {
    std::string text =
        "no error text that hloscope knows (with the whole traceback or log it may find more)";
    if (nearest.line.empty() && nearest.informational > 0)
      text = FormatText(
          "no line of it {} ({}{})", nearest.plain == 0 ? "is an error" : "looks like an error",
          Counted(nearest.informational, "informational line", "informational lines"),
          nearest.plain == 0
              ? ""
              : " and " + Counted(nearest.plain, "line that the program seems to print",
                                  "lines that the program seems to print"));
    if (!nearest.line.empty())
      text += FormatText("; read: line {}, {}", nearest.at_line, nearest.line);
    if (!nearest.known.empty())
      text += FormatText("; the nearest that it knows, another one: {} ({})", nearest.known,
                         nearest.kind);
    if (context.json) WriteOut(NothingExplainedJson(path, text, nearest));
    PrintError(FormatText("{}: {}", path, text));
    return kDiffers;
  }

  static void Print(const dump::ExplainedError& error, const std::string& path,
                    const Context& context) {
    WriteOut(context.json ? ErrorJson(error, path) + "\n" : ErrorText(error, path, ""));
  }

  static constexpr size_t kMax = 200;
  std::vector<std::string> files_;
};

}  // namespace

std::unique_ptr<Command> MakeExplainCommand() { return std::make_unique<ExplainCommand>(); }

}  // namespace hloscope::app
