// Compiling without XLA, and the dump of it.
#include "app/commands/own_compile.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "core/base/file.h"
#include "core/base/system_error.h"
#include "core/compile/compile.h"
#include "core/hlo/text/text.h"

namespace hloscope::app {
namespace {

// XLA's pipeline of its last passes; ours has one.
constexpr std::string_view kPipeline = "optimization";

class DumpFolder {
 public:
  DumpFolder(std::string folder, std::string_view module) : folder_(std::move(folder)) {
    for (const char c : module) name_ += c == '/' || c == ' ' ? '_' : c;
  }

  Status Make() const {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (!error) return {};
    return EnvironmentError(fmt::format("{}: {}", folder_, error.message()));
  }

  Status Write(const hlo::Module& module, const std::string& point) {
    std::string text;
    hlo::PrintText(module, hlo::TextFormat::kHlo, text);
    ++files_;
    return WriteFileAtomically(fmt::format("{}/module_0000.{}.{}.txt", folder_, name_, point),
                               text);
  }

  size_t files() const { return files_; }

 private:
  std::string folder_, name_;
  size_t files_ = 0;
};

Status WriteDump(DumpFolder& folder, const hlo::Module& before,
                 const compile::Compilation& compiled) {
  HLOSCOPE_TRY(folder.Make());
  HLOSCOPE_TRY(folder.Write(before, "before_optimizations"));
  for (size_t k = 0; k < compiled.stages.size(); ++k) {
    const std::string next =
        k + 1 < compiled.stages.size() ? compiled.stages[k + 1].pass : "pipeline-end";
    HLOSCOPE_TRY(folder.Write(*compiled.stages[k].module,
                              fmt::format("{:04}.{}.after_{}.before_{}", k + 1, kPipeline,
                                          compiled.stages[k].pass, next)));
  }
  return folder.Write(*compiled.module, "cpu_after_optimizations");
}

}  // namespace

Result<OwnCompileReport> OwnCompile(std::shared_ptr<const hlo::Module> module,
                                    const std::string& dump, bool passes) {
  compile::CompileOptions options;
  options.keep_stages = passes;
  const auto begin = std::chrono::steady_clock::now();
  HLOSCOPE_ASSIGN_OR_RETURN(const compile::Compilation compiled, compile::Compile(module, options));
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
  OwnCompileReport report;
  report.module = compiled.module;
  report.instructions_before = module->instructions().size();
  report.instructions = compiled.module->instructions().size();
  report.kernels = compiled.kernels.size();
  report.compile_ms = time.count();
  if (dump.empty()) return report;
  DumpFolder folder(dump, module->name());
  HLOSCOPE_TRY(WriteDump(folder, *module, compiled));
  report.dump_files = folder.files();
  return report;
}

}  // namespace hloscope::app
