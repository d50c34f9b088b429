#include "viewer/lab/recompilation.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "core/debug/record/flag_text.h"
#include "core/debug/run/compile_again.h"
#include "viewer/model/document.h"
#include "viewer/model/experiment.h"
#include "viewer/model/messages.h"
#include "viewer/model/requests.h"
#include "viewer/model/retained_files.h"
#include "viewer/model/second_dump.h"
#include "viewer/model/tasks.h"

namespace hloscope::viewer {
namespace {

// "--xla_a=1 --xla_b" as flags.
Result<std::vector<std::pair<std::string, std::string>>> FlagsOf(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> flags;
  for (const std::string& word : debug::FlagWords(text)) {
    if (!word.starts_with("--") || word.size() == 2)
      return InputError(fmt::format("{} is not a flag", word), "expected --xla_name=value");
    const size_t equals = std::min(word.find('='), word.size());
    flags.emplace_back(word.substr(2, equals - 2),
                       equals == word.size() ? "true" : word.substr(equals + 1));
  }
  return flags;
}

struct Recompiled {
  std::string folder;
  Result<debug::CompiledAgain> made = std::unexpected(Error{});
};

Recompiled Compile(const dump::DumpModel& dump, int32_t module, const RecompileChoice& choice,
                   const std::string& program, RetainedFiles& place, const std::stop_token& stop) {
  Recompiled out;
  const auto compile = [&]() -> Result<debug::CompiledAgain> {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto read, dump.Module(module, 0));
    debug::CompileAgainRequest request{.platform = choice.platform,
                                       .target = choice.target,
                                       .flags = {},
                                       .folder = {},
                                       .limits = {},
                                       .program = program};
    HLOSCOPE_ASSIGN_OR_RETURN(request.flags, FlagsOf(choice.flags));
    HLOSCOPE_ASSIGN_OR_RETURN(out.folder, place.NewPath(read->name(), choice.platform));
    request.folder = out.folder;
    return debug::CompileAgain(read, request, stop);
  };
  out.made = compile();
  std::error_code error;
  if (!out.made && !out.folder.empty()) std::filesystem::remove_all(out.folder, error);
  if (out.made) place.RemoveOldest();
  return out;
}

void Report(Context& context, const Recompiled& recompiled, bool is_retained) {
  if (!recompiled.made) {
    return context.messages.Post(Severity::kError,
                                 "not compiled: " + recompiled.made.error().ToString());
  }
  for (const std::string& warning : recompiled.made->warnings)
    context.messages.Post(Severity::kWarning, warning);
  context.messages.Post(
      Severity::kNote,
      fmt::format("compiled by {}: {}{}", recompiled.made->compiler, recompiled.folder,
                  is_retained ? "" : " (temporary, deleted on exit)"));
  context.second.Open(recompiled.folder);
  context.requests.Show("two-dumps");
}

}  // namespace

void RecompileAsSecond(Context& context, int32_t module, const RecompileChoice& choice) {
  const auto dump = context.document.dump().value;
  const std::string& name = dump->modules()[static_cast<size_t>(module)].name;
  context.tasks.Start(fmt::format("compiling {} with {}", name, choice.platform),
                      [&context, dump, module, choice, program = context.experiment.program(),
                       place = context.experiment.compilations(),
                       life = context.document.life()](TaskControl& control) -> Tasks::Finish {
                        auto made = std::make_shared<Recompiled>(
                            Compile(*dump, module, choice, program, *place, control.stop()));
                        return [&context, made, place, life] {
                          if (life == context.document.life())
                            Report(context, *made, place->is_retained());
                        };
                      });
}

}  // namespace hloscope::viewer
