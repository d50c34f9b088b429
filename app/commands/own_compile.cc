// Compiling without XLA, and the dump of it.
#include "app/commands/own_compile.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "core/base/file.h"
#include "core/compile/compile.h"
#include "core/compile/dump/dump_texts.h"
#include "core/hlo/proto/proto.h"
#include "core/hlo/text/text.h"
#include "core/replay/ahead/code_texts.h"

namespace hloscope::app {
namespace {

namespace fs = std::filesystem;

// XLA's pipeline of its last passes; ours has one.
constexpr std::string_view kPipeline = "optimization";
constexpr std::string_view kFinal = "cpu_after_optimizations";

class DumpFolder {
 public:
  DumpFolder(std::string folder, std::string_view module) : folder_(std::move(folder)) {
    for (const char c : module) name_ += c == '/' || c == ' ' ? '_' : c;
  }

  Status Make() const {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) return EnvironmentError(fmt::format("{}: {}", folder_, error.message()));
    for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
      if (it->path().filename().string().starts_with("module_")) {
        return InputError(fmt::format("{}: already contains a dump", folder_),
                          "give a new or empty folder");
      }
    }
    return {};
  }

  Status Write(const std::string& what, std::string_view bytes) {
    ++files_;
    return WriteFileAtomically(fmt::format("{}/module_0000.{}.{}", folder_, name_, what), bytes);
  }
  Status Write(std::shared_ptr<const hlo::Module> module, const std::string& point) {
    std::string text;
    hlo::PrintText(*module, hlo::TextFormat::kHlo, text);
    HLOSCOPE_TRY(Write(point + ".txt", text));
    hlo::ProtoFile file;
    file.kind = hlo::ProtoKind::kHlo;
    file.module = std::move(module);
    return Write(point + ".hlo.pb", hlo::HloToProto(file));
  }

  size_t files() const { return files_; }

 private:
  std::string folder_, name_;
  size_t files_ = 0;
};

Status WriteModules(DumpFolder& folder, std::shared_ptr<const hlo::Module> before,
                    const compile::Compilation& compiled) {
  HLOSCOPE_TRY(folder.Write(std::move(before), "before_optimizations"));
  for (size_t k = 0; k < compiled.stages.size(); ++k) {
    const std::string next =
        k + 1 < compiled.stages.size() ? compiled.stages[k + 1].pass : "pipeline-end";
    HLOSCOPE_TRY(folder.Write(compiled.stages[k].module,
                              fmt::format("{:04}.{}.after_{}.before_{}", k + 1, kPipeline,
                                          compiled.stages[k].pass, next)));
  }
  return folder.Write(compiled.module, std::string(kFinal));
}

// XLA's flags have no part in it.
std::string OptionsText(const compile::Compilation& compiled) {
  std::string text = "# hloscope's own compiler, platform cpu; its passes in order\n";
  for (const compile::PassTime& time : compiled.times) text += fmt::format("# {}\n", time.pass);
  return text;
}

Status WritePlan(DumpFolder& folder, const compile::Compilation& compiled,
                 const replay::CodeTexts& code) {
  HLOSCOPE_TRY(folder.Write("fusion_decisions.txt", compile::DecisionText(compiled)));
  if (compiled.plan == nullptr) return {};
  const compile::Plan& plan = *compiled.plan;
  const std::string memory(kFinal);
  HLOSCOPE_TRY(folder.Write(memory + "-buffer-assignment.txt",
                            compile::BufferAssignmentText(plan, code.scratch_bytes)));
  HLOSCOPE_TRY(folder.Write(memory + "-live-range.txt", compile::LiveRangeText(plan)));
  HLOSCOPE_TRY(folder.Write("thunk_sequence.txt", compile::ThunkSequenceText(plan, code.codes)));
  return folder.Write("thunk_metadata.txt", compile::ThunkMetadataText(plan, code.codes));
}

Status WriteCode(DumpFolder& folder, const replay::CodeTexts& code) {
  for (const compile::CodePart& part : code.parts) {
    HLOSCOPE_TRY(folder.Write(part.name + ".ir-no-opt.ll", part.llvm_ir));
    HLOSCOPE_TRY(folder.Write(part.name + ".ir-with-opt.ll", part.optimized_llvm_ir));
    HLOSCOPE_TRY(folder.Write(part.name + ".s", part.assembly));
    HLOSCOPE_TRY(folder.Write(fmt::format("obj-file.{}.o", part.name), part.object));
  }
  return {};
}

}  // namespace

Result<OwnCompileReport> OwnCompile(std::shared_ptr<const hlo::Module> module,
                                    const std::string& dump, bool passes, const Limits& limits,
                                    const std::stop_token& stop) {
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
  HLOSCOPE_ASSIGN_OR_RETURN(const replay::CodeTexts code,
                            replay::MakeCodeTexts(*module, limits, stop));
  report.code_ms = code.milliseconds;
  DumpFolder folder(dump, module->name());
  HLOSCOPE_TRY(folder.Make());
  HLOSCOPE_TRY(WriteModules(folder, module, compiled));
  HLOSCOPE_TRY(folder.Write("debug_options", OptionsText(compiled)));
  HLOSCOPE_TRY(WritePlan(folder, compiled, code));
  HLOSCOPE_TRY(WriteCode(folder, code));
  report.dump_files = folder.files();
  return report;
}

}  // namespace hloscope::app
