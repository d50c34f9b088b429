// PTX asked for, or taken from a .hloplan.
#include "core/backends/compiled/gpu_backend.h"

#include <fmt/format.h>

#include <charconv>
#include <climits>
#include <utility>

#include "core/backends/compiled/codegen_entry.h"
#include "core/backends/compiled/plan_code.h"
#include "core/base/own_library.h"

namespace hloscope::replay {
namespace {

// 90 of "sm_90". What no device has where it is no architecture.
int Generation(std::string_view target) {
  constexpr std::string_view kPrefix = "sm_";
  int number = 0;
  const char* const end = target.data() + target.size();
  const bool is_one = target.starts_with(kPrefix) &&
                      std::from_chars(target.data() + kPrefix.size(), end, number).ptr == end;
  return is_one ? number : INT_MAX;
}

}  // namespace

void GpuBackend::AdjustOptions(compile::CompileOptions& how) const {
  how.library_calls = false;
  how.gpu_kernels = true;
  how.byte_kernels = false;
}

Result<CompiledCode> GpuBackend::Compile(const compile::Compilation& compilation,
                                         const RunOptions& options, std::string* image) const {
  CompiledCode out;
  HLOSCOPE_ASSIGN_OR_RETURN(const std::string target, Begin(options, out));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto generate, CodegenEntry<compile::GenerateGpuCodeFunction>(
                                                     compile::kGenerateGpuCode));
  HLOSCOPE_ASSIGN_OR_RETURN(compile::GpuCode code,
                            generate(compilation.module, compilation.kernels,
                                     {.threads = options.budget.threads, .target = target}));
  if (image != nullptr) *image = ToImage(code);
  return Launchable(compilation.module, std::move(code), options, std::move(out));
}

// PTX: the driver itself keeps what it makes of it.
std::string GpuBackend::CacheTarget(const RunOptions& options) const {
  const std::string codegen = BuildIdOfOwnLibrary(kCodegenLibrary);
  CompiledCode unused;
  const auto target = Begin(options, unused);
  // What is wrong is said where the code is asked for.
  return codegen.empty() || !target.has_value() ? std::string() : codegen + *target;
}

Result<CompiledCode> GpuBackend::LoadFromCache(const compile::Compilation& compilation,
                                               const std::string& image,
                                               const RunOptions& options) const {
  CompiledCode out;
  HLOSCOPE_TRY(Begin(options, out));
  HLOSCOPE_ASSIGN_OR_RETURN(compile::GpuCode code, GpuCodeOf(image, compilation));
  return Launchable(compilation.module, std::move(code), options, std::move(out));
}

Result<CompiledCode> GpuBackend::Link(PlanCode planned, const RunOptions& options) const {
  CompiledCode out;
  HLOSCOPE_ASSIGN_OR_RETURN(const std::string target, Begin(options, out));
  const std::string again = fmt::format(
      "write it again: `hloscope compile --emit plan --target {} -o F.hloplan`", target);
  if (!options.load.gpu_target.empty() && planned.target != target) {
    return InputError(fmt::format("this .hloplan holds code for {}, --target {} asks for {}",
                                  planned.target, options.load.gpu_target, target),
                      "leave --target out, or " + again);
  }
  if (Generation(planned.target) > Generation(target)) {
    return UnsupportedError(
        fmt::format("device capability too low: this .hloplan holds code for {}, here {} is run",
                    planned.target, target),
        again);
  }
  auto linked =
      Launchable(planned.compilation.module, std::move(planned.code), options, std::move(out));
  if (!linked.has_value() && linked.error().error_class == ErrorClass::kInternal) {
    return InputError("the code in this .hloplan is refused: " + linked.error().message, again);
  }
  return linked;
}

Result<CompiledCode> GpuBackend::Launchable(std::shared_ptr<const hlo::Module> module,
                                            compile::GpuCode code, const RunOptions& options,
                                            CompiledCode out) const {
  for (const compile::GpuCode::Refused& refused : code.refused) {
    out.missing.emplace(refused.instruction, refused.why);
  }
  HLOSCOPE_TRY(Load(std::move(module), std::move(code), options, out));
  return out;
}

}  // namespace hloscope::replay
