#include "profiler/operation_targets.h"

#include <algorithm>

#include "profiler/annotation_text.h"

namespace hloscope::profiler {
namespace {

struct LibraryKernel {
  std::string_view word, begin;  // in the kernel's name; of the custom call's target
};
constexpr LibraryKernel kLibraryKernels[] = {
#define LIBRARY_KERNEL(word, begin) {word, begin},
#include "profiler/library_kernels.def"
#undef LIBRARY_KERNEL
};

// How the target begins, which no two libraries share; empty: of none of them.
std::string_view LibraryOf(std::string_view target) {
  for (const LibraryKernel& row : kLibraryKernels) {
    if (target.starts_with(row.begin)) return row.begin;
  }
  return {};
}

}  // namespace

std::string KernelNameOf(std::string_view instruction) {
  std::string name(instruction);
  for (char& c : name) {
    const bool is_kept = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (!is_kept) c = '_';
  }
  return name;
}

OperationTargets::OperationTargets(const std::vector<AttributedModule>& modules)
    : modules_(modules), names_(modules.size()) {
  for (size_t m = 0; m < modules.size(); ++m) {
    const hlo::Module& module = *modules[m].module;
    Names& names = names_[m];
    for (const auto& [kernel, instruction] : modules[m].kernels) {
      names.kernels.try_emplace(kernel, instruction, AttributionReason::kKernelTable);
    }
    for (size_t i = 0; i < module.instructions().size(); ++i) {
      const hlo::InstructionId id(i);
      names.instructions.try_emplace(module.name(id), id);
      auto [entry, is_new] = names.kernels.try_emplace(KernelNameOf(module.name(id)), id,
                                                       AttributionReason::kKernelName);
      const bool is_said = entry->second.second == AttributionReason::kKernelTable;
      if (!is_new && !is_said) entry->second.first = {};
      if (module[id].opcode == hlo::Opcode::kCustomCall) {
        const std::string_view library =
            LibraryOf(module.GetString(module[id], hlo::AttributeKey::kCustomCallTarget));
        if (library.empty()) continue;
        library_calls_[library].push_back(
            {static_cast<uint32_t>(m), id, AttributionReason::kOnlyCandidate});
      }
    }
  }
}

std::vector<std::string_view> OperationTargets::LibrariesOf(std::string_view kernel) {
  std::vector<std::string_view> libraries;
  for (const LibraryKernel& row : kLibraryKernels) {
    if (kernel.find(row.word) == std::string_view::npos) continue;
    if (std::ranges::find(libraries, row.begin) == libraries.end()) libraries.push_back(row.begin);
  }
  return libraries;
}

Target OperationTargets::InModule(size_t module, std::string_view name,
                                  AttributionReason reason) const {
  auto found = names_[module].instructions.find(name);
  if (found == names_[module].instructions.end()) return {};
  return {static_cast<uint32_t>(module), found->second, reason};
}

// The one of the modules that fit which has the instruction; invalid where two have.
template <typename Fits>
Target OperationTargets::InAny(std::string_view name, AttributionReason reason, Fits fits) const {
  Target only;
  for (size_t m = 0; m < modules_.size(); ++m) {
    if (!fits(modules_[m])) continue;
    const Target target = InModule(m, name, reason);
    if (!target.valid()) continue;
    if (only.valid()) return {};
    only = target;
  }
  return only;
}

Target OperationTargets::OfOperation(std::string_view module, std::string_view name,
                                     int64_t program) const {
  auto fits_name = [&](const AttributedModule& m) { return module.empty() || m.name == module; };
  if (program >= 0) {
    Target target = InAny(name, AttributionReason::kProgram, [&](const AttributedModule& m) {
      return m.program == program && fits_name(m);
    });
    if (target.valid()) return target;
  }
  // Ids that are known and differ are of another program.
  auto fits_program = [&](const AttributedModule& m) { return program < 0 || m.program < 0; };
  const AttributionReason reason =
      module.empty() ? AttributionReason::kInstructionName : AttributionReason::kModuleName;
  return InAny(name, reason,
               [&](const AttributedModule& m) { return fits_program(m) && fits_name(m); });
}

Target OperationTargets::OfKernel(std::string_view name) const {
  Target only;
  for (size_t m = 0; m < modules_.size(); ++m) {
    auto found = names_[m].kernels.find(std::string(name));
    if (found == names_[m].kernels.end() || !found->second.first.valid()) continue;
    if (only.valid()) return {};
    only = {static_cast<uint32_t>(m), found->second.first, found->second.second};
  }
  return only;
}

Target OperationTargets::OfName(std::string_view name) const {
  if (const std::string_view op = AnnotationValue(name, "hlo_op"); !op.empty()) {
    Target target = OfOperation(AnnotationValue(name, "hlo_module"), op,
                                NumberIn(AnnotationValue(name, "program_id")));
    target.reason = AttributionReason::kAnnotation;
    return target;
  }
  const size_t slash = name.find('/');
  if (slash != std::string_view::npos && NumberIn(name.substr(0, slash)) >= 0) {
    return OfOperation({}, name.substr(slash + 1), NumberIn(name.substr(0, slash)));
  }
  return OfKernel(name);
}

}  // namespace hloscope::profiler
