// `hloscope explain`: error texts, tracebacks and logs of frameworks in plain words.
#include <fmt/format.h>

#include <cstdlib>

#include "app/command.h"
#include "app/fail.h"
#include "app/output.h"
#include "app/reports/error_report.h"
#include "core/base/counted.h"
#include "core/base/file.h"
#include "core/base/memory_limit.h"
#include "core/debug/recompile/compile_log.h"
#include "core/dump/container.h"
#include "core/dump/dump_model.h"
#include "core/dump/logged_errors.h"

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
    int64_t left_out = 0;
    const auto read =
        WithinMemory(context.limits, path, [&]() -> Result<std::vector<dump::ExplainedError>> {
          auto errors = dump::ExplainErrors(file->bytes(), kMax, &left_out);
          AddRecompilations(file->bytes(), path, errors);
          return errors;
        });
    if (!read) return Fail(path, read.error(), context);
    const std::vector<dump::ExplainedError>& errors = *read;
    for (const dump::ExplainedError& error : errors) Print(error, path, context);
    if (left_out > 0)
      PrintError(fmt::format("{}: {} left out", path,
                             Counted(left_out, "more error is", "more errors are")));
    return errors.empty() ? NothingIn(path, context) : kGood;
  }

  // Programs of a log that were compiled again are explained as errors are.
  static void AddRecompilations(std::string_view text, const std::string& path,
                                std::vector<dump::ExplainedError>& errors) {
    const auto found = debug::RecompilationsOf(debug::ReadCompileLog(text, path));
    for (const debug::Recompilation& one : found.list) {
      dump::ExplainedError& error = errors.emplace_back();
      error.kind = "compiled_again";
      error.node = one.program;
      // "train.py:12" and "train.py:12:10"
      const size_t line = one.place.find(".py:");
      if (line != std::string::npos) {
        error.file = one.place.substr(0, line + 3);
        error.line = std::atoi(one.place.c_str() + line + 4);
      }
      error.reason = debug::ToSentence(one.cause);
      error.fix = debug::FixOf(one);
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
    return logged.errors.empty() ? NothingIn(path, context) : kGood;
  }

  // An input without an error is answered too: none of several is passed over.
  static int NothingIn(const std::string& path, const Context& context) {
    const std::string text =
        "no error text that hloscope knows (with the whole traceback or log it may find more)";
    if (context.json) WriteOut(NothingExplainedJson(path, text));
    PrintError(fmt::format("{}: {}", path, text));
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
